// plans.js: views of questions over many predictions: contexts of language models, training, MIG, survey.
import * as charts from './charts.js';
import {breakable, bytes, digits, escape, percent, whole} from './format.js';
import {bound, draw, legend, number, panel, plot, share, toCsv, withUnit} from './panel.js';
import {dimensionArguments, predictArguments, settingArguments, stageArguments} from './question.js';
import {Table} from './table.js';

const download = (name) => `<button type="button" data-export="${name}">CSV</button>`;
const failure = (text) => `<div class="problem" role="alert">${escape(text)}</div>`;

// ---- contexts ------------------------------------------------------------------------------------------------------

const CONTEXTS = [512, 1024, 2048, 4096, 8192, 16384, 32768];

export async function contexts(element, c) {
  const q = c.question;
  const {seq, past, ...rest} = q;
  c.command =
    [...predictArguments({...rest, seq: '', past: ''}, c.model, {gpus: q.gpus}), '--context', CONTEXTS.join(',')];
  const answer = await c.askJson([...c.command, '--format', 'json'], 'contexts');
  if (!answer.rows) {
    element.innerHTML = failure(answer.error);
    return;
  }
  c.exports.json = () => ['contexts.json', answer.text];
  const level = `${q.interval || 90} %`;
  const gpus = [...new Set(answer.rows.map((r) => r.gpu))];
  const series = (key) => gpus.map((gpu, i) => ({
    name: gpu,
    color: i % 8,
    points: answer.rows.filter((r) => r.gpu === gpu).map((r) => ({
      x: r.context,
      y: r[key].value,
      low: r[key].low,
      high: r[key].high,
      tip: `${gpu}, context ${r.context}, batch ${r.batch}\n${digits(r[key].value)} ms, ${digits(r[key].low)} to ${
        digits(r[key].high)}`
    }))
  }));
  element.innerHTML = `${legend(gpus.map((gpu, i) => [`c${i % 8}`, gpu]))}<div class="columns">${
    panel('first', 'First token', `one pass over the prompt; band: ${level} interval`, plot('first'))}${
    panel('decode', 'Further tokens', `one step with the context in the KV cache; band: ${level} interval`,
      plot('decode'))}</div>${
    panel('contexts', 'Contexts',
      `batch ${answer.rows[0]?.batch ?? 1}; what fits is decided by the upper end of the interval`,
      '<div class="rows"></div>', download('contexts'))}`;
  for (const [name, key, label] of [
         ['first', 'prefill_ms', 'time to the first token, ms'], ['decode', 'decode_ms', 'time per step, ms']])
    draw(c, element, name,
      (width) => charts.lines(
        {width, label: `${label}, over the context`, xLabel: 'context, tokens', yLabel: label, series: series(key)}));
  new Table(element.querySelector('.rows'), {
    label: 'Contexts',
    columns: [
      {title: 'GPU', key: (r) => r.gpu, show: (r) => escape(r.gpu)}, number('context', 'context', {decimals: 0}),
      number('first token, ms', (r) => r.prefill_ms.value), number('decode, ms', (r) => r.decode_ms.value),
      number('tokens/s', 'tokens_per_s'), number('mJ/token', (r) => r.energy_j_per_token?.value * 1e3),
      number('KV cache, MiB', 'kv_cache_mib', {decimals: 0}),
      number('memory, MiB', (r) => r.memory_mib?.value, {decimals: 0}), {
        title: 'fits',
        class: 'answer',
        key: (r) => r.fits,
        show: (r) => (r.fits ? '<span class="meets">yes</span>' :
            r.fits === false ? '<span class="miss">no</span>' :
                               '?')
      },
      number('largest batch', 'largest_batch', {decimals: 0})
    ]
  }).show(answer.rows);
  const flat = (r) => Object.fromEntries(Object.entries(r).flatMap(
    ([key, v]) =>
      (v && typeof v === 'object' ? [[key, v.value], [`${key}_low`, v.low], [`${key}_high`, v.high]] : [[key, v]])));
  c.exports.contexts = () => ['contexts.csv', toCsv(answer.rows.map(flat))];
}

// ---- training ------------------------------------------------------------------------------------------------------

const STAGE_CHOICES = {
  data: [['', 'data of the model'], ['imagenet', 'ImageNet, JPEG'], ['cifar', 'CIFAR, raw'], ['none', 'on the GPU']],
  library: [['', 'both libraries'], ['cudnn', 'cuDNN'], ['cublas', 'im2col + cuBLAS']],
};
const STAGE_FLAGS = [['pin', 'pinned memory'], ['serial', 'no overlap'], ['checkpoint', 'checkpoints']];

function stageControls(q) {
  const select = (key, label) => `<label class="field"><span class="label">${label}</span><select data-stage="${key}">${
    STAGE_CHOICES[key]
      .concat(q[key] && !STAGE_CHOICES[key].some(([v]) => v === q[key]) ? [[q[key], q[key]]] : [])
      .map(([v, text]) => `<option value="${escape(v)}"${v === q[key] ? ' selected' : ''}>${escape(text)}</option>`)
      .join('')}</select></label>`;
  const count = (key, label, most, hint) => `<label class="field" data-tip="${hint}"><span class="label">${
    label}</span><input type="number" min="1" max="${most}" data-stage="${key}" value="${escape(q[key])}" placeholder="${
    key === 'workers' ? 8 : 1}" inputmode="numeric"></label>`;
  const flag = ([key, label]) =>
    `<label class="check"><input type="checkbox" data-stage="${key}"${q[key] ? ' checked' : ''}> ${label}</label>`;
  return panel('pipeline', 'Pipeline', '', `<div class="filters pipeline">${select('data', 'samples')}${
    count('workers', 'workers', 1024, 'processes of the loader')}${
    count('accumulate', 'accumulate', 4096, 'batches whose gradients are added before an update')}${
    select('library', 'convolutions by')}${STAGE_FLAGS.map(flag).join('')}</div>`, '');
}

