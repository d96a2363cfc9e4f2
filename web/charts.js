// charts.js: the pictures, as SVG texts. The page and `sooth predict --format html` draw with these functions alone.
// A mark with data-layer belongs to a layer; data-tip is its tooltip.
import {digits, escape, percent, si, tick, whole} from './format.js';

const at = (x) => Math.round(x * 100) / 100;
const tip = (text) => ` data-tip="${escape(text)}"`;

// ---- axes ----------------------------------------------------------------------------------------------------------

function steps(low, high, most = 6) {
  const extent = high - low || 1;
  const power = 10 ** Math.floor(Math.log10(extent / most));
  const step = [1, 2, 5, 10].find((s) => extent / (s * power) <= most) * power;
  const ticks = [];
  for (let x = Math.ceil(low / step - 1e-9) * step; x <= high + step * 1e-9; x += step) ticks.push(x);
  return ticks;
}

function logSteps(low, high, factors) {
  const ticks = [];
  for (let e = Math.floor(Math.log10(low)); e <= Math.ceil(Math.log10(high)); e++)
    for (const f of factors)
      if (f * 10 ** e >= low * 0.999 && f * 10 ** e <= high * 1.001) ticks.push(f * 10 ** e);
  return ticks;
}

// {low, high, log, ticks, to(x): 0 to 1, from(share)}
export function axis(values, {log = false, zero = false, ticks = null} = {}) {
  const known = values.filter((x) => Number.isFinite(x) && (!log || x > 0));
  let low = known.length ? Math.min(...known) : log ? 1 : 0;
  let high = known.length ? Math.max(...known) : 1;
  if (log) {
    const span = Math.log10(high / low);
    low = span > 3 ? 10 ** Math.floor(Math.log10(low)) : low / 1.15;
    high = span > 3 ? 10 ** Math.ceil(Math.log10(high)) : high * 1.15;
    const factors = span < 2.2 ? [1, 2, 5] : [1];
    return {
      low,
      high,
      log,
      ticks: ticks ?? logSteps(low, high, factors),
      to: (x) => Math.log(Math.max(x, low) / low) / Math.log(high / low),
      from: (share) => low * (high / low) ** share
    };
  }
  if (zero) low = Math.min(0, low);
  if (high <= low) high = low + 1;
  const marks = steps(low, high);
  const step = marks.length > 1 ? marks[1] - marks[0] : 1;
  high = Math.ceil(high / step - 1e-9) * step;
  return {
    low,
    high,
    log,
    ticks: ticks ?? steps(low, high),
    to: (x) => (x - low) / (high - low),
    from: (share) => low + share * (high - low)
  };
}

// The frame of a chart: `box` is its plot area; x(v) and y(v) are positions in it.
function frame({width, height, left = 64, right = 16, top = 12, bottom = 46, x, y, xLabel, yLabel}) {
  const box = {left, right: width - right, top, bottom: height - bottom};
  const px = (v) => box.left + x.to(v) * (box.right - box.left);
  const py = (v) => box.bottom - y.to(v) * (box.bottom - box.top);
  let svg = '';
  for (const v of y.ticks)
    svg += `<line class="grid" x1="${box.left}" x2="${box.right}" y1="${at(py(v))}" y2="${
      at(py(v))}"/><text class="tick" text-anchor="end" x="${box.left - 8}" y="${at(py(v) + 4)}">${tick(v)}</text>`;
  for (const v of x.ticks)
    svg += `<line class="grid faint" y1="${box.top}" y2="${box.bottom}" x1="${at(px(v))}" x2="${
      at(px(v))}"/><text class="tick" text-anchor="middle" x="${at(px(v))}" y="${box.bottom + 18}">${tick(v)}</text>`;
  svg += `<line class="axis" x1="${box.left}" x2="${box.right}" y1="${box.bottom}" y2="${box.bottom}"/>`;
  svg += `<text class="unit" text-anchor="middle" x="${at((box.left + box.right) / 2)}" y="${height - 6}">${
    escape(xLabel)}</text>`;
  svg += `<text class="unit" text-anchor="middle" transform="translate(14 ${
    at((box.top + box.bottom) / 2)}) rotate(-90)">${escape(yLabel)}</text>`;
  return {box, px, py, svg};
}

