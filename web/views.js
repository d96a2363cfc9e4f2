// views.js: one function for each view of a prediction; `c` is the context that app.js makes: question, answer, ask,
// layer and more.
import * as charts from './charts.js';
import {parseCsv} from './csv.js';
import {breakable, bytes, decimalsFor, digits, escape, fixed, percent, si, whole} from './format.js';
import {Graph, scopeOf} from './graph.js';
import {bound, BOUNDS, draw, legend, number, panel, plot, save, share, toCsv, withUnit} from './panel.js';
import {contexts, mig, survey, training} from './plans.js';
import {predictArguments} from './question.js';
import {Table} from './table.js';

// ---- overview ------------------------------------------------------------------------------------------------------

export function overview(element, c) {
  const a = c.answer;
  const top = a.layers.map((l, i) => ({...l, i}))
                .filter((l) => l.latency_ms > 0)
                .sort((x, y) => y.latency_ms - x.latency_ms)
                .slice(0, 12);
  element.innerHTML =
    panel('split', 'Where the time goes', 'What limits the kernels; below, if every kernel reached the GPU’s peaks',
      BOUNDS + plot('split')) +
    `<div class="columns broad">${
      panel('slowest', 'Slowest layers', `${top.length} of ${a.layers.length} layers`, '<div class="slowest"></div>',
        '<button type="button" data-view="layers">All layers</button>')}${
      a.memory_mib ? panel('parts', 'Memory at the peak', memoryLine(a), `${plot('bar')}<div class="parts"></div>`,
                       `<button type="button" data-view="memory">Over time</button>${save}`) :
                     ''}</div>` +
    `<p class="faint basis">${a.interval_percent} % intervals: latency calibrated on ${escape(a.interval_kind)}; power on ${
      escape(a.energy_interval_kind)}. Weights ${escape(a.sooth.weights)}.</p>`;
  draw(c, element, 'split', (width) => charts.split({
    width,
    label: 'Latency by what bounds it, in milliseconds',
    rows: [{name: 'predicted', parts: a.bound_ms}, {name: 'at the peaks', parts: a.ideal_ms}]
  }));
  if (a.memory_mib)
    draw(c, element, 'bar', (width) => charts.memoryBar({parts: a.memory_mib.parts, capacity: a.capacity_mib, width}));
  if (a.memory_mib) partTable(element.querySelector('.parts'), a);
  new Table(element.querySelector('.slowest'), {
    label: 'Slowest layers',
    attributes: (l) => ` data-layer="${l.i}"`,
    columns: [
      {title: 'layer', key: (l) => l.name, show: (l) => breakable(l.name), class: 'name'},
      {title: 'operator', key: (l) => l.op, show: (l) => breakable(l.op), class: 'minor'}, number('ms', 'latency_ms'), {
        title: 'share',
        number: true,
        key: (l) => l.latency_ms,
        show: (l) => percent((100 * l.latency_ms) / a.latency_ms.value)
      },
      {title: 'bound by', key: (l) => l.bound, show: (l) => bound(l.bound)}
    ]
  }).show(top);
}

const memoryLine = (a) =>
  `${whole(a.memory_mib.value)} MiB, ${a.interval_percent} % interval ${whole(a.memory_mib.low)} to ${
    whole(a.memory_mib.high)}${a.capacity_mib ? `; the GPU has ${whole(a.capacity_mib)}` : ''}`;

const PART_WORDS = {
  context: 'driver and context',
  cache: 'allocator’s cache'
};
const partWord = (name) => PART_WORDS[name] ?? name;
const partKey = (name) => `<i class="key" style="--k:var(--part-${name})"></i>`;

// Parts that are not always 0.
const memoryLegend = (a) =>
  legend(charts.MEMORY_PARTS
           .filter((name) => (a.memory_mib.parts[name] > 0 || a.memory_over_time?.some((p) => p.parts[name] > 0)))
           .map((name) => [`part-${name}`, partWord(name)]));

function partTable(element, a) {
  new Table(element, {
    label: 'Parts of the memory at the peak',
    columns: [
      {title: 'part', key: (p) => p[0], show: (p) => `${partKey(p[0])}${escape(partWord(p[0]))}`},
      {title: 'MiB', number: true, key: (p) => p[1], decimals: 1},
      {title: 'share', number: true, key: (p) => p[1], show: (p) => percent((100 * p[1]) / a.memory_mib.value)}
    ]
  }).show(charts.MEMORY_PARTS.map((name) => [name, a.memory_mib.parts[name]]).filter(([, mib]) => mib > 0));
}

// ---- comparison ----------------------------------------------------------------------------------------------------

const SWEEP = [1, 2, 4, 8, 16, 32, 64, 128, 256];