export async function training(element, c) {
  const q = c.question;
  c.command = [
    'train-phase', c.model.path, '--gpu', q.gpus[0], ...dimensionArguments(q),
    ...settingArguments(q, ['precision', 'layout', 'runtime', 'optimizer', 'stack']),
    ...(q.host && q.host !== 'measured' ? ['--host', q.host] : []), ...stageArguments(q)
  ];
  const answer = await c.askJson([...c.command, '--format', 'json'], 'train-phase');
  const listen = () => element.querySelectorAll('[data-stage]').forEach((input) => input.addEventListener('change', () => {
    q[input.dataset.stage] = input.type === 'checkbox' ? (input.checked ? 'yes' : '') : input.value;
    c.keepLink();
    c.refresh();
  }));
  if (!answer.stages) {
    element.innerHTML = stageControls(q) + failure(answer.error);
    listen();
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
    stageControls(q) +
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
      {title: 'change', key: (x) => x.change, show: (x) => escape(x.change)}, number('step, ms', 'step_ms'),
      number('samples/s', (x) => (x.samples * 1e3) / x.step_ms), share('GPU waits', 'gpu_waits_percent')
    ]
  }).show(answer.changes);
  new Table(element.querySelector('.rows'), {
    label: 'Layers in training',
    columns: [
      {title: 'layer', key: (l) => l.name, show: (l) => breakable(l.name), class: 'name'},
      {title: 'operator', key: (l) => l.op, show: (l) => breakable(l.op), class: 'minor'},
      number('forward, ms', 'forward_ms', {decimals: 4}), number('backward, ms', 'backward_ms', {decimals: 4}),
      number('update, ms', 'update_ms', {decimals: 4}), share('efficiency', 'efficiency'),
      share('occupancy', 'occupancy'), withUnit('weights', 'weight_bytes', bytes),
      withUnit('optimizer', 'optimizer_bytes', bytes), withUnit('kept for backward', 'feature_map_bytes', bytes),
      {title: 'algorithm', key: (l) => l.algorithm ?? '', show: (l) => escape(l.algorithm ?? '')},
      {title: 'bound by', key: (l) => l.bound, show: (l) => bound(l.bound)}
    ]
  }).show(answer.layers);
  listen();
  c.exports.train = () => ['training-layers.csv', toCsv(answer.layers)];
}

// ---- MIG -----------------------------------------------------------------------------------------------------------

export async function mig(element, c) {
  const q = c.question;
  await c.lists;
  const gpu = q.gpus.find((name) => c.gpuOf(name)?.slices?.length);
  if (!gpu) {
    element.innerHTML =
      '<p class="wait">None of the chosen GPUs can be divided (MIG). A100, A30, H100 and H200 can: add one on the left.</p>';
    return;
  }
  const {counts} = q;
  const works = q.models.map((m) => {
    const n = counts[m.path] ?? 1;
    return n > 1 ? `${m.path}@${n}` : m.path;
  });
  c.command = [
    'mig', ...works, '--gpu', gpu, ...dimensionArguments(q),
    ...settingArguments(q, ['precision', 'layout', 'runtime', 'mode', 'optimizer', 'stack']),
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
      c.keepLink();
      c.refresh();
    }));
  if (!answer.workloads) {
    element.innerHTML = head + failure(answer.error);
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
      number('latency, ms', (p) => p.latency_ms.value), number('low', (p) => p.latency_ms.low),
      number('high', (p) => p.latency_ms.high), number('memory, MiB', (p) => p.memory_mib?.value, {decimals: 0}),
      number('up to', (p) => p.memory_mib?.high, {decimals: 0, hint: 'upper end of the interval of memory'}),
      number('usable', 'usable_mib', {decimals: 0}), number('energy, J', (p) => p.energy_j?.value), {
        title: 'answer',
        class: 'answer',
        key: (p) => p.reason ?? '',
        show: (p) => (p.profile === w.profile ?
            `<span class="meets">smallest that ${Number(q.slo) > 0 ? 'meets the target' : 'fits'}</span>` :
            p.reason ? `<span class="miss">${escape(p.reason)}</span>` :
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
    ...settingArguments(q, ['precision', 'layout', 'runtime', 'mode', 'optimizer', 'stack'])
  ];
  const answer = await c.askJson([...c.command, '--format', 'json'], 'survey');
  if (!answer.rows) {
    element.innerHTML = failure(answer.error);
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
  new Table(element.querySelector('.rows'), {
    label: 'Survey',
    columns: [
      {title: 'network', key: (r) => r.name, show: (r) => breakable(r.name), class: 'name'},
      {title: 'GPU', key: (r) => r.gpu, show: (r) => escape(r.gpu)}, number('batch', 'batch', {decimals: 0}),
      number('latency, ms', 'latency_ms'), share('utilization', 'utilization'), share('DRAM', 'dram_utilization'),
      share('occupancy', 'occupancy'), ...charts.LOSSES.slice(1).map(([key, word]) => share(word, key)), {
        title: 'error',
        class: 'answer',
        key: (r) => r.error ?? '',
        show: (r) => (r.error ? `<span class="miss">${escape(r.error)}</span>` : '')
      }
    ]
  }).show(answer.rows);
  c.exports.survey = () => ['survey.csv', toCsv(answer.rows)];
}
