// app.js: the page's state: the question, the answer, and the controls.
import {Client, Stale} from './client.js';
import {combo} from './combo.js';
import {parseCsv} from './csv.js';
import {save, savePng, svgText} from './export.js';
import {filesOfDrop, filesOfInput, modelsOf} from './files.js';
import {escape} from './format.js';
import {CHOICES, commandLine, dimensionArguments, fromHash, ownName, ownPath, predictArguments, toHash} from './question.js';
import {cardsOf, notesOf, subtitleOf} from './summary.js';
import {showTips} from './tip.js';
import {VIEWS} from './views.js';

const $ = (id) => document.getElementById(id);
const client = new Client();
const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

let q = fromHash(location.hash);
let answer = null;   // of predict, for the active model on the first GPU
let context = null;  // of the view
let layer = -1;      // that is chosen
let hovered;         // layer under the pointer
let turn = 0;        // number of the newest question
let gpus = [];
let zoo = [];
let hosts = [];
let lists;                         // settled when these three lists are loaded
const failures = new Map();        // error of each model, by path
const known = new Set();           // paths of the user's files
const languageModels = new Set();  // paths of models with a sequence and a cache

const TYPING_MS = 250;
const model = () => q.models[q.active];
const MORE = ['host', 'graphs', 'stack', 'power', 'co2', 'interval', 'cache', 'shape'];
const messageOf = (error) => String(error).replace(/^sooth: /gm, '');
const labelOf = (path) => path.replace(/^zoo:/, '');
const normal = (name) => name.toLowerCase().replace(/[^a-z0-9]/g, '');

// ---- the lists of the program --------------------------------------------------------------------------------------

function gpuOf(name) {
  return gpus.find((g) => g.name === name) ??
    gpus.find((g) => [g.name, ...g.aliases].some((n) => normal(n) === normal(name)));
}

async function loadLists() {
  const [a, b, c] = await Promise.all([
    client.ask(['gpus', '--format', 'json']), client.ask(['zoo', '--format', 'json']),
    client.ask(['train-phase', '--hosts'])
  ]);
  gpus = JSON.parse(a.text).gpus;
  zoo = JSON.parse(b.text).networks;
  hosts = c.error.split('\n').filter((line) => line && !line.startsWith(' '));
  q.gpus = [...new Set(q.gpus.map((name) => gpuOf(name)?.name ?? name))];
  drawControls();
}

function gpuItems() {
  return gpus.filter((g) => !q.gpus.includes(g.name)).map((g) => ({
    value: g.name,
    text: g.name,
    words: g.aliases.join(' '),
    note: [g.architecture, g.memory_gib && `${g.memory_gib} GiB`].filter(Boolean).join(' · ')
  }));
}

function zooItems() { return zoo.map((n) => ({value: n.name, text: n.name, note: n.summary})); }

// ---- the question --------------------------------------------------------------------------------------------------

function change(patch, {keepsAnswer = false} = {}) {
  Object.assign(q, patch);
  history.replaceState(null, '', toHash(q));
  drawControls();
  if (!keepsAnswer) refresh();
}

function setModels(models, active = 0) {
  q.dims = {};
  layer = -1;
  change({models, active, seq: '', past: '', shape: ''});
}

function addModels(list) {
  const models =
    [...q.models.filter((m) => !list.some((n) => n.path === m.path)), ...list.map((m) => ({path: m.path}))];
  setModels(models, Math.max(models.length - list.length, 0));
}

async function takeFiles(files) {
  const models = modelsOf(files);
  if (!models.length) return;
  for (const m of models) {
    forget(m.path);
    try {
      for (const [path, file] of m.files) await client.mount(`/models/${path}`, file);
      known.add(m.path);
    } catch (error) { failures.set(m.path, `${m.path}: ${error.message}`); }
  }
  if (q.models.length && q.models.every((m) => m.path.startsWith('zoo:')) &&
    !models.some((m) => q.models.some((n) => n.path === m.path)))
    q.models = [];
  addModels(models);
}