const open = (width, height, name, label, extra = '') => `<svg class="chart ${name}" viewBox="0 0 ${width} ${
  height}" width="${width}" height="${height}" role="img" aria-label="${escape(label)}" ${extra}>`;

// ---- over batches --------------------------------------------------------------------------------------------------

// series: [{name, color, points: [{x, y, low, high, tip}]}]; `slo` draws a line that can be dragged, and `key` names
// the axis.
export function lines({series, width, height = 320, xLabel, yLabel, yLog = true, slo = null, label, hasSlo = false}) {
  const all = series.flatMap((s) => s.points);
  const xs = [...new Set(all.map((p) => p.x))].sort((a, b) => a - b);
  const x = axis(xs, {log: true, ticks: xs.length > 14 ? xs.filter((_, i) => i % 2 === 0) : xs});
  const y =
    axis([...all.flatMap((p) => [p.low ?? p.y, p.high ?? p.y]), ...(slo ? [slo] : [])], {log: yLog, zero: !yLog});
  const f = frame({width, height, x, y, xLabel, yLabel});
  let svg = open(width, height, 'lines', label,
    hasSlo ? `data-slo-top="${f.box.top}" data-slo-bottom="${f.box.bottom}" data-slo-low="${y.low}" data-slo-high="${
               y.high}"` :
             '');
  svg += f.svg;
  for (const s of series) {
    const banded = s.points.filter((p) => p.low != null);
    if (banded.length > 1)
      svg +=
        `<path class="band c${s.color}" d="M${banded.map((p) => `${at(f.px(p.x))} ${at(f.py(p.high))}`).join('L')}L${
          banded.slice().reverse().map((p) => `${at(f.px(p.x))} ${at(f.py(p.low))}`).join('L')}Z"/>`;
  }
  for (const s of series) {
    svg +=
      `<path class="line c${s.color}" d="M${s.points.map((p) => `${at(f.px(p.x))} ${at(f.py(p.y))}`).join('L')}"/>`;
    for (const p of s.points) {
      if (p.low != null && s.points.length === 1)
        svg += `<line class="line c${s.color}" x1="${at(f.px(p.x))}" x2="${at(f.px(p.x))}" y1="${
          at(f.py(p.low))}" y2="${at(f.py(p.high))}"/>`;
      svg += `<circle class="dot c${s.color}${p.chosen ? ' chosen' : ''}" cx="${at(f.px(p.x))}" cy="${
        at(f.py(p.y))}" r="${p.chosen ? 6 : 4}"${tip(p.tip ?? '')}${p.pick ? ` data-pick="${escape(p.pick)}"` : ''}/>`;
    }
  }
  if (hasSlo) {
    const level = slo ? at(f.py(slo)) : f.box.top + 10;
    const text = slo ? `target ${slo} ms` : 'drag: latency target';
    const tag = text.length * 6.6 + 18;
    svg += `<g class="slo${
      slo ? '' : ' off'}" tabindex="0" role="slider" aria-label="Latency target in milliseconds" aria-valuenow="${
      slo ?? ''}" aria-valuetext="${slo ? `${slo} ms` : 'none'}" transform="translate(0 ${level})"><line x1="${
      f.box.left}" x2="${f.box.right}"/><rect class="grip" x="${at(f.box.right - tag)}" y="-10" width="${
      at(tag)}" height="20" rx="10"/><text x="${at(f.box.right - tag / 2)}" y="4" text-anchor="middle">${
      text}</text></g>`;
  }
  return `${svg}</svg>`;
}

// ---- where the time goes -------------------------------------------------------------------------------------------

const BOUND_WORDS = {
  compute: 'compute-bound kernels',
  memory: 'memory-bound kernels',
  launch: 'waiting for launches'
};

