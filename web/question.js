// question.js: the question as a link, as arguments and as a command line.

export const CHOICES = {
  precision: [
    ['', 'amp (fp16)'], ['amp-bf16', 'amp (bf16)'], ['fp32', 'fp32'], ['tf32', 'tf32'], ['fp16', 'fp16'],
    ['bf16', 'bf16'], ['int8', 'int8'], ['fp8', 'fp8'], ['int4', 'int4']
  ],
  layout: [['', 'nchw'], ['nhwc', 'nhwc']],
  runtime: [['', 'eager'], ['inductor', 'inductor'], ['engine', 'engine']],
  mode: [['', 'inference'], ['train', 'training step'], ['train-forward', 'its forward pass']],
  optimizer: [
    ['', 'momentum'], ['sgd', 'SGD'], ['sgd-nesterov', 'Nesterov'], ['adam', 'Adam'], ['adamw', 'AdamW'], ['adam-l2', 'Adam with decay'],
    ['none', 'none']
  ],
  graphs: [['', 'one by one'], ['yes', 'as a CUDA graph']],
  interval: [['50', '50 %'], ['80', '80 %'], ['', '90 %'], ['95', '95 %'], ['99', '99 %']],
  cache: [['', 'as in the file'], ['16', '16 bits'], ['8', '8 bits']],
};
// Settings of a prediction: names in a link, and options of the command.
const OPTIONS = {
  precision: '--precision',
  layout: '--layout',
  runtime: '--runtime',
  mode: '--mode',
  optimizer: '--optimizer',
  mig: '--mig',
  stack: '--stack',
  host: '--host',
  graphs: '--cuda-graphs',
  power: '--power-limit',
  co2: '--co2',
  cache: '--kv-cache',
  interval: '--interval'
};
// Settings of a training step's stages.
const STAGE_OPTIONS = {
  data: '--data',
  workers: '--workers',
  accumulate: '--accumulate',
  library: '--library',
  pin: '--pin',
  serial: '--no-overlap',
  checkpoint: '--checkpoint'
};
const FLAGS = ['graphs', 'pin', 'serial', 'checkpoint'];
const TEXTS = [...Object.keys(OPTIONS), ...Object.keys(STAGE_OPTIONS), 'shape', 'seq', 'past', 'slo'];

export function emptyQuestion() {
  return {
    models: [],
    active: 0,
    gpus: ['a100-sxm4-40gb'],
    batch: '',
    dims: {},
    counts: {},  // of instances in the MIG view, by path
    own: {},     // texts of GPU files that were pasted, by path
    tab: 'overview',
    ...Object.fromEntries(TEXTS.map((key) => [key, '']))
  };
}

const withoutComments = (text) => text.replace(/[ \t]*#.*$/gm, '').replace(/^\s+|\s+$/g, '').replace(/\n\s+/g, '\n');

// The path of a GPU file that was pasted, from its name.
export const ownName = (text) => /^\s*name\s*=\s*(\S+)/m.exec(text)?.[1] ?? '';
export const ownPath = (text) => `./${ownName(text).toLowerCase().replace(/[^a-z0-9]/g, '') || 'own'}.txt`;

// "#model=zoo:resnet50&gpu=h100,l4&batch=32"
export function toHash(q) {
  const clean = (text) =>
    encodeURIComponent(text).replace(/%3A/g, ':').replace(/%2C/g, ',').replace(/%2F/g, '/').replace(/%40/g, '@');
  const parts = q.models.map((m) => `model=${clean(m.path)}`);
  if (q.active) parts.push(`active=${q.active}`);
  parts.push(`gpu=${q.gpus.map(clean).join(',')}`);
  if (q.batch) parts.push(`batch=${q.batch}`);
  for (const key of TEXTS)
    if (q[key]) parts.push(`${key}=${clean(q[key])}`);
  for (const [name, value] of Object.entries(q.dims))
    if (value) parts.push(`dim=${clean(`${name}=${value}`)}`);
  q.models.forEach((m, i) => q.counts[m.path] > 1 && parts.push(`count=${i}:${q.counts[m.path]}`));
  for (const name of q.gpus)
    if (q.own[name]) parts.push(`own=${clean(withoutComments(q.own[name]))}`);
  if (q.tab !== 'overview') parts.push(`view=${q.tab}`);
  return `#${parts.join('&')}`;
}

export function fromHash(hash) {
  const q = emptyQuestion();
  const counts = [];
  for (const part of hash.replace(/^#/, '').split('&')) {
    const equals = part.indexOf('=');
    if (equals < 0) continue;
    const key = part.slice(0, equals);
    let value;
    try {
      value = decodeURIComponent(part.slice(equals + 1));
    } catch { continue; }
    if (key === 'model' && value)
      q.models.push({path: value});
    else if (key === 'gpu')
      q.gpus = value.split(',').filter(Boolean);
    else if (key === 'batch')
      q.batch = value.split(',')[0].replace(/\D/g, '');
    else if (key === 'active')
      q.active = Number(value) || 0;
    else if (key === 'view')
      q.tab = value;
    else if (key === 'count')
      counts.push(value.split(':').map(Number));
    else if (key === 'own')
      q.own[ownPath(value)] = value;
    else if (key === 'dim' && value.lastIndexOf('=') > 0)
      q.dims[value.slice(0, value.lastIndexOf('='))] = value.slice(value.lastIndexOf('=') + 1);
    else if (TEXTS.includes(key))
      q[key] = value;
  }
  if (!q.gpus.length) q.gpus = ['a100-sxm4-40gb'];
  q.active = Math.min(Math.max(Math.trunc(q.active), 0), Math.max(q.models.length - 1, 0));
  for (const [i, n] of counts)
    if (q.models[i] && n > 1) q.counts[q.models[i].path] = n;
  return q;
}

const isTraining = (q) => q.mode.startsWith('train');

// Arguments for the model and its dimensions.
export function dimensionArguments(q, batch = q.batch) {
  const args = [];
  if (batch) args.push('--batch', String(batch));
  if (q.seq) args.push('--seq', q.seq);
  if (q.past) args.push('--past', q.past);
  for (const [name, value] of Object.entries(q.dims))
    if (value) args.push('--dim', `${name}=${value}`);
  for (const shape of q.shape.split(/[;\s]+/).filter(Boolean)) args.push('--shape', shape);
  return args;
}

const argument = (option, key, q) => (FLAGS.includes(key) ? [option] : [option, q[key]]);

export const stageArguments = (q) =>
  Object.entries(STAGE_OPTIONS).flatMap(([key, option]) => (q[key] ? argument(option, key, q) : []));

export function settingArguments(q, names = Object.keys(OPTIONS)) {
  return names.filter((key) => q[key] && (key !== 'optimizer' || isTraining(q) || !names.includes('mode')))
    .flatMap((key) => argument(OPTIONS[key], key, q));
}

export function predictArguments(q, model, {gpus = [q.gpus[0]], batch = q.batch} = {}) {
  return ['predict', model.path, '--gpu', gpus.join(','), ...dimensionArguments(q, batch), ...settingArguments(q)];
}

// Quotes an argument for a shell.
export function commandLine(args) {
  return ['sooth', ...args].map((a) => (/^[\w@%+=:,./-]+$/.test(a) ? a : `'${a.replace(/'/g, "'\\''")}'`)).join(' ');
}