// Deletes a file from the engine, with everything known about it.
function forget(path) {
  if (known.delete(path)) client.remove(`/models/${path.replace(/^\.\//, '')}`).catch(() => {});
  failures.delete(path);
  languageModels.delete(path);
  unbound.clear();
  inspected.clear();
}

function drawModels() {
  $('models').innerHTML =
    q.models
      .map((m, i) => `<li class="chip${i === q.active ? ' first' : ''}${
             failures.has(m.path) ?
               ' failed' :
               ''}"><button type="button" data-model="${i}" aria-pressed="${i === q.active}" title="${
             escape(m.path)}">${escape(labelOf(m.path))}</button><button type="button" data-drop-model="${
             i}" aria-label="Remove ${escape(labelOf(m.path))}">×</button></li>${
             failures.has(m.path) ? `<li class="error why">${escape(messageOf(failures.get(m.path)))}</li>` : ''}`)
      .join('') ||
    '<li class="faint">none yet</li>';
  q.models.forEach((m) => {
    m.label = labelOf(m.path);
  });
}

function options(select, list, value) {
  const html = list.map(([v, text]) => `<option value="${escape(v)}">${escape(text)}</option>`).join('');
  if (select.dataset.html !== html) {
    select.innerHTML = html;
    select.dataset.html = html;
  }
  select.value = value;
}

function drawControls() {
  drawModels();
  $('gpu-chips').innerHTML =
    q.gpus
      .map((name, i) => `<li class="chip${i ? '' : ' first'}"><button type="button" data-gpu="${i}" title="${
             i ? 'Show this GPU’s details' :
                 'Its details are shown'}" aria-pressed="${!i}">${escape(name.replace(/^\.\//, ''))}</button>${
             q.gpus.length > 1 ?
               `<button type="button" data-drop-gpu="${i}" aria-label="Remove ${escape(name)}">×</button>` :
               ''}</li>`)
      .join('');
  for (const [key, list] of Object.entries(CHOICES)) options($(key), list, q[key]);
  const slices = gpuOf(q.gpus[0])?.slices ?? [];
  $('mig-field').hidden = !slices.length && !q.mig;
  options($('mig'),
    [
      ['', 'whole GPU'], ...slices.map((s) => [s.profile, `${s.profile} · ${s.sms} SMs`]),
      ...(q.mig && !slices.some((s) => s.profile === q.mig) ? [[q.mig, q.mig]] : [])
    ],
    q.mig);
  const known = hosts.includes(q.host) || q.host === 'measured' || !q.host ? [] : [[q.host, q.host]];
  options($('host'), [['', 'reference'], ['measured', 'as measured'], ...hosts.map((h) => [h, h]), ...known], q.host);
  $('optimizer-field').hidden = !q.mode.startsWith('train') && q.tab !== 'training';
  if (!q.models.length)
    for (const name of ['seq', 'past', 'cache']) $(`${name}-field`).hidden = !q[name];
  $('largest').disabled = !q.models.length;
  const extra = MORE.filter((key) => q[key]).length;
  $('more-count').textContent = extra ? `${extra} set` : '';
  $('power').placeholder = answer?.power_limit_w ? `${answer.power_limit_w}` : 'the board’s';
  for (const key of ['batch', 'seq', 'past', 'slo', 'stack', 'power', 'co2', 'shape'])
    if ($(key) !== document.activeElement || !q[key]) $(key).value = q[key];
  $('batch').placeholder = answer?.batch ?? '1';
  $('question-short').textContent = q.models.length ?
    `${labelOf(model().path)} · ${q.gpus[0]}${q.gpus.length > 1 ? ` +${q.gpus.length - 1}` : ''}${
      q.batch ? ` · batch ${q.batch}` : ''}` :
                '';
  drawParameters();
}

