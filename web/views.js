// views.js: one function for each view; `c` is the context that app.js makes: question, answer, ask, layer and more.
import * as charts from './charts.js';
import {parseCsv} from './csv.js';
import {bytes, digits, escape, percent, si, whole} from './format.js';
import {Graph, scopeOf} from './graph.js';
import {dimensionArguments, predictArguments, settingArguments} from './question.js';
import {Table} from './table.js';

const widthOf = (element) => Math.max(280, Math.floor(element.clientWidth));
const legend = (items) => `<ul class="legend">${
  items.map(([color, text]) => `<li><i style="--k:var(--${color})"></i>${escape(text)}</li>`).join('')}</ul>`;
const BOUNDS =
  legend([['compute', 'bound by compute'], ['memory', 'bound by memory'], ['launch', 'launch, waiting for the host']]);
const save = '<button type="button" data-save="svg">SVG</button><button type="button" data-save="png">PNG</button>';
const panel = (id, title, note, body, tools = save) => `<section class="panel" id="${id}"><header><div><h2>${
  title}</h2>${note ? `<p>${note}</p>` : ''}</div><div class="panel-tools">${tools}</div></header>${body}</section>`;
const plot = (name) => `<div class="plot" data-plot="${name}"></div>`;
const bound = (kind) => `<span class="bound ${escape(kind)}">${escape(kind)}</span>`;

// Draws `picture(width)` into a plot now and when its width changes.
function draw(c, element, name, picture) {
  const target = element.querySelector(`[data-plot="${name}"]`);
  c.onWidth(target, () => {
    target.innerHTML = picture(widthOf(target));
  });
}

// ---- overview ------------------------------------------------------------------------------------------------------

export function overview(element, c) {
  const a = c.answer;
  const top = a.layers.map((l, i) => ({...l, i}))
                .filter((l) => l.latency_ms > 0)
                .sort((x, y) => y.latency_ms - x.latency_ms)
                .slice(0, 12);
  element.innerHTML = panel('split', 'Where the time goes', 'As predicted, and with every kernel at the GPU’s peaks',
                        BOUNDS + plot('split')) +
    `<div class="columns">${
      panel('slowest', 'Slowest layers', `${top.length} of ${a.layers.length} layers`, '<div class="slowest"></div>',
        '<button type="button" data-view="layers">All layers</button>')}${
      a.memory_mib ?
        panel('parts', 'Memory at the peak', memoryLine(a), `${plot('bar')}${memoryLegend(a.memory_mib.parts, true)}`,
          `<button type="button" data-view="memory">Over time</button>`) :
        ''}</div>` +
    `<p class="faint">90 % intervals: latency calibrated on ${escape(a.interval_kind)}; power on ${
      escape(a.energy_interval_kind)}. Weights ${escape(a.sooth.weights)}.</p>`;
  draw(c, element, 'split', (width) => charts.split({
    width,
    label: 'Latency by what bounds it, in milliseconds',
    rows: [{name: 'predicted', parts: a.bound_ms}, {name: 'at the peaks', parts: a.ideal_ms}]
  }));
  if (a.memory_mib)
    draw(c, element, 'bar', (width) => charts.memoryBar({parts: a.memory_mib.parts, capacity: a.capacity_mib, width}));
  new Table(element.querySelector('.slowest'), {
    label: 'Slowest layers',
    attributes: (l) => ` data-layer="${l.i}"`,
    columns: [
      {title: 'layer', key: (l) => l.name, show: (l) => escape(l.name), class: 'name'},
      {title: 'operator', key: (l) => l.op, show: (l) => escape(l.op)},
      {title: 'ms', number: true, key: (l) => l.latency_ms, show: (l) => digits(l.latency_ms)}, {
        title: 'share',
        number: true,
        key: (l) => l.latency_ms,
        show: (l) => percent((100 * l.latency_ms) / a.latency_ms.value)
      },
      {title: 'bound by', key: (l) => l.bound, show: (l) => bound(l.bound)}
    ]
  }).show(top);
}

const memoryLine = (a) => `${whole(a.memory_mib.value)} MiB, 90 % interval ${whole(a.memory_mib.low)} to ${
  whole(a.memory_mib.high)}${a.capacity_mib ? `; the GPU has ${whole(a.capacity_mib)}` : ''}`;

function memoryLegend(parts, numbers) {
  const items = [
    ['context', 'part-context', 'driver and context'], ['weights', 'part-weights', 'weights'],
    ['optimizer', 'part-optimizer', 'optimizer'], ['inputs', 'part-inputs', 'inputs'],
    ['gradients', 'part-live', 'gradients'], ['activations', 'part-live', 'activations'],
    ['workspace', 'part-live', 'workspace'], ['cache', 'part-cache', 'allocator’s cache']
  ];
  if (!numbers)
    items.splice(4, 3, [
      'activations', 'part-live', parts.gradients > 0 ? 'activations, gradients, workspace' : 'activations, workspace'
    ]);
  return legend(items.filter(([name]) => parts[name] > 0).map(([name, color,
    text]) => [color, numbers ? `${text} ${digits(parts[name])} MiB` : text]));
}