// rows: [{name, parts: {compute, memory, launch}}], in milliseconds
export function split({rows, width, label}) {
  const left = width < 520 ? 0 : 130;
  const line = width < 520 ? 54 : 38;
  const most = Math.max(...rows.map((r) => r.parts.compute + r.parts.memory + r.parts.launch), 1e-12);
  let svg = open(width, rows.length * line + 4, 'split', label);
  rows.forEach((row, i) => {
    const y = i * line + (left ? 4 : 20);
    svg += `<text class="name" x="0" y="${left ? y + 18 : y - 5}">${escape(row.name)}</text>`;
    let x = left;
    for (const part of ['compute', 'memory', 'launch']) {
      const w = ((width - left - 90) * row.parts[part]) / most;
      if (w > 0)
        svg += `<rect class="${part}" x="${at(x)}" y="${y}" width="${at(w)}" height="26"${
          tip(`${BOUND_WORDS[part]}: ${digits(row.parts[part])} ms`)}/>`;
      x += w;
    }
    svg += `<text class="value" x="${at(x + 8)}" y="${y + 18}">${
      digits(row.parts.compute + row.parts.memory + row.parts.launch)} ms</text>`;
  });
  return `${svg}</svg>`;
}

// Peak FLOP/s and bytes/s of a prediction; null if one is unknown.
export function roofOf(a) {
  const seconds = a.latency_ms.value / 1e3;
  const roof = {
    peak: a.flops / seconds / (a.utilization.compute / 100),
    bandwidth: a.bytes / seconds / (a.utilization.dram / 100)
  };
  return roof.peak > 0 && roof.bandwidth > 0 && Number.isFinite(roof.peak + roof.bandwidth) ? roof : null;
}

// ---- roofline ------------------------------------------------------------------------------------------------------

// layers: of a prediction; peak in FLOP/s, bandwidth in bytes/s
export function roofline({layers, peak, bandwidth, total, width, height = 360, chosen = -1}) {
  const points = layers.map((l, i) => ({l, i, x: l.flops / l.bytes, y: l.flops / (l.latency_ms / 1e3)}))
                   .filter((p) => p.l.flops > 0 && p.l.bytes > 0 && p.l.latency_ms > 0);
  const x = axis([0.1, 1000, ...points.map((p) => p.x)], {log: true});
  const y = axis([peak, peak / 1e5, ...points.map((p) => p.y)], {log: true});
  const f = frame({width, height, x, y, xLabel: 'arithmetic intensity, FLOP per byte', yLabel: 'FLOP/s'});
  let svg = open(width, height, 'roofline', 'Roofline: FLOP/s of each layer over its FLOPs per byte') + f.svg;
  const ridge = Math.min(Math.max(peak / bandwidth, x.low), x.high);
  const begin = Math.max(x.low, y.low / bandwidth);
  svg += `<path class="roof" d="M${at(f.px(begin))} ${at(f.py(begin * bandwidth))}L${at(f.px(ridge))} ${
    at(f.py(peak))}L${at(f.px(x.high))} ${at(f.py(peak))}"/>`;
  svg += `<text class="tick" text-anchor="end" x="${f.box.right}" y="${at(f.py(peak) - 6)}">${
    si(peak, 'FLOP/s')} peak</text>`;
  points.sort((a, b) => b.l.latency_ms - a.l.latency_ms);
  for (const p of points) {
    const r = 2.5 + 26 * Math.sqrt(p.l.latency_ms / total);
    svg += `<circle class="${p.l.bound}${p.i === chosen ? ' chosen' : ''}" data-layer="${p.i}" cx="${
      at(f.px(p.x))}" cy="${at(f.py(p.y))}" r="${at(r)}"${
      tip(`${p.l.name}\n${p.l.op} · ${digits(p.l.latency_ms)} ms · ${p.l.bound}\n${digits(p.x)} FLOP/byte · ${
        si(p.y, 'FLOP/s')}`)}/>`;
  }
  return `${svg}</svg>`;
}

// ---- timeline ------------------------------------------------------------------------------------------------------

// The kernels in time, as predict_trace.c lays them out: [{begin, end, launchBegin, launchEnd}] in microseconds.
export function schedule(kernels) {
  let now = 0;
  let host = 0;
  return kernels.map((k) => {
    const whole = k.latency_ms * 1e3;
    const busy = Math.min(k.device_us, whole);
    const begin = now + whole - busy;
    const launch = Math.min(k.host_us, Math.max(begin - host, 0));
    const entry = {begin, end: begin + busy, launchBegin: host, launchEnd: host + launch};
    host += launch;
    now += whole;
    return entry;
  });
}