// Parameters of a network of the zoo: those of its family, with what its name says as defaults.
function drawParameters() {
  const box = $('zoo-parameters');
  const path = model()?.path ?? '';
  const [name, rest] = path.replace(/^zoo:/, '').split('?');
  const network = path.startsWith('zoo:') && zoo.find((n) => n.name === name.split('/')[0]);
  const [familyName, defined] = (network?.definition ?? name).split('?');
  const family = network && (network.parameters.length ? network : zoo.find((n) => n.name === familyName));
  box.hidden = !family?.parameters?.length;
  if (box.hidden) return;
  const given = Object.fromEntries(new URLSearchParams(rest ?? ''));
  const byName = Object.fromEntries(new URLSearchParams(defined ?? ''));
  const html = `<details${rest ? ' open' : ''}><summary class="label" style="display:list-item">Parameters of ${
    escape(familyName)}</summary><div class="dims">${
    family.parameters
      .map(
        (p) =>
          `<label title="${escape(p.summary)}"><span class="label">${escape(p.name)}</span><input data-zoo-parameter="${
            escape(p.name)}" value="${escape(given[p.name] ?? '')}" placeholder="${
            escape(byName[p.name] ?? p.default)}"${p.most ? ' inputmode="decimal"' : ''}></label>`)
      .join('')}</div></details>`;
  if (box.dataset.html === html) return;
  const isOpen = box.querySelector('details')?.open;
  box.innerHTML = html;
  box.dataset.html = html;
  if (isOpen) box.querySelector('details').open = true;
}

// Dimensions that the file leaves open, besides the batch.
const unbound = new Map();
async function drawDims() {
  const path = model().path;
  if (!unbound.has(path))
    unbound.set(path,
      client.ask(['inspect', path, '--format', 'json', '--top', '1'])
        .then((a) => (a.text ? JSON.parse(a.text) : null)));
  const info = await unbound.get(path);
  if (path !== model()?.path) return;
  const named = (info?.dimensions ?? []).flatMap((name) => name.split('+').map((part) => part.trim()));
  if (named.includes('seq') && named.includes('past')) languageModels.add(path);
  const symbols = new Set(named.filter((name) => name === 'seq' || name === 'past'));
  (info?.inputs ?? []).forEach((input, i) => (input.shape ?? []).forEach((d, k) => {
    if (typeof d !== 'string') return;
    for (const name of d.match(/[A-Za-z_][\w.]*/g) ?? []) symbols.add(name);
    if (i === 0 && k === 0) symbols.delete(d);
  }));
  const batch = info?.inputs?.[0]?.shape?.[0];
  symbols.delete(batch);
  $('seq-field').hidden = !symbols.has('seq') && !q.seq;
  $('past-field').hidden = !symbols.has('past') && !q.past;
  $('cache-field').hidden = !symbols.has('past') && !q.cache;
  if (answer && languageModels.has(path) !== Boolean($('tab-contexts'))) drawTabs();
  const names = [...symbols].filter((s) => !['seq', 'past', 'floor', 'ceil', 'min', 'max'].includes(s));
  const box = $('dims');
  box.hidden = !names.length;
  const html = `<span class="label">Open dimensions</span>${
    names
      .map((n) => `<label><span class="label">${escape(n)}</span><input type="number" min="1" data-dim="${
             escape(n)}" value="${escape(q.dims[n] ?? '')}" placeholder="open"></label>`)
      .join('')}`;
  if (box.dataset.html !== html && !box.contains(document.activeElement)) {
    box.innerHTML = html;
    box.dataset.html = html;
  }
}

// ---- the answer ----------------------------------------------------------------------------------------------------

// Without an answer, keeps the invitation to drop a model.
function problem(text) {
  $('problem').hidden = !text;
  $('empty').hidden = q.models.length > 0 && !text;
  $('problem').textContent = messageOf(text ?? '');
  const advice =
    / give ((?:--(?:seq|past) \d+|--dim [^ =]+=\d+|--shape \S+)(?:,? (?:and )?--\w+ \S+)*)/.exec(text ?? '');
  $('advice').hidden = !advice;
  $('advice').textContent = advice ? `Use ${advice[1]}` : '';
}

// Sets the dimensions that a message of the program proposes.
function takeAdvice() {
  const patch = {dims: {...q.dims}};
  for (const [, option, value] of $('advice').textContent.matchAll(/--(\w+) ([^ ,]+(?:,\d+)*)/g))
    if (option === 'dim')
      patch.dims[value.split('=')[0]] = value.split('=')[1];
    else
      patch[option] = value;
  change(patch);
}

async function refresh() {
  const own = ++turn;
  if (!q.models.length) {
    $('report').hidden = true;
    problem('');
    answer = null;
    document.title = 'Sooth';
    return;
  }
  const {path} = model();
  if (!path.startsWith('zoo:') && !known.has(path)) {
    $('report').hidden = true;
    answer = null;
    document.title = 'Sooth';
    problem(failures.get(path) ??
      `This link asks about the file “${path}”. Files stay with those who have them: open or drop it here.`);
    return;
  }
  $('view').classList.add('old');
  const begin = performance.now();
  let result;
  try {
    result = await client.ask([...predictArguments(q, model()), '--kernels', '--memory', '--format', 'json'], 'main');
  } catch (error) {
    if (error instanceof Stale) return;
    result = {error: String(error.message), code: 5};
  }
  if (own !== turn) return;
  if (!result.text) {
    failures.set(path, result.error);
    answer = null;
    problem(result.error);
    $('report').hidden = true;
    drawModels();
    drawDims();
    document.documentElement.dataset.turn = own;
    return;
  }
  failures.delete(path);
  problem('');
  answer = JSON.parse(result.text);
  if (layer >= answer.layers.length) layer = -1;
  $('report').hidden = false;
  drawControls();
  drawSummary();
  drawTabs();
  context = makeContext(result.text);
  showView();
  performance.measure('answer', {start: begin});
  document.documentElement.dataset.turn = own;
  document.documentElement.dataset.ms = Math.round(performance.now() - begin);
  drawDims();
}

function drawSummary() {
  const a = answer;
  const name = labelOf(model().path).split('/').pop();
  $('title').textContent = name;
  document.title = `${name} on ${a.gpu} · Sooth`;
  $('subtitle').textContent = subtitleOf(a);
  $('cards').innerHTML = cardsOf(a);
  const notes = notesOf(a);
  $('notes').hidden = !notes.length;
  $('notes').innerHTML = notes.map((n) => `<li>${escape(n)}</li>`).join('');
}

const isLanguageModel = () => languageModels.has(model()?.path);
const tabs = () => VIEWS.filter(([id]) => id !== 'contexts' || isLanguageModel() || q.tab === id);

function drawTabs() {
  if (!VIEWS.some(([id]) => id === q.tab)) q.tab = 'overview';
  $('tabs').innerHTML =
    tabs()
      .map(([id, title]) => `<button type="button" role="tab" id="tab-${id}" data-tab="${id}" aria-selected="${
             id === q.tab}" aria-controls="view" tabindex="${id === q.tab ? 0 : -1}">${title}</button>`)
      .join('');
  const [row, tab] = [$('tabs'), $(`tab-${q.tab}`)];
  row.scrollLeft = tab.offsetLeft + tab.offsetWidth / 2 - row.clientWidth / 2;
  $('view').setAttribute('aria-labelledby', `tab-${q.tab}`);
}