// ---- comparison ----------------------------------------------------------------------------------------------------

const SWEEP = [1, 2, 4, 8, 16, 32, 64, 128, 256];

export async function compare(element, c) {
  const q = c.question;
  const chosen = Number(c.answer?.batch) || 1;
  const batches = [...new Set([...SWEEP, chosen])].sort((a, b) => a - b);
  const rows = [];
  c.command = predictArguments(q, c.model, {gpus: q.gpus, batch: batches.join(',')});
  for (const model of q.models) {
    let answer =
      await c.ask([...predictArguments(q, model, {gpus: q.gpus, batch: batches.join(',')}), '--format', 'csv'],
        `compare ${model.path}`);
    if (!answer.text && q.models.indexOf(model) === q.active)  // the batch is part of the file
      answer = await c.ask(
        [...predictArguments(q, model, {gpus: q.gpus, batch: ''}), '--format', 'csv'], `compare ${model.path}`);
    if (answer.text)
      rows.push(...parseCsv(answer.text).map((r) => ({...r, name: model.label})));
    else
      rows.push({name: model.label, gpu: '', batch: '', error: answer.error});
  }
  c.exports.csv = () => ['comparison.csv', toCsv(rows.map(({name, ...r}) => r))];
  const many = q.models.length > 1;
  const names = [...new Set(rows.filter((r) => r.latency_ms).map((r) => `${r.name}\u0000${r.gpu}`))];
  const titleOf = (key) => {
    const [name, gpu] = key.split('\u0000');
    return many ? (q.gpus.length > 1 ? `${name} · ${gpu}` : name) : gpu;
  };
  const series = (value, low, high, unit) => names.map((key, i) => ({
    name: titleOf(key),
    color: i % 8,
    points: rows.filter((r) => `${r.name}\u0000${r.gpu}` === key && r.latency_ms).map((r) => ({
      x: Number(r.batch),
      y: Number(value(r)),
      low: low && Number(low(r)),
      high: high && Number(high(r)),
      chosen: Number(r.batch) === chosen,
      pick: `${r.gpu} ${r.batch}`,
      tip: `${titleOf(key)}, batch ${r.batch}\n${digits(Number(r.latency_ms))} ms, ${
        digits(Number(
          r.latency_ms_low))} to ${digits(Number(r.latency_ms_high))}\n${digits(Number(r.throughput_per_s))} ${unit}`
    }))
  }));
  const keys = legend(names.map((key, i) => [`c${i % 8}`, titleOf(key)]));
  element.innerHTML =
    `${keys}<div class="columns">${
      panel('latency', 'Latency', 'band: 90 % interval; drag the line to set a target',
        plot('latency'))}${panel('throughput', 'Throughput', 'band: 90 % interval', plot('throughput'))}</div>` +
    panel('rows', 'All combinations', '', '<p class="best faint"></p><div class="rows"></div>',
      '<button type="button" data-export="csv">CSV</button>');
  const perSecond = (r, ms) => (Number(r.batch) * 1e3) / Number(ms);
  const drawLatency = () => draw(c, element, 'latency', (width) => charts.lines({
    width,
    label: 'Latency over batch',
    xLabel: 'batch',
    yLabel: 'latency, ms',
    hasSlo: true,
    slo: Number(c.question.slo) || null,
    series: series((r) => r.latency_ms, (r) => r.latency_ms_low, (r) => r.latency_ms_high, 'samples/s')
  }));
  drawLatency();
  draw(c, element, 'throughput', (width) => charts.lines({
    width,
    label: 'Throughput over batch',
    xLabel: 'batch',
    yLabel: 'samples per second',
    series: series((r) => r.throughput_per_s, (r) => perSecond(r, r.latency_ms_high),
      (r) => perSecond(r, r.latency_ms_low), 'samples/s')
  }));
  const number = (title, key, show = digits) => ({
    title,
    number: true,
    key: (r) => (r[key] === '' || r[key] == null ? null : Number(r[key])),
    show: (r) => (r[key] === '' || r[key] == null ? '' : show(Number(r[key])))
  });
  const table = new Table(element.querySelector('.rows'), {
    label: 'Comparison',
    attributes: (r) =>
      (r.latency_ms ? ` data-pick="${escape(`${r.gpu} ${r.batch}`)}"${
                        r.gpu === c.answer?.gpu && Number(r.batch) === chosen && r.name === q.models[q.active].label ?
                          ' class="chosen"' :
                          ''}` :
                      ''),
    columns: [
      ...(many ? [{title: 'model', key: (r) => r.name, show: (r) => escape(r.name), class: 'name'}] : []),
      {title: 'GPU', key: (r) => r.gpu, show: (r) => escape(r.gpu)}, number('batch', 'batch', whole), {
        title: 'latency, ms',
        number: true,
        key: (r) => Number(r.latency_ms) || null,
        show: (r) => (r.latency_ms ? `<span class="${
                                       meets(r) == null ? '' :
                                         meets(r)       ? 'meets' :
                                                          'miss'}">${digits(Number(r.latency_ms))}</span>` :
                                     '')
      },
      number('low', 'latency_ms_low'), number('high', 'latency_ms_high'), number('samples/s', 'throughput_per_s'),
      number('energy, J', 'energy_j'), number('power, W', 'power_w'), number('GPU', 'utilization_compute', percent),
      number('DRAM', 'utilization_dram', percent), number('memory, MiB', 'memory_mib', whole), {
        title: 'fits',
        class: 'text',
        key: (r) => r.fits_upper,
        show: (r) => (r.error ? `<span class="miss">${escape(r.error.replace(/^sooth: /, ''))}</span>` :
            r.fits_upper === '1' ? 'yes' :
            r.fits === '1'       ? 'estimate only' :
            r.fits === '0'       ? '<span class="miss">no</span>' :
                                   '?')
      }
    ]
  });
  const meets = (r) =>
    (Number(c.question.slo) > 0 && r.latency_ms ? Number(r.latency_ms_high) <= Number(c.question.slo) : null);
  const tellBest = () => {
    const slo = Number(c.question.slo);
    const best = names.map((key) => [titleOf(key),
                             rows.filter((r) => `${r.name}\u0000${r.gpu}` === key && meets(r) && r.fits_upper !== '0')
                               .sort((x, y) => Number(y.throughput_per_s) - Number(x.throughput_per_s))[0]]);
    element.querySelector('.best').textContent = slo > 0 ?
      `Within ${digits(slo)} ms by the upper end of the interval: ${
        best
          .map(([name, r]) =>
                 `${name} ${r ? `batch ${r.batch}, ${digits(Number(r.throughput_per_s))} samples/s` : 'no batch'}`)
          .join('; ')}` :
      'Choose a row to see its details.';
  };
  table.show(rows);
  tellBest();
  c.onSlo(element.querySelector('[data-plot="latency"]'), () => {
    drawLatency();
    table.draw();
    tellBest();
  });
}