export async function compare(element, c) {
  const q = c.question;
  const chosen = Number(c.answer?.batch) || 1;
  const batches = [...new Set([...SWEEP, chosen])].sort((a, b) => a - b);
  const rows = [];
  c.commands = [];
  for (const [index, model] of q.models.entries()) {
    const ask = (batch) => {
      c.commands[index] = predictArguments(q, model, {gpus: q.gpus, batch});
      return c.ask([...c.commands[index], '--format', 'csv'], `compare ${model.path}`);
    };
    let answer = await ask(batches.join(','));
    if (!answer.text && index === q.active) answer = await ask('');  // the batch is part of the file
    if (answer.text)
      rows.push(...parseCsv(answer.text).map((r) => ({...r, index, name: model.label})));
    else {
      rows.push({index, name: model.label, gpu: '', batch: '', error: answer.error});
      c.fail(model, answer.error);
    }
  }
  c.exports.csv = () => ['comparison.csv', toCsv(rows.map(({index, name, ...r}) => r))];
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
      pick: `${r.index} ${r.gpu} ${r.batch}`,
      tip: `${titleOf(key)}, batch ${r.batch}\n${digits(Number(r.latency_ms))} ms, ${
        digits(Number(
          r.latency_ms_low))} to ${digits(Number(r.latency_ms_high))}\n${digits(Number(r.throughput_per_s))} ${unit}`
    }))
  }));
  const level = `${c.answer.interval_percent} %`;
  const keys = legend(names.map((key, i) => [`c${i % 8}`, titleOf(key)]));
  element.innerHTML =
    `${keys}<div class="columns">${
      panel('latency', 'Latency', `band: ${level} interval; drag the line to set a target`,
        plot('latency'))}${panel('throughput', 'Throughput', `band: ${level} interval`, plot('throughput'))}</div>` +
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
  const given = (key) => (r) => (r[key] === '' || r[key] == null ? null : Number(r[key]));
  const column = (title, key, more) => number(title, given(key), more);
  const percents = (title, key, more) => ({...column(title, key, more), decimals: 1, suffix: ' %'});
  const decimals = decimalsFor(rows.map((r) => Number(r.latency_ms)), 5);
  const table = new Table(element.querySelector('.rows'), {
    label: 'Comparison',
    attributes: (r) =>
      (r.latency_ms ? ` data-pick="${escape(`${r.index} ${r.gpu} ${r.batch}`)}"${
                        r.gpu === c.answer?.gpu && Number(r.batch) === chosen && r.index === q.active ?
                          ' class="chosen"' :
                          ''}` :
                      ''),
    columns: [
      ...(many ? [{title: 'model', key: (r) => r.name, show: (r) => breakable(r.name), class: 'name'}] : []),
      {title: 'GPU', key: (r) => r.gpu, show: (r) => escape(r.gpu)}, column('batch', 'batch', {decimals: 0}), {
        title: 'latency, ms',
        number: true,
        key: given('latency_ms'),
        show: (r) => (r.latency_ms ? `<span class="${
                                       meets(r) == null ? '' :
                                         meets(r)       ? 'meets' :
                                                          'miss'}">${fixed(Number(r.latency_ms), decimals)}</span>` :
                                     '')
      },
      column('low', 'latency_ms_low', {decimals, hint: `lower end of the ${level} interval`}),
      column('high', 'latency_ms_high', {decimals, hint: `upper end of the ${level} interval`}),
      column('samples/s', 'throughput_per_s'), column('energy, J', 'energy_j'), column('power, W', 'power_w'),
      percents('GPU', 'utilization_compute', {hint: 'used share of the GPU’s peak FLOP/s'}),
      percents('DRAM', 'utilization_dram', {hint: 'used share of the memory’s bandwidth'}),
      column('memory, MiB', 'memory_mib', {decimals: 0}), {
        title: 'fits',
        class: 'answer',
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

// ---- layers --------------------------------------------------------------------------------------------------------

export async function layers(element, c) {
  const a = c.answer;
  const roof = charts.roofOf(a);
  const depths = Math.min(6, Math.max(...a.layers.map((l) => scopeOf(l.name).length)));
  const operators = [...new Set(a.layers.map((l) => l.op))].sort();
  element.innerHTML =
    `<div class="columns">${
      panel('graph', 'Graph', '<span class="scale">less time<span class="ramp" aria-hidden="true"></span>more</span>',
        '<div class="graph" id="graph-box"></div>',
        '<button type="button" data-graph="out" aria-label="Zoom out">−</button><button type="button" data-graph="in" aria-label="Zoom in">+</button><button type="button" data-graph="fit">Fit</button><button type="button" data-graph="open">Open all</button><button type="button" data-graph="close">Close</button><button type="button" data-graph="svg">SVG</button><button type="button" data-graph="png">PNG</button>')}${
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
  const decimals = decimalsFor(a.layers.map((l) => l.latency_ms));
  const table = new Table(element.querySelector('.rows'), {
    label: 'Layers',
    attributes: (l) => (l.count === 1 ? ` data-layer="${l.i}"${l.i === c.layer ? ' class="chosen"' : ''}` : ''),
    columns: [
      {title: '#', number: true, key: (l) => -l.i, show: (l) => l.i + 1, class: 'minor'}, {
        title: 'layer',
        key: (l) => l.name,
        show: (l) => `${breakable(l.name)}${l.count > 1 ? ` <span class="note">${l.count} layers</span>` : ''}`,
        class: 'name'
      },
      {title: 'operator', key: (l) => l.op, show: (l) => breakable(l.op), class: 'minor'}, {
        title: 'ms',
        number: true,
        key: (l) => l.latency_ms,
        class: 'bar',
        show: (l) => `<div><span>${fixed(l.latency_ms, decimals)}</span><i><b style="width:${
          ((100 * l.latency_ms) / Math.max(most, l.latency_ms)).toFixed(1)}%"></b></i></div>`
      },
      {
        title: 'share',
        number: true,
        key: (l) => l.latency_ms,
        show: (l) => percent((100 * l.latency_ms) / a.latency_ms.value)
      },
      number('GPU ms', 'device_ms', {hint: 'time while its kernels run; the rest is waiting for launches'}),
      withUnit('FLOPs', 'flops', si), withUnit('bytes', 'bytes', bytes),
      share('utilization', 'utilization', {hint: 'used share of the GPU’s peak FLOP/s'}),
      number('energy, mJ', (l) => l.energy_j * 1e3), number('kernels', 'kernels', {decimals: 0}),
      {title: 'bound by', key: (l) => l.bound, show: (l) => bound(l.bound)}
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
    else if (what === 'svg' || what === 'png')
      graph.whole((svg) => c.savePicture('graph', what, svg));
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
  const sums = new Map();
  for (const p of charts.phasesOf(kernels, times)) sums.set(p.name, (sums.get(p.name) ?? 0) + p.to - p.from);
  const phases = [...sums].map(([name, us]) => [`phase-${name}`, `${name} ${digits(us / 1e3)} ms`]);
  element.innerHTML =
    panel('line', 'Timeline',
      'Launches on the host above, kernels on the GPU below. A gap is the GPU waiting for the host. Drag to look closer, double-click for all.',
      BOUNDS + legend(phases) + plot('line'), `<button type="button" data-zoom="out">All</button>${save}`) +
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
      {title: '#', number: true, key: (k) => -k.i, show: (k) => k.i + 1, class: 'minor'},
      {title: 'kernel', key: (k) => k.name, show: (k) => breakable(k.name), class: 'name'},
      {title: 'layer', key: (k) => k.layer, show: (k) => breakable(k.layer), class: 'name minor'},
      {title: 'phase', key: (k) => k.phase, show: (k) => escape(k.phase), class: 'minor'},
      number('latency, µs', (k) => k.latency_ms * 1e3, {decimals: 2}), number('GPU, µs', 'device_us', {decimals: 2}),
      number('host, µs', 'host_us', {decimals: 2}), withUnit('FLOPs', 'flops', si), withUnit('bytes', 'bytes', bytes),
      {title: 'bound by', key: (k) => k.bound, show: (k) => bound(k.bound)}, {
        title: 'algorithm',
        key: (k) => k.algorithm ?? '',
        show: (k) => `<span data-tip="${escape(k.reason ?? '')}">${escape(k.algorithm ?? '')}</span>`
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
  element.innerHTML = panel('over', 'Memory over time', memoryLine(a), memoryLegend(a) + plot('over')) +
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
  partTable(element.querySelector('.parts'), a);
  new Table(element.querySelector('.rows'), {
    label: 'Layers at the peak',
    columns: [
      {title: 'layer', key: (l) => l.name, show: (l) => breakable(l.name), class: 'name'},
      {title: 'operator', key: (l) => l.op, show: (l) => breakable(l.op)}, number('MiB', 'mib', {decimals: 2})
    ]
  }).show(at.layers);
}

export const VIEWS = [
  ['overview', 'Overview', overview], ['compare', 'Compare', compare], ['layers', 'Layers', layers],
  ['timeline', 'Timeline', timeline], ['memory', 'Memory', memory], ['contexts', 'Contexts', contexts],
  ['training', 'Training', training], ['mig', 'MIG', mig], ['survey', 'Survey', survey]
];