// Phases of a schedule in order: [{name, from, to}] in microseconds.
export function phasesOf(kernels, times) {
  const phases = [];
  kernels.forEach((k, i) => {
    const last = phases[phases.length - 1];
    if (last?.name === k.phase)
      last.to = times[i].end;
    else
      phases.push({name: k.phase, from: times[i].begin, to: times[i].end});
  });
  return phases;
}

// from and to: the part that is shown, in microseconds
export function timeline({kernels, layerOf, times, from, to, width, chosen = -1}) {
  const left = width < 520 ? 44 : 64;
  const height = 178;
  const span = to - from || 1;
  const px = (t) => left + ((t - from) / span) * (width - left - 8);
  let svg = open(width, height, 'timeline', 'Timeline of host and GPU in milliseconds',
    `data-left="${left}" data-right="${width - 8}"`);
  for (const t of steps(from / 1e3, to / 1e3, width < 520 ? 4 : 9))
    svg += `<line class="grid" x1="${at(px(t * 1e3))}" x2="${
      at(px(t * 1e3))}" y1="8" y2="138"/><text class="tick" text-anchor="middle" x="${at(px(t * 1e3))}" y="154">${
      Number(t.toPrecision(6))}</text>`;
  svg += `<text class="unit" text-anchor="middle" x="${at((left + width) / 2)}" y="172">time, ms</text>`;
  svg +=
    `<text class="name" x="0" y="30">host</text><text class="name" x="0" y="78">GPU</text><text class="name" x="0" y="124">phase</text>`;
  const bars = {host: '', gpu: ''};
  // Neighbours that would be thinner than a third of a pixel are drawn as one.
  const draw = (lane, y, h, kind, a, b, k, i) => {
    const x0 = Math.max(px(a), left);
    const x1 = Math.min(px(b), width - 8);
    if (x1 < left || x0 > width - 8 || b <= a) return;
    const w = Math.max(x1 - x0, 0.4);
    bars[lane] += `<rect class="${kind}${layerOf(k) === chosen ? ' chosen' : ''}" x="${at(x0)}" y="${y}" width="${
      at(w)}" height="${h}" data-layer="${layerOf(k)}"${
      tip(`${k.name}\n${k.layer}\n${
        lane === 'host' ? `launch ${digits(k.host_us)} µs` :
                          `${digits(k.device_us)} µs on the GPU · ${k.bound} · ${k.phase}`}${
        k.algorithm ? `\n${k.algorithm}` : ''}`)}/>`;
  };
  const thin = (span / (width - left)) * 0.34;
  let lastHost = -1;
  let lastGpu = -1;
  kernels.forEach((k, i) => {
    const t = times[i];
    if (t.end < from || t.launchBegin > to) return;
    if (t.launchEnd - lastHost > thin) {
      draw('host', 12, 28, 'launch', t.launchBegin, t.launchEnd, k, i);
      lastHost = t.launchEnd;
    }
    if (t.end - lastGpu > thin) {
      draw('gpu', 54, 40, k.bound, t.begin, t.end, k, i);
      lastGpu = t.end;
    }
  });
  svg += `<rect class="lane" x="${left}" y="12" width="${at(width - left - 8)}" height="28"/><rect class="lane" x="${
    left}" y="54" width="${at(width - left - 8)}" height="40"/>`;
  svg += bars.host + bars.gpu;
  for (const p of phasesOf(kernels, times)) {
    const a = Math.max(px(p.from), left);
    const b = Math.min(px(p.to), width - 8);
    if (b - a < 1) continue;
    svg += `<rect class="phase ${p.name}" x="${at(a)}" y="108" width="${at(b - a)}" height="24"${
      tip(`${p.name}: ${digits((p.to - p.from) / 1e3)} ms`)}/>`;
    if (b - a > 66) svg += `<text class="inside" x="${at((a + b) / 2)}" y="124" text-anchor="middle">${p.name}</text>`;
  }
  return `${svg}</svg>`;
}