function toCsv(rows) {
  const head = [...new Set(rows.flatMap((r) => Object.keys(r)))];
  const field = (v) => (/[",\n]/.test(v ?? '') ? `"${String(v).replace(/"/g, '""')}"` : v ?? '');
  return `${[head, ...rows.map((r) => head.map((h) => r[h]))].map((r) => r.map(field).join(',')).join('\n')}\n`;
}

// ---- layers --------------------------------------------------------------------------------------------------------

export async function layers(element, c) {
  const a = c.answer;
  const roof = charts.roofOf(a);
  const depths = Math.min(6, Math.max(...a.layers.map((l) => scopeOf(l.name).length)));
  const operators = [...new Set(a.layers.map((l) => l.op))].sort();
  element.innerHTML =
    `<div class="columns">${
      panel('graph', 'Graph', 'Colour is time <span class="ramp"></span>', '<div class="graph" id="graph-box"></div>',
        '<button type="button" data-graph="out" aria-label="Zoom out">−</button><button type="button" data-graph="in" aria-label="Zoom in">+</button><button type="button" data-graph="fit">Fit</button><button type="button" data-graph="open">Open all</button><button type="button" data-graph="close">Close</button><button type="button" data-graph="svg">SVG</button>')}${
      roof ? panel('roof', 'Roofline', 'Each layer by FLOPs per byte and FLOP/s; area is time', BOUNDS + plot('roof')) :
             ''}</div>` +
    panel('table', 'Layers', '',
      `<div class="filters"><input type="search" id="layer-search" placeholder="Search name or operator" aria-label="Search layers"><select id="layer-op" aria-label="Operator"><option value="">every operator</option>${
        operators.map((o) => `<option>${escape(o)}</option>`)
          .join(
            '')}</select><select id="layer-bound" aria-label="Bound by"><option value="">bound by anything</option><option>compute</option><option>memory</option><option>launch</option></select><select id="layer-depth" aria-label="Collapse by scope"><option value="0">every layer</option>${
        Array.from({length: depths - 1}, (_, i) => `<option value="${i + 1}">scopes, depth ${i + 1}</option>`)
          .join('')}</select></div><div class="rows"></div>`,
      '<button type="button" data-export="layers">CSV</button>');
  if (roof)
    draw(c, element, 'roof', (width) => charts.roofline({
      layers: a.layers,
      ...roof,
      total: a.latency_ms.value,
      width,
      height: Math.max(360, Math.min(600, width * 1.02)),
      chosen: c.layer
    }));
  const most = Math.max(...a.layers.map((l) => l.latency_ms), 1e-12);
  const all = a.layers.map((l, i) => ({...l, i, count: 1}));
  const number = (title, key, show = digits) => ({title, number: true, key: (l) => l[key], show: (l) => show(l[key])});
  const table = new Table(element.querySelector('.rows'), {
    label: 'Layers',
    attributes: (l) => (l.count === 1 ? ` data-layer="${l.i}"${l.i === c.layer ? ' class="chosen"' : ''}` : ''),
    columns: [
      {title: '#', number: true, key: (l) => -l.i, show: (l) => l.i + 1}, {
        title: 'layer',
        key: (l) => l.name,
        show: (l) => `${escape(l.name)}${l.count > 1 ? ` <span class="note">${l.count} layers</span>` : ''}`,
        class: 'name'
      },
      {title: 'operator', key: (l) => l.op, show: (l) => escape(l.op)}, {
        title: 'ms',
        number: true,
        key: (l) => l.latency_ms,
        class: 'bar',
        show: (l) => `<span>${digits(l.latency_ms)}</span><i style="width:${
          ((100 * l.latency_ms) / Math.max(most, l.latency_ms) / 16).toFixed(2)}rem"></i>`
      },
      {
        title: 'share',
        number: true,
        key: (l) => l.latency_ms,
        show: (l) => percent((100 * l.latency_ms) / a.latency_ms.value)
      },
      number('GPU ms', 'device_ms'), number('FLOPs', 'flops', si), number('bytes', 'bytes', bytes),
      number('utilization', 'utilization', percent),
      {title: 'energy, mJ', number: true, key: (l) => l.energy_j, show: (l) => digits(l.energy_j * 1e3)},
      number('kernels', 'kernels', whole), {title: 'bound by', key: (l) => l.bound, show: (l) => bound(l.bound)}
    ]
  });
  const rowsNow = () => {
    const words = element.querySelector('#layer-search').value.toLowerCase().split(/\s+/).filter(Boolean);
    const op = element.querySelector('#layer-op').value;
    const kind = element.querySelector('#layer-bound').value;
    const depth = Number(element.querySelector('#layer-depth').value);
    const rows = all.filter((l) => (!op || l.op === op) && (!kind || l.bound === kind) &&
        words.every((w) => `${l.name} ${l.op}`.toLowerCase().includes(w)));
    return depth ? collapse(rows, depth, roof?.peak) : rows;
  };
  const refresh = () => table.show(rowsNow());
  element.querySelector('.filters').addEventListener('input', refresh);
  refresh();
  c.exports.layers = () => ['layers.csv', toCsv(rowsNow().map(({i, ...l}) => ({number: i + 1, ...l})))];
  const box = element.querySelector('#graph-box');
  const graph = new Graph(box, (layer) => c.choose(layer, 'graph'));
  c.onChoose((layer, from) => {
    if (from !== 'table') {
      const row = element.querySelector(`.rows tr[data-layer="${layer}"]`);
      row?.scrollIntoView({block: 'nearest'});
    }
    element.querySelectorAll('.rows tr.chosen, .roofline .chosen').forEach((n) => n.classList.remove('chosen'));
    element.querySelectorAll(`.rows tr[data-layer="${layer}"], .roofline [data-layer="${layer}"]`)
      .forEach((n) => n.classList.add('chosen'));
    if (from !== 'graph') graph.choose(layer);
  });
  const inspected = await c.inspect();
  if (!inspected.layers) {
    box.innerHTML = `<p class="wait">${escape(inspected.error)}</p>`;
    return;
  }
  graph.show(inspected.layers, inspected.inputs, inspected.layers.map((_, i) => a.layers[i]?.latency_ms ?? 0));
  graph.choose(c.layer);
  element.querySelector('#graph .panel-tools').addEventListener('click', (e) => {
    const what = e.target.dataset.graph;
    if (what === 'in')
      graph.zoom(1.3);
    else if (what === 'out')
      graph.zoom(1 / 1.3);
    else if (what === 'fit')
      graph.fit();
    else if (what === 'open' || what === 'close')
      graph.setOpen(what === 'open');
    else if (what === 'svg')
      c.saveGraph();
  });
}

