// worker.js: the engine in a worker of its own, and the files that the page hands to it.
import {openEngine} from './engine.js';
import {viewOf} from './sparse.js';

const PIECE = 16 << 20;
const MOST_BYTES = 2 ** 32 - 2 ** 28;  // largest file with 32-bit addresses

function readSlice(file, from, to) {
  return new Uint8Array(new FileReaderSync().readAsArrayBuffer(file.slice(from, to)));
}

const opening = openEngine();
let asked = 0;              // number of the newest question
const fetched = new Set();  // nodes of the files in memory

// Gives `path` what the program sees of `file`: it is looked at when the program asks for its size, fetched when the
// program maps it, and stays until it is removed.
function mount({FS, module}, path, file) {
  const folder = path.slice(0, path.lastIndexOf('/'));
  FS.mkdirTree(folder);
  unmount({FS, module}, path);
  FS.writeFile(path, '');
  const {node} = FS.lookupPath(path);
  const attributes = node.node_ops.getattr;
  const view = () => (node.view ??= viewOf(file, readSlice));
  node.place = 0;
  node.node_ops = {...node.node_ops, getattr: (n) => ({...attributes(n), size: view().size})};
  node.stream_ops = {
    ...node.stream_ops,
    mmap: () => {
      node.asked = asked;
      if (!node.place) node.place = fetchView(FS, module, file, view());
      fetched.add(node);
      return {ptr: node.place, allocated: false};
    },
  };
}

function fetchView(FS, module, file, {size, pieces}) {
  if (size >= MOST_BYTES) throw new FS.ErrnoError(22);  // EFBIG
  let place = module._malloc(size) >>> 0;
  for (const old of fetched) {
    if (place) break;
    if (old.asked === asked) continue;
    drop(module, old);
    place = module._malloc(size) >>> 0;
  }
  if (!place) throw new FS.ErrnoError(48);  // ENOMEM
  for (const {at, bytes, from, to} of pieces)
    if (bytes)
      module.HEAPU8.set(bytes, place + at);
    else
      for (let offset = from; offset < to; offset += PIECE)
        module.HEAPU8.set(readSlice(file, offset, Math.min(to, offset + PIECE)), place + at + offset - from);
  return place;
}

// Frees the memory of a file. The next question about it reads it again.
function drop(module, node) {
  if (node.place) module._free(node.place);
  node.place = 0;
  fetched.delete(node);
}

// Removes a file, or a directory with its contents.
function unmount({FS, module}, path) {
  if (!FS.analyzePath(path).exists) return;
  const {node} = FS.lookupPath(path);
  if (FS.isDir(node.mode)) {
    for (const name of FS.readdir(path))
      if (name !== '.' && name !== '..') unmount({FS, module}, `${path}/${name}`);
    FS.rmdir(path);
    return;
  }
  drop(module, node);
  FS.unlink(path);
}

const TASKS = {
  ask: (engine, {args}) => {
    asked++;
    return engine.ask(args);
  },
  mount: (engine, {path, file}) => mount(engine, path, file),
  remove: (engine, {path}) => unmount(engine, path),
  write: (engine, {path, text}) => engine.FS.writeFile(path, text),
};

self.onmessage = async ({data}) => {
  const begin = performance.now();
  try {
    const engine = await opening;
    const answer = TASKS[data.task](engine, data);
    self.postMessage({id: data.id, answer, ms: performance.now() - begin});
  } catch (problem) { self.postMessage({id: data.id, problem: String(problem.message || problem)}); }
};