// ---- memory --------------------------------------------------------------------------------------------------------

export const MEMORY_PARTS =
  ['context', 'weights', 'optimizer', 'inputs', 'gradients', 'activations', 'workspace', 'cache'];
const MEMORY_WORDS = {
  context: 'driver, kernel code, library handles',
  weights: 'parameters and buffers',
  optimizer: 'state of the optimizer',
  inputs: 'samples and labels',
  gradients: 'of the parameters',
  activations: 'outputs of layers that are still needed',
  workspace: 'scratch memory of libraries',
  cache: 'held by the allocator, unused'
};

// points: memory_over_time; parts: memory_mib.parts; capacity in MiB
export function memory({points, parts, capacity, total, total_ms, peakLayer, width, height = 340}) {
  const context = parts.context || 0;
  const reservedMost = points.reduce((most, p) => Math.max(most, p.reserved_mib), 0) + context;
  const near = capacity && capacity < reservedMost * 3;
  const y = axis([reservedMost * 1.04, total.high, ...(near ? [capacity] : [])], {zero: true});
  const x = axis([0, total_ms], {zero: true});
  x.high = total_ms;
  x.to = (v) => v / total_ms;
  x.ticks = x.ticks.filter((t) => t <= total_ms);
  const f = frame({width, height, x, y, xLabel: 'time, ms', yLabel: 'memory, MiB', left: 70});
  let svg = open(width, height, 'memory-chart', 'Memory over time by part, in MiB') + f.svg;
  const ends = points.map((p, i) => at(f.px(i + 1 < points.length ? points[i + 1].ms : total_ms)));
  const begins = points.map((p) => at(f.px(p.ms)));
  let floor = points.map(() => 0);
  // From the bottom up: each part lies on those before it.
  for (const name of MEMORY_PARTS) {
    const mib = points.map((p, i) => (name === 'context' ? context :
                               name === 'cache'          ? Math.max(0, context + p.reserved_mib - floor[i]) :
                                                           p.parts[name]));
    const most = Math.max(0, ...mib);
    if (most <= 0) continue;
    let up = '';
    let down = '';
    const top = floor.map((low, i) => low + mib[i]);
    points.forEach((p, i) => {
      const [low, high] = [at(f.py(floor[i])), at(f.py(top[i]))];
      up += `${i ? 'L' : 'M'}${begins[i]} ${high}L${ends[i]} ${high}`;
      down = `L${ends[i]} ${low}L${begins[i]} ${low}${down}`;
    });
    floor = top;
    svg += `<path class="part ${name}" d="${up}${down}Z"${
      tip(`${name}, at most ${digits(most)} MiB\n${MEMORY_WORDS[name]}`)}/>`;
  }
  const peak = points.reduce((best, p) => (p.allocated_mib > best.allocated_mib ? p : best), points[0]);
  if (peak) {
    const px = at(f.px(peak.ms));
    const right = px > width / 2;
    svg += `<line class="mark" x1="${px}" x2="${px}" y1="${f.box.top}" y2="${
      f.box.bottom}"/><text class="tick strong" x="${px + (right ? -6 : 6)}" y="${f.box.top + 12}" text-anchor="${
      right ? 'end' : 'start'}">peak: ${escape(peakLayer || peak.layer)}</text>`;
  }
  if (capacity && !near)
    svg += `<text class="tick strong" text-anchor="end" x="${f.box.right}" y="${f.box.top + (peak && at(f.px(peak.ms)) > width / 2 ? 28 : 12)}">GPU: ${
      whole(capacity)} MiB, above ↑</text>`;
  if (near)
    svg += `<line class="capacity" x1="${f.box.left}" x2="${f.box.right}" y1="${at(f.py(capacity))}" y2="${
      at(f.py(capacity))}"/><text class="tick strong" text-anchor="end" x="${f.box.right}" y="${
      at(f.py(capacity) - 6)}">GPU: ${whole(capacity)} MiB</text>`;
  return `${svg}</svg>`;
}