// Layers with the same first parts of their names become one row.
function collapse(rows, depth, peak) {
  const groups = new Map();
  for (const l of rows) {
    const name = scopeOf(l.name).slice(0, depth).join('.') || l.name;
    if (!groups.has(name))
      groups.set(name, {
        name,
        op: '',
        i: l.i,
        count: 0,
        latency_ms: 0,
        device_ms: 0,
        energy_j: 0,
        flops: 0,
        bytes: 0,
        kernels: 0,
        bounds: {}
      });
    const g = groups.get(name);
    g.count++;
    g.last = l;
    for (const key of ['latency_ms', 'device_ms', 'energy_j', 'flops', 'bytes', 'kernels']) g[key] += l[key] ?? 0;
    g.bounds[l.bound] = (g.bounds[l.bound] ?? 0) + l.latency_ms;
  }
  return [...groups.values()].map(({bounds, last, ...g}) => (g.count === 1 ? last : {
    ...g,
    utilization: g.latency_ms > 0 ? (100 * g.flops) / (g.latency_ms / 1e3) / peak : 0,
    bound: Object.entries(bounds).sort((x, y) => y[1] - x[1])[0][0]
  }));
}

// ---- timeline ------------------------------------------------------------------------------------------------------

export function timeline(element, c) {
  const a = c.answer;
  const kernels = a.kernels;
  const times = charts.schedule(kernels);
  const end = times.length ? times[times.length - 1].end : 1;
  const indices = new Map();
  a.layers.forEach((l, i) => {
    if (!indices.has(l.name)) indices.set(l.name, i);
  });
  let view = [0, end];
  element.innerHTML =
    panel('line', 'Timeline',
      'Launches on the host above, kernels on the GPU below. A gap is the GPU waiting for the host. Drag to look closer, double-click for all.',
      BOUNDS + plot('line'), `<button type="button" data-zoom="out">All</button>${save}`) +
    panel('kernels', 'Kernels', `${whole(kernels.length)} in launch order`, '<div class="rows"></div>',
      '<button type="button" data-export="kernels">CSV</button>');
  const target = element.querySelector('[data-plot="line"]');
  const redraw = () => draw(c, element, 'line', (width) => charts.timeline({
    kernels,
    times,
    layerOf: (k) => indices.get(k.layer) ?? -1,
    from: view[0],
    to: view[1],
    width,
    chosen: c.layer
  }));
  redraw();
  const timeAt = (e) => {
    const svg = target.querySelector('svg');
    const box = svg.getBoundingClientRect();
    const left = Number(svg.dataset.left);
    const share =
      ((e.clientX - box.left) * (svg.viewBox.baseVal.width / box.width) - left) / (Number(svg.dataset.right) - left);
    return view[0] + Math.min(1, Math.max(0, share)) * (view[1] - view[0]);
  };
  let from = null;
  target.addEventListener('pointerdown', (e) => {
    from = [timeAt(e), e.clientX];
  });
  target.addEventListener('pointerup', (e) => {
    if (from && Math.abs(e.clientX - from[1]) > 8) {
      view = [from[0], timeAt(e)].sort((x, y) => x - y);
      redraw();
    }
    from = null;
  });
  const all = () => {
    view = [0, end];
    redraw();
  };
  target.addEventListener('dblclick', all);
  element.querySelector('[data-zoom]').addEventListener('click', all);
  target.addEventListener('wheel', (e) => {
    if (!e.ctrlKey && !e.metaKey) return;
    e.preventDefault();
    const t = timeAt(e);
    const k = Math.exp(e.deltaY / 200);
    view = [Math.max(0, t - (t - view[0]) * k), Math.min(end, t + (view[1] - t) * k)];
    redraw();
  }, {passive: false});
  new Table(element.querySelector('.rows'), {
    label: 'Kernels',
    attributes: (k) => ` data-layer="${indices.get(k.layer) ?? -1}"`,
    columns: [
      {title: '#', number: true, key: (k) => -k.i, show: (k) => k.i + 1},
      {title: 'kernel', key: (k) => k.name, show: (k) => escape(k.name), class: 'name'},
      {title: 'layer', key: (k) => k.layer, show: (k) => escape(k.layer), class: 'name'},
      {title: 'phase', key: (k) => k.phase, show: (k) => escape(k.phase)},
      {title: 'latency, µs', number: true, key: (k) => k.latency_ms, show: (k) => digits(k.latency_ms * 1e3)},
      {title: 'GPU, µs', number: true, key: (k) => k.device_us, show: (k) => digits(k.device_us)},
      {title: 'host, µs', number: true, key: (k) => k.host_us, show: (k) => digits(k.host_us)},
      {title: 'FLOPs', number: true, key: (k) => k.flops, show: (k) => si(k.flops)},
      {title: 'bytes', number: true, key: (k) => k.bytes, show: (k) => bytes(k.bytes)},
      {title: 'bound by', key: (k) => k.bound, show: (k) => bound(k.bound)}, {
        title: 'algorithm',
        key: (k) => k.algorithm ?? '',
        show: (k) => `<span title="${escape(k.reason ?? '')}">${escape(k.algorithm ?? '')}</span>`
      }
    ]
  }).show(kernels.map((k, i) => ({...k, i})));
  c.exports.kernels = () => ['kernels.csv', toCsv(kernels.map(({inputs, outputs, gemm, fused, ...k}) => k))];
  c.onChoose(redraw);
}