// ---- views ---------------------------------------------------------------------------------------------------------

const inspected = new Map();

function makeContext(text) {
  const base = commandFileName();
  const c = {
    question: q,
    answer,
    model: model(),
    layer,
    gpuOf,
    lists,
    fail: (m, error) => {
      failures.set(m.path, error);
      drawModels();
    },
    keepLink: () => history.replaceState(null, '', toHash(q)),
    exports: {},
    ask: (args, key) => client.ask(args, key),
    async askJson(args, key) {
      const result = await client.ask(args, key);
      return result.text ? {...JSON.parse(result.text), text: result.text} :
                           {error: messageOf(result.error)};
    },
    // The graph, with the dimensions of the answer.
    async inspect() {
      const args = [
        'inspect', q.models[q.active].path, ...dimensionArguments(q, q.batch || String(answer.batch)), '--values',
        '--format', 'json'
      ];
      const key = args.join('\u0000');
      if (!inspected.has(key)) {
        if (inspected.size > 8) inspected.clear();
        let result = await client.ask(args, 'inspect');
        if (!result.text)
          result = await client.ask(
            ['inspect', q.models[q.active].path, ...dimensionArguments(q), '--values', '--format', 'json'], 'inspect');
        inspected.set(key, result.text ? JSON.parse(result.text) : {error: result.error});
      }
      return inspected.get(key);
    },
    observers: [],
    choosers: [],
    sizes: new Map(),
    onWidth(target, draw) {
      c.sizes.set(target, {draw, width: target.clientWidth});
      draw();
    },
    onChoose: (f) => c.choosers.push(f),
    choose(index, from) {
      layer = index;
      c.layer = index;
      c.choosers.forEach((f) => f(index, from));
    },
    onSlo: (target, redraw) => dragSlo(target, redraw),
    refresh: () => showView(),
    savePicture: (name, kind, svg) => savePicture(`${base}-${name}`, kind, svg),
  };
  c.exports.json = () => [`${base}.json`, text];
  c.exports.csv = async () => [`${base}.csv`,
    (await client.ask([...predictArguments(q, model()), '--layers', '--format', 'csv'])).text];
  c.exports.html = async () => [`${base}.html`,
    (await client.ask([...predictArguments(q, model()), '--kernels', '--format', 'html'])).text];
  c.exports.trace =
    async () => [`${base}-trace.json`, (await client.ask([...predictArguments(q, model()), '--format', 'trace'])).text];
  return c;
}