// One bar: the parts of the peak.
export function memoryBar({parts, capacity, width}) {
  const sum = MEMORY_PARTS.reduce((s, n) => s + (parts[n] || 0), 0);
  const most = capacity ? Math.max(sum, Math.min(capacity, sum * 4)) : sum;
  let svg = open(width, 46, 'memory-bar', 'Parts of the memory at the peak');
  svg += `<rect class="lane" x="0" y="4" width="${width}" height="26"/>`;
  let x = 0;
  for (const name of MEMORY_PARTS) {
    const w = (width * (parts[name] || 0)) / most;
    if (w > 0)
      svg += `<rect class="part ${name}" x="${at(x)}" y="4" width="${at(w)}" height="26"${
        tip(`${name}: ${digits(parts[name])} MiB`)}/>`;
    x += w;
  }
  svg += `<text class="tick" x="0" y="44">0</text><text class="tick" x="${width}" y="44" text-anchor="end">${
    whole(most)} MiB${capacity && most === capacity ? ', the GPU' : ''}</text>`;
  return `${svg}</svg>`;
}

// ---- training stages -----------------------------------------------------------------------------------------------

export function stages({stages: all, width, label}) {
  const left = width < 520 ? 66 : 84;
  const right = width < 520 ? 64 : 190;
  const most = Math.max(...all.map((s) => s.latency_ms.high));
  const x = axis([0, most], {zero: true});
  const px = (v) => left + x.to(v) * (width - left - right);
  const height = all.length * 34 + 44;
  let svg = open(width, height, 'stages', label);
  for (const t of x.ticks)
    svg += `<line class="grid" x1="${at(px(t))}" x2="${at(px(t))}" y1="0" y2="${
      height - 40}"/><text class="tick" text-anchor="middle" x="${at(px(t))}" y="${height - 24}">${tick(t)}</text>`;
  svg += `<text class="unit" text-anchor="middle" x="${at((left + width - right) / 2)}" y="${
    height - 6}">ms of one step, without overlap</text>`;
  all.forEach((s, i) => {
    const y = i * 34 + 4;
    const {value, low, high} = s.latency_ms;
    svg += `<text class="name" x="0" y="${y + 17}">${escape(s.stage)}</text>`;
    svg += `<rect class="stage ${s.resource === 'GPU' ? 'gpu' : 'host'}" x="${left}" y="${y}" width="${
      at(Math.max(px(value) - left, 0.5))}" height="24"${
      tip(`${s.stage}: ${digits(value)} ms, ${digits(low)} to ${digits(high)}\n${s.resource} busy ${
        percent(s.resource_share)}`)}/>`;
    svg += `<path class="whisker" d="M${at(px(low))} ${y + 12}H${at(px(high))}M${at(px(low))} ${y + 7}v10M${
      at(px(high))} ${y + 7}v10"/>`;
    svg += `<text class="value" x="${at(px(high) + 8)}" y="${y + 17}">${digits(value)} ms${
      width < 520 ? '' : ` · ${escape(s.resource)} ${percent(s.resource_share)}`}</text>`;
  });
  return `${svg}</svg>`;
}

// ---- MIG -----------------------------------------------------------------------------------------------------------