// ---- memory --------------------------------------------------------------------------------------------------------

export function memory(element, c) {
  const a = c.answer;
  if (!a.memory_mib || !a.memory_over_time) {
    element.innerHTML = '<p class="wait">The memory of this setting is not predicted.</p>';
    return;
  }
  const at = a.memory_peak;
  element.innerHTML =
    panel('over', 'Memory over time', memoryLine(a), memoryLegend(a.memory_mib.parts, false) + plot('over')) +
    `<div class="columns">${
      panel('parts', 'At the peak',
        at.layer ? `in ${escape(at.layer)} (${escape(at.op)}, ${escape(at.phase)})` : 'before the first kernel',
        `${plot('bar')}<div class="parts"></div>`)}${
      panel('peak', 'Layers at the peak', 'whose tensors are alive then, without weights', '<div class="rows"></div>',
        '')}</div>`;
  draw(c, element, 'over', (width) => charts.memory({
    points: a.memory_over_time,
    parts: a.memory_mib.parts,
    capacity: a.capacity_mib,
    total: a.memory_mib,
    total_ms: a.latency_ms.value,
    peakLayer: at.layer,
    width
  }));
  draw(c, element, 'bar', (width) => charts.memoryBar({parts: a.memory_mib.parts, capacity: a.capacity_mib, width}));
  new Table(element.querySelector('.parts'), {
    label: 'Parts of the memory',
    columns: [
      {title: 'part', key: (p) => p[0], show: (p) => escape(p[0])},
      {title: 'MiB', number: true, key: (p) => p[1], show: (p) => digits(p[1])},
      {title: 'share', number: true, key: (p) => p[1], show: (p) => percent((100 * p[1]) / a.memory_mib.value)}
    ]
  }).show(Object.entries(a.memory_mib.parts));
  new Table(element.querySelector('.rows'), {
    label: 'Layers at the peak',
    columns: [
      {title: 'layer', key: (l) => l.name, show: (l) => escape(l.name), class: 'name'},
      {title: 'operator', key: (l) => l.op, show: (l) => escape(l.op)},
      {title: 'MiB', number: true, key: (l) => l.mib, show: (l) => digits(l.mib)}
    ]
  }).show(at.layers);
}