const commandFileName = () =>
  `${labelOf(model().path).split('/').pop().replace(/[^\w.-]+/g, '_')}-${answer.gpu}-${answer.batch}`;

async function showView() {
  if (!answer) return;
  const own = turn;
  const [id, , show] = VIEWS.find(([name]) => name === q.tab);
  const element = $('view');
  const c = makeContext(context ? await context.exports.json()[1] : '');
  if (context) c.exports = {...context.exports};
  context = c;
  const fresh = document.createElement('div');
  const isWaiting = ['compare', 'training', 'mig', 'survey'].includes(id);
  if (isWaiting && element.dataset.drawn !== id) element.innerHTML = '<p class="wait">…</p>';
  if (!isWaiting)
    element.replaceChildren(fresh);
  else {
    fresh.hidden = true;
    fresh.style.display = 'none';
  }
  const begin = performance.now();
  try {
    if (isWaiting) {
      // Draws off screen at the final width, so that the old answer stays until the new one is ready.
      fresh.style.cssText = `position:absolute;left:-99999px;width:${element.clientWidth}px`;
      fresh.hidden = false;
      element.append(fresh);
      await show(fresh, c);
      if (own !== turn || context !== c) {
        fresh.remove();
        return;
      }
      fresh.style.cssText = '';
      element.replaceChildren(fresh);
    } else
      await show(fresh, c);
  } catch (error) {
    if (error instanceof Stale) {
      fresh.remove();
      return;
    }
    throw error;
  }
  $('command').textContent = (c.commands ?? [c.command ?? predictArguments(q, model())]).map(commandLine).join(' && ');
  element.dataset.drawn = id;
  element.classList.remove('old');
  document.documentElement.dataset.shown = `${id} ${own}`;
  document.documentElement.dataset.shownMs = Math.round(performance.now() - begin);
}

