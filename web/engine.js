// engine.js: runs the program in this thread. ask() runs one command line and returns its answer and errors.
import create from './sooth.js';

const ANSWER = '/answer';

export async function openEngine(overrides = {}) {
  let lines = [];
  const module = await create({
    locateFile: (name) => new URL(name, import.meta.url).href,
    print: (line) => lines.push(line),
    printErr: (line) => lines.push(line),
    ...overrides,
  });
  const {FS} = module;
  FS.ignorePermissions = true;  // umask() does nothing in a browser
  FS.mkdir('/models');
  FS.mkdir('/gpus');
  FS.chdir('/models');
  const encoder = new TextEncoder();
  const decoder = new TextDecoder();

  function putText(text) {
    const bytes = encoder.encode(text);
    const at = module._malloc(bytes.length + 1) >>> 0;  // addresses above 2 GB come as negative numbers
    module.HEAPU8.set(bytes, at);
    module.HEAPU8[at + bytes.length] = 0;
    return at;
  }

  // Runs `args` (["predict", "zoo:resnet50", …]); the answer is what the command writes to -o. Memory that runs out
  // leaves the module unusable: `isLost` says so.
  function ask(args) {
    lines = [];
    const all = [...args, '-o', ANSWER];
    if (FS.analyzePath(ANSWER).exists) FS.unlink(ANSWER);
    const texts = all.map(putText);
    const argv = module._malloc(4 * (texts.length + 1)) >>> 0;
    texts.forEach((at, i) => {
      module.HEAPU32[(argv >>> 2) + i] = at;
    });
    module.HEAPU32[(argv >>> 2) + texts.length] = 0;
    let code;
    try {
      code = module._sooth_run(texts.length, argv);
    } catch (problem) {
      return {
        code: 5,
        error: `sooth: the page ran out of memory or failed: ${problem.message || problem}`,
        isLost: true
      };
    }
    texts.forEach((at) => module._free(at));
    module._free(argv);
    const text = FS.analyzePath(ANSWER).exists ? decoder.decode(FS.readFile(ANSWER)) : '';
    return {code, text, error: lines.join('\n')};
  }

  return {ask, FS, module};
}