// ---- training ------------------------------------------------------------------------------------------------------

export async function training(element, c) {
  const q = c.question;
  c.command = [
    'train-phase', c.model.path, '--gpu', q.gpus[0], ...dimensionArguments(q),
    ...settingArguments(q, ['precision', 'layout', 'runtime', 'optimizer']), ...(q.host ? ['--host', q.host] : [])
  ];
  const answer = await c.askJson([...c.command, '--format', 'json'], 'train-phase');
  if (!answer.stages) {
    element.innerHTML = `<p class="wait error">${escape(answer.error)}</p>`;
    return;
  }
  c.exports.json = () => ['train-phase.json', answer.text];
  const facts = [
    [
      'step', `${digits(answer.step_ms.overlapped)} ms`,
      answer.overlaps ? `${digits(answer.step_ms.sum)} ms without overlap` : 'without overlap'
    ],
    ['throughput', `${digits(answer.throughput_per_s)} /s`, 'samples per second'],
    ['limited by', answer.limited_by, `the GPU waits ${percent(answer.gpu_waits_percent)} of the step`],
    [
      'workers', `${answer.workers}`,
      answer.workers_needed < 0 ? 'no number suffices' : `${answer.workers_needed} needed until the GPU does not wait`
    ],
    [
      'memory', `${whole(answer.memory_mib?.value)} MiB`,
      answer.capacity_mib ? `of ${whole(answer.capacity_mib)} MiB` : ''
    ]
  ];
  element.innerHTML =
    `<section class="cards five">${
      facts
        .map(([name, value, note]) =>
               `<div class="card"><h2>${name}</h2><b>${escape(value)}</b><p>${escape(note)}</p></div>`)
        .join('')}</section>` +
    panel('stages', 'Stages of a training step',
      `${escape(answer.data)} samples · host ${escape(answer.host)} · ${escape(answer.optimizer)} · batch ${
        whole(answer.batch)}`,
      legend([['memory', 'host'], ['compute', 'GPU']]) + plot('stages')) +
    `<div class="columns">${panel('changes', 'What would change', '', '<div class="changes"></div>', '')}</div>` +
    panel('train-layers', 'Layers', '', '<div class="rows"></div>',
      '<button type="button" data-export="train">CSV</button>');
  draw(c, element, 'stages',
    (width) => charts.stages({stages: answer.stages, width, label: 'Stages of a training step, in milliseconds'}));
  new Table(element.querySelector('.changes'), {
    label: 'Changes',
    columns: [
      {title: 'change', key: (x) => x.change, show: (x) => escape(x.change)},
      {title: 'step, ms', number: true, key: (x) => x.step_ms, show: (x) => digits(x.step_ms)}, {
        title: 'samples/s',
        number: true,
        key: (x) => (x.samples * 1e3) / x.step_ms,
        show: (x) => digits((x.samples * 1e3) / x.step_ms)
      },
      {title: 'GPU waits', number: true, key: (x) => x.gpu_waits_percent, show: (x) => percent(x.gpu_waits_percent)}
    ]
  }).show(answer.changes);
  const number = (title, key, show = digits) => ({title, number: true, key: (l) => l[key], show: (l) => show(l[key])});
  new Table(element.querySelector('.rows'), {
    label: 'Layers in training',
    columns: [
      {title: 'layer', key: (l) => l.name, show: (l) => escape(l.name), class: 'name'},
      {title: 'operator', key: (l) => l.op, show: (l) => escape(l.op)}, number('forward, ms', 'forward_ms'),
      number('backward, ms', 'backward_ms'), number('update, ms', 'update_ms'),
      number('efficiency', 'efficiency', percent), number('occupancy', 'occupancy', percent),
      number('weights', 'weight_bytes', bytes), number('optimizer', 'optimizer_bytes', bytes),
      number('kept for backward', 'feature_map_bytes', bytes),
      {title: 'algorithm', key: (l) => l.algorithm ?? '', show: (l) => escape(l.algorithm ?? '')},
      {title: 'bound by', key: (l) => l.bound, show: (l) => bound(l.bound)}
    ]
  }).show(answer.layers);
  c.exports.train = () => ['training-layers.csv', toCsv(answer.layers)];
}