new ResizeObserver(() => {
  for (const [target, size] of context?.sizes ?? [])
    if (target.isConnected && target.clientWidth !== size.width) {
      size.width = target.clientWidth;
      size.draw();
    }
}).observe($('view'));

function setSlo(value, redraw) {
  q.slo = value ? String(Number(Number(value).toPrecision(3))) : '';
  $('slo').value = q.slo;
  history.replaceState(null, '', toHash(q));
  redraw();
}

// Moves the line of the latency target by pointer or keys.
function dragSlo(target, redraw) {
  const at = (e, svg) => {
    const box = svg.getBoundingClientRect();
    const y = (e.clientY - box.top) * (svg.viewBox.baseVal.height / box.height);
    const {sloTop, sloBottom, sloLow, sloHigh} = svg.dataset;
    const share = (Number(sloBottom) - y) / (Number(sloBottom) - Number(sloTop));
    return share > 1.01 ? 0 : Number(sloLow) * (Number(sloHigh) / Number(sloLow)) ** Math.max(0, share);
  };
  target.addEventListener('pointerdown', (e) => {
    if (!e.target.closest('.slo')) return;
    e.preventDefault();
    const move = (n) => setSlo(at(n, target.querySelector('svg')), redraw);
    const end = () => {
      removeEventListener('pointermove', move);
      removeEventListener('pointerup', end);
    };
    addEventListener('pointermove', move);
    addEventListener('pointerup', end);
  });
  target.addEventListener('keydown', (e) => {
    const factor = {ArrowUp: 1.05, ArrowDown: 1 / 1.05, PageUp: 1.5, PageDown: 1 / 1.5}[e.key];
    if (!factor && e.key !== 'Delete') return;
    e.preventDefault();
    const svg = target.querySelector('svg');
    setSlo(
      e.key === 'Delete' ? 0 : (Number(q.slo) || Math.sqrt(svg.dataset.sloLow * svg.dataset.sloHigh)) * factor, redraw);
    target.querySelector('.slo').focus();
  });
}

// ---- what people do ------------------------------------------------------------------------------------------------

async function exportAs(name) {
  const make = context?.exports[name];
  if (!make) return;
  const [file, text] = await make();
  const type = {json: 'application/json', csv: 'text/csv', html: 'text/html'}[file.split('.').pop()];
  save(file, text, type);
}

async function copy(text, button) {
  try {
    await navigator.clipboard.writeText(text);
    const old = button.textContent;
    button.textContent = 'Copied';
    await sleep(1200);
    button.textContent = old;
  } catch { prompt('Copy:', text); }
}

// Hands the GPU files of the link to the engine. The worker answers in order, so they arrive before the first question.
function takeOwnGpus() {
  for (const [path, text] of Object.entries(q.own)) writeOwn(path, text).catch(() => {});
}

