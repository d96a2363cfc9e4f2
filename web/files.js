// files.js: turns dropped or chosen files into models: [{path, files: [[path, File]]}]. Paths are the engine's.

// Weights in separate files, which the program does not read.
const BESIDE =
  /\.(bin|params|pdiparams|pdparams|weights|caffemodel|data|npy|npz|ckpt|msgpack|md|txt|py|png|jpg)$|\.data-\d+-of-\d+$|\.index$|^\./i;
// Files that make a directory one model.
const NAMES = [
  'saved_model.pb', 'saved_model.pbtxt', 'Data/com.apple.CoreML/model.mlmodel', 'config.json', 'model.safetensors',
  'model.safetensors.index.json', 'model.onnx', 'model.json', '__model__', 'inference.pdmodel', 'inference.json',
  'openvino_model.xml'
];

async function readEntry(entry, prefix, out) {
  if (entry.isFile) {
    out.push([prefix + entry.name, await new Promise((resolve, reject) => entry.file(resolve, reject))]);
    return;
  }
  const reader = entry.createReader();
  for (;;) {
    const some = await new Promise((resolve, reject) => reader.readEntries(resolve, reject));
    if (!some.length) return;
    for (const inner of some) await readEntry(inner, `${prefix}${entry.name}/`, out);
  }
}

export async function filesOfDrop(transfer) {
  const files = [...transfer.files];  // read now, because the browser clears the list after the first await
  const entries = [...transfer.items].map((item) => item.webkitGetAsEntry?.()).filter(Boolean);
  const out = [];
  for (const entry of entries) await readEntry(entry, '', out);
  return out.length ? out : files.map((f) => [f.name, f]);
}

export const filesOfInput = (input) => [...input.files].map((f) => [f.webkitRelativePath || f.name, f]);

// A path that the program does not take for an option.
const argumentOf = (path) => (path.startsWith('-') ? `./${path}` : path);

export function modelsOf(files) {
  const folders = new Map();
  const single = [];
  for (const [path, file] of files) {
    const slash = path.indexOf('/');
    if (slash < 0)
      single.push([path, file]);
    else {
      const folder = path.slice(0, slash);
      if (!folders.has(folder)) folders.set(folder, []);
      folders.get(folder).push([path, file]);
    }
  }
  const models = [];
  for (const [folder, inside] of folders) {
    const names = new Set(inside.map(([path]) => path.slice(folder.length + 1).replace(/\.gz$/, '')));
    if (NAMES.some((name) => names.has(name)))
      models.push({path: argumentOf(folder), files: inside});
    else
      for (const one of inside)
        if (!BESIDE.test(one[0])) models.push({path: argumentOf(one[0]), files: [one]});
  }
  const graphs = single.filter(([path]) => !BESIDE.test(path));
  for (const one of graphs.length ? graphs : single) models.push({path: argumentOf(one[0]), files: [one]});
  return models;
}