// ---- MIG -----------------------------------------------------------------------------------------------------------

export async function mig(element, c) {
  const q = c.question;
  const gpu = q.gpus.find((name) => c.gpuOf(name)?.slices?.length);
  if (!gpu) {
    element.innerHTML = '<p class="wait">None of the chosen GPUs has MIG. A100, A30, H100 and H200 have it.</p>';
    return;
  }
  const counts = (c.counts ??= {});
  const works = q.models.map((m) => {
    const n = counts[m.path] ?? 1;
    return n > 1 ? `${m.path}@${n}` : m.path;
  });
  c.command = [
    'mig', ...works, '--gpu', gpu, ...dimensionArguments(q),
    ...settingArguments(q, ['precision', 'layout', 'runtime', 'mode', 'optimizer']),
    ...(Number(q.slo) > 0 ? ['--latency-ms', q.slo] : [])
  ];
  const answer = await c.askJson([...c.command, '--format', 'json'], 'mig');
  const inputs =
    q.models
      .map((m, i) => `<label class="label">${escape(m.label)} <input type="number" min="1" max="64" value="${
             counts[m.path] ??
             1}" data-count="${i}" style="width:5rem" aria-label="Instances of ${escape(m.label)}"></label>`)
      .join('');
  const head = panel('instances', 'Instances', 'Open several models to place them together.',
    `<div class="filters">${inputs}</div>`, '');
  const listen = () =>
    element.querySelectorAll('[data-count]').forEach((input) => input.addEventListener('change', () => {
      counts[q.models[input.dataset.count].path] = Math.max(1, Number(input.value) || 1);
      c.refresh();
    }));
  if (!answer.workloads) {
    element.innerHTML = `${head}<p class="wait error">${escape(answer.error)}</p>`;
    listen();
    return;
  }
  c.exports.json = () => ['mig.json', answer.text];
  const target = Number(q.slo) > 0 ? ` within ${digits(Number(q.slo))} ms` : '; set a latency target to choose by it';
  element.innerHTML = head +
    (answer.gpus?.length ? panel('slots', `Layout on ${answer.gpu_count} × ${escape(answer.gpu)}`,
                             'smallest slices that fit the upper ends of memory and latency', plot('slots')) :
                           `<div class="problem">${escape(answer.reason)}${
                             answer.nearest ? `\nNearest possible: ${escape(answer.nearest)}` : ''}</div>`) +
    answer.workloads
      .map((w, i) => panel(`work-${i}`, `${escape(w.model)}: ${w.profile ? escape(w.profile) : 'no slice'}`,
             `batch ${w.batch}${target}`, '<div class="rows"></div>', ''))
      .join('');
  listen();
  if (answer.gpus?.length)
    draw(c, element, 'slots',
      (width) => charts.migSlots(
        {gpus: answer.gpus.map((g) => g.slices), slots: answer.slots, width, label: 'MIG slices by memory slot'}));
  answer.workloads.forEach((w, i) => new Table(element.querySelector(`#work-${i} .rows`), {
    label: `Slices for ${w.model}`,
    attributes: (p) => (p.profile === w.profile ? ' class="chosen"' : ''),
    columns: [
      {title: 'slice', key: (p) => p.profile, show: (p) => escape(p.profile)},
      {title: 'latency, ms', number: true, key: (p) => p.latency_ms.value, show: (p) => digits(p.latency_ms.value)},
      {title: 'low', number: true, key: (p) => p.latency_ms.low, show: (p) => digits(p.latency_ms.low)},
      {title: 'high', number: true, key: (p) => p.latency_ms.high, show: (p) => digits(p.latency_ms.high)}, {
        title: 'memory, MiB',
        number: true,
        key: (p) => p.memory_mib?.high,
        show: (p) => `${whole(p.memory_mib?.value)}, up to ${whole(p.memory_mib?.high)}`
      },
      {title: 'usable', number: true, key: (p) => p.usable_mib, show: (p) => whole(p.usable_mib)},
      {title: 'energy, J', number: true, key: (p) => p.energy_j?.value, show: (p) => digits(p.energy_j?.value)}, {
        title: 'answer',
        class: 'text',
        key: (p) => p.reason ?? '',
        show: (p) => (p.profile === w.profile ? '<span class="meets">smallest that meets the target</span>' :
            p.reason                          ? `<span class="miss">${escape(p.reason)}</span>` :
                                                'fits')
      }
    ]
  }).show(w.profiles));
}