function connect() {
  $('choose-file').addEventListener('click', () => $('file').click());
  $('choose-folder').addEventListener('click', () => $('folder').click());
  for (const id of ['file', 'folder'])
    $(id).addEventListener('change', (e) => {
      takeFiles(filesOfInput(e.target));
      e.target.value = '';
    });
  let depth = 0;
  addEventListener('dragenter', (e) => {
    e.preventDefault();
    depth++;
    $('drop').hidden = false;
  });
  addEventListener('dragleave', () => {
    depth = Math.max(0, depth - 1);
    $('drop').hidden = depth === 0;
  });
  addEventListener('dragover', (e) => e.preventDefault());
  addEventListener('drop', async (e) => {
    e.preventDefault();
    depth = 0;
    $('drop').hidden = true;
    takeFiles(await filesOfDrop(e.dataTransfer));
  });
  combo($('zoo'), $('zoo-list'), zooItems, (name) => addModels([{path: `zoo:${name}`}]));
  combo($('gpu'), $('gpu-list'), gpuItems, (name) => change({gpus: [...q.gpus, name]}));
  $('controls').addEventListener('submit', (e) => e.preventDefault());
  const take = ({target}) => {
    if (target.dataset.dim)
      change({dims: {...q.dims, [target.dataset.dim]: target.value}});
    else if (target.dataset.zooParameter)
      changeParameter(target.dataset.zooParameter, target.value.trim());
    else if (target.name && q[target.name] !== target.value)
      change({[target.name]: target.value});
  };
  $('controls').addEventListener('change', take);
  // Numbers take effect while they are typed.
  let typed;
  $('controls').addEventListener('input', (e) => {
    clearTimeout(typed);
    if (e.target.type === 'number' && e.target.value && e.target.validity.valid)
      typed = setTimeout(() => take(e), TYPING_MS);
  });
  $('controls').addEventListener('click', (e) => {
    const data = e.target.closest('button')?.dataset ?? {};
    if (data.model)
      change({active: Number(data.model), dims: {}, seq: '', past: '', shape: ''});
    else if (data.dropModel) {
      const models = q.models.filter((_, i) => i !== Number(data.dropModel));
      forget(q.models[data.dropModel].path);
      setModels(models, Math.min(q.active, Math.max(models.length - 1, 0)));
    } else if (data.gpu)
      change({gpus: [q.gpus[data.gpu], ...q.gpus.filter((_, i) => i !== Number(data.gpu))], mig: ''});
    else if (data.dropGpu)
      change({gpus: q.gpus.filter((_, i) => i !== Number(data.dropGpu))});
    else if (data.step)
      change({batch: String(Math.max(1, Math.round((Number(q.batch) || answer?.batch || 1) * Number(data.step))))});
  });
  $('tabs').addEventListener('click', (e) => e.target.dataset.tab && openTab(e.target.dataset.tab));
  $('tabs').addEventListener('keydown', (e) => {
    const step = {ArrowRight: 1, ArrowLeft: -1}[e.key];
    if (!step) return;
    const shown = tabs();
    const at = shown.findIndex(([id]) => id === q.tab);
    openTab(shown[(at + step + shown.length) % shown.length][0]);
    $(`tab-${q.tab}`).focus();
  });
  $('answer').addEventListener('click', (e) => {
    const target = e.target.closest(
      '[data-export],[data-view],[data-save],[data-pick],[data-do],[data-zoo],tr[data-layer],.roofline [data-layer],.timeline [data-layer]');
    if (!target) return;
    const {data = target.dataset} = {};
    if (data.export)
      exportAs(data.export);
    else if (data.do === 'open')
      $('file').click();
    else if (data.zoo)
      setModels([{path: `zoo:${data.zoo}`}]);
    else if (data.save)
      saveChart(target);
    else if (data.pick) {
      const [index, gpu, batch] = data.pick.split(' ');
      const name = q.gpus.find((g) => g === gpu || (q.own[g] && ownName(q.own[g]) === gpu)) ?? gpu;
      const active = Number(index);
      change({active, gpus: [name, ...q.gpus.filter((g) => g !== name)], batch});
    } else if (data.layer && Number(data.layer) >= 0) {
      if (q.tab === 'overview') {
        layer = Number(data.layer);
        openTab('layers');
      } else
        context.choose(Number(data.layer), target.tagName === 'TR' ? 'table' : 'picture');
    } else if (data.view)
      openTab(data.view);
  });
  // Marks the layer under the pointer in the table, the graph and the roofline.
  $('answer').addEventListener('pointerover', (e) => {
    const at = e.target.closest('#view [data-layer]')?.dataset.layer;
    if (at === hovered) return;
    hovered = at;
    document.querySelectorAll('#view .hover').forEach((n) => n.classList.remove('hover'));
    if (at >= 0) document.querySelectorAll(`#view [data-layer="${at}"]`).forEach((n) => n.classList.add('hover'));
  });
  $('largest').addEventListener('click', useLargestBatch);
  $('advice').addEventListener('click', takeAdvice);
  $('copy-link').addEventListener('click', (e) => copy(location.href, e.target));
  $('copy-command').addEventListener('click', (e) => copy($('command').textContent, e.target));
  $('theme').addEventListener('click', () => {
    const isDark = getComputedStyle(document.documentElement).colorScheme === 'dark' ||
      (!document.documentElement.dataset.theme && matchMedia('(prefers-color-scheme: dark)').matches);
    setTheme(isDark ? 'light' : 'dark');
  });
  $('own-gpu').addEventListener('click', () => {
    $('own-error').textContent = '';
    $('own').showModal();
  });
  $('own-add').addEventListener('click', addOwnGpu);
  addEventListener('hashchange', () => {
    const next = fromHash(location.hash);
    if (toHash(next) === toHash(q)) return;
    q = next;
    layer = -1;
    takeOwnGpus();
    drawControls();
    refresh();
  });
  showTips($('tip'));
  if (matchMedia('(max-width: 900px)').matches) $('question').open = false;
}