// gpus: [[{workload, model, profile, start, slots}]] by GPU; `slots` of each
export function migSlots({gpus, slots, width, label}) {
  const line = 78;
  const left = width < 520 ? 0 : 64;
  const cell = (width - left) / slots;
  let svg = open(width, gpus.length * line + 18, 'mig-slots', label);
  gpus.forEach((placed, g) => {
    const y = g * line + 4;
    if (left) svg += `<text class="name" x="0" y="${y + 30}">GPU ${g}</text>`;
    for (let s = 0; s < slots; s++)
      svg += `<rect class="slot" x="${at(left + s * cell + 2)}" y="${y}" width="${at(cell - 4)}" height="48" rx="6"/>`;
    for (const p of placed) {
      const x = left + p.start * cell + 2;
      const w = p.slots * cell - 4;
      svg += `<g class="placed c${p.workload % 8}"${
        tip(`${p.model}\n${p.profile}: memory slots ${p.start} to ${p.start + p.slots - 1}`)}><rect x="${at(x)}" y="${
        y}" width="${at(w)}" height="48" rx="6"/>`;
      // In a narrow slot the text shrinks or turns, and only the tooltip names the model.
      const wide = p.profile.length * 7.2 + 20;
      const isUpright = w < wide * 0.6;
      const size = isUpright ? 10 : Math.min(12, (12 * (w - 4)) / (wide - 16));
      svg += isUpright ?
        `<text class="inside" style="font-size:10px" transform="translate(${at(x + w / 2 + 3.5)} ${
          y + 44}) rotate(-90)">${escape(p.profile)}</text>` :
        w < wide ? `<text class="inside" style="font-size:${at(size)}px" text-anchor="middle" x="${at(x + w / 2)}" y="${
                     y + 28}">${escape(p.profile)}</text>` :
                   `<text class="inside" x="${at(x + 10)}" y="${y + 21}">${escape(p.profile)}</text>`;
      const room = Math.floor((w - 18) / 6.4);
      const name = p.model.length > room ? `${p.model.slice(0, Math.max(room - 1, 0))}…` : p.model;
      if (w >= wide && room > 3)
        svg += `<text class="inside small" x="${at(x + 10)}" y="${y + 38}">${escape(name)}</text>`;
      svg += '</g>';
    }
    for (let s = 0; s < slots; s++)
      svg += `<text class="tick" text-anchor="middle" x="${at(left + (s + 0.5) * cell)}" y="${y + 64}">${s}</text>`;
  });
  svg += `<text class="unit" text-anchor="middle" x="${at((left + width) / 2)}" y="${
    gpus.length * line + 14}">memory slot</text>`;
  return `${svg}</svg>`;
}

// ---- survey --------------------------------------------------------------------------------------------------------

export const LOSSES = [
  ['utilization', 'used'], ['lost_launch', 'launch'], ['lost_memory', 'memory'], ['lost_units', 'slower units'],
  ['lost_waves', 'waves'], ['lost_alignment', 'alignment'], ['lost_other', 'other']
];

// rows: of a survey
export function losses({rows, width, label}) {
  const names = rows.map((row) => `${row.name} · ${row.gpu} · ${row.batch}`);
  const longest = Math.max(...names.map((name) => name.length)) * 6.6 + 14;
  const isNarrow = width < 520;
  const left = isNarrow ? 0 : Math.min(longest, width * 0.38);
  const right = 56;
  const line = isNarrow ? 42 : 26;
  let svg = open(width, rows.length * line + 34, 'losses', label);
  const px = (v) => left + (v / 100) * (width - left - right);
  for (const t of [0, 25, 50, 75, 100])
    svg += `<line class="grid" x1="${at(px(t))}" x2="${at(px(t))}" y1="0" y2="${
      rows.length *
      line}"/><text class="tick" text-anchor="middle" x="${at(px(t))}" y="${rows.length * line + 16}">${t}</text>`;
  svg += `<text class="unit" text-anchor="middle" x="${at((left + width - right) / 2)}" y="${
    rows.length * line + 31}">percent of the GPU’s peak</text>`;
  rows.forEach((row, i) => {
    const y = i * line + (isNarrow ? 18 : 3);
    const name = names[i];
    const room = Math.floor((isNarrow ? width : left) / 6.6);
    svg += `<text class="name" x="0" y="${isNarrow ? y - 4 : y + 15}">${
      escape(name.length > room ? `${name.slice(0, room - 1)}…` : name)}<title>${escape(name)}</title></text>`;
    let x = 0;
    for (const [key, word] of LOSSES) {
      const v = Math.max(0, Number(row[key]) || 0);
      if (v > 0)
        svg += `<rect class="loss ${key}" x="${at(px(x))}" y="${y}" width="${at(px(v) - px(0))}" height="20"${
          tip(`${name}\n${word}: ${percent(v)}`)}/>`;
      x += v;
    }
    svg +=
      `<text class="value" x="${width}" y="${y + 15}" text-anchor="end">${percent(Number(row.utilization))}</text>`;
  });
  return `${svg}</svg>`;
}