// ---- survey --------------------------------------------------------------------------------------------------------

export async function survey(element, c) {
  const q = c.question;
  const batches = [...new Set([1, 8, 64, Number(c.answer?.batch) || 1])].sort((a, b) => a - b);
  c.command = [
    'survey', ...q.models.map((m) => m.path), '--gpu', q.gpus.join(','), '--batch', batches.join(','),
    ...settingArguments(q, ['precision', 'layout', 'runtime', 'mode', 'optimizer'])
  ];
  const answer = await c.askJson([...c.command, '--format', 'json'], 'survey');
  if (!answer.rows) {
    element.innerHTML = `<p class="wait error">${escape(answer.error)}</p>`;
    return;
  }
  c.exports.json = () => ['survey.json', answer.text];
  const order = (r) => [r.name, r.gpu, String(r.batch).padStart(8)].join('\u0000');
  const good = answer.rows.filter((r) => !r.error).sort((x, y) => (order(x) < order(y) ? -1 : 1));
  element.innerHTML = panel('losses', 'Where the GPU’s peak goes',
                        'Used FLOP/s and what is lost, in percent of the peak, by network, GPU and batch',
                        legend([
                          ['accent', 'used'], ['launch', 'launches'], ['memory', 'memory-bound'],
                          ['c3', 'slower units'], ['c2', 'waves'], ['c4', 'alignment'], ['line', 'other']
                        ]) +
                          plot('losses')) +
    panel(
      'survey-rows', 'Rows', '', '<div class="rows"></div>', '<button type="button" data-export="survey">CSV</button>');
  draw(c, element, 'losses', (width) => charts.losses({rows: good, width, label: 'Utilization and losses in percent'}));
  const number = (title, key, show = percent) => ({title, number: true, key: (r) => r[key], show: (r) => show(r[key])});
  new Table(element.querySelector('.rows'), {
    label: 'Survey',
    columns: [
      {title: 'network', key: (r) => r.name, show: (r) => escape(r.name), class: 'name'},
      {title: 'GPU', key: (r) => r.gpu, show: (r) => escape(r.gpu)}, number('batch', 'batch', whole),
      number('latency, ms', 'latency_ms', digits), number('utilization', 'utilization'),
      number('DRAM', 'dram_utilization'), number('occupancy', 'occupancy'),
      ...charts.LOSSES.slice(1).map(([key, word]) => number(word, key)), {
        title: '',
        key: (r) => r.error ?? '',
        show: (r) => (r.error ? `<span class="miss">${escape(r.error)}</span>` : '')
      }
    ]
  }).show(answer.rows);
  c.exports.survey = () => ['survey.csv', toCsv(answer.rows)];
}

export const VIEWS = [
  ['overview', 'Overview', overview], ['compare', 'Compare', compare], ['layers', 'Layers', layers],
  ['timeline', 'Timeline', timeline], ['memory', 'Memory', memory], ['training', 'Training', training],
  ['mig', 'MIG', mig], ['survey', 'Survey', survey]
];