function changeParameter(name, value) {
  const {path} = model();
  const [base, rest] = path.split('?');
  const given = new URLSearchParams(rest ?? '');
  if (value)
    given.set(name, value);
  else
    given.delete(name);
  const text = [...given].map(([k, v]) => `${k}=${v}`).join('&');
  const models = q.models.map((m, i) => (i === q.active ? {path: text ? `${base}?${text}` : base} : m));
  layer = -1;
  change({models});
}

// The largest batch whose memory fits, by the upper end of the interval.
async function useLargestBatch() {
  const result = await client.ask([...predictArguments(q, model(), {batch: ''}), '--largest-batch', '--format', 'csv']);
  const batch = result.text && parseCsv(result.text)[0]?.batch;
  if (batch)
    change({batch});
  else
    problem(result.error || 'no batch fits');
}

function openTab(id) {
  q.tab = id;
  history.replaceState(null, '', toHash(q));
  drawControls();
  drawTabs();
  showView();
}

function saveChart(button) {
  const panel = button.closest('.panel');
  const svg = panel.querySelector('svg.chart');
  if (!svg) return;
  savePicture(`${commandFileName()}-${panel.id}`, button.dataset.save, svg);
}

function savePicture(name, kind, svg) {
  if (kind === 'png')
    savePng(`${name}.png`, svg);
  else
    save(`${name}.svg`, svgText(svg), 'image/svg+xml');
}

const writeOwn = (path, text) => client.write(`/models/${path.slice(2)}`, text);

async function addOwnGpu() {
  const text = $('own-text').value;
  const path = ownPath(text);
  await writeOwn(path, text);
  const result = await client.ask(['gpus', path, '--format', 'json']);
  if (!result.text) {
    $('own-error').textContent = messageOf(result.error);
    return;
  }
  $('own').close();
  change({own: {...q.own, [path]: text}, gpus: [path, ...q.gpus.filter((g) => g !== path)]});
}

function setTheme(theme) {
  document.documentElement.dataset.theme = theme;
  try {
    localStorage.setItem('theme', theme);
  } catch { /* private windows keep nothing */
  }
}

try {
  const theme = localStorage.getItem('theme');
  if (theme) document.documentElement.dataset.theme = theme;
} catch { /* private windows keep nothing */
}
connect();
takeOwnGpus();
drawControls();
refresh();
lists = loadLists();
if ('serviceWorker' in navigator && isSecureContext) navigator.serviceWorker.register('sw.js').catch(() => {});

// For the console and the tests.
globalThis.sooth = {
  client,
  get question() { return q; },
  get answer() { return answer; }
};
