// sparse.js: which bytes of a large model file are read. Payloads of weights, which the program never looks at, stay on
// the disk. The program sees a file without them where the format allows it, so that its 32-bit addresses suffice for
// any size: GGUF and safetensors end with their header, and an archive has empty entries. Of other formats, payloads
// keep their addresses but are not read. What is not known to be a payload is read.

const WHOLE_BYTES = 32 << 20;    // smaller files are read whole
const PAYLOAD_BYTES = 64 << 10;  // smaller tensors are read: shapes and indices are among them
const WINDOW = 64 << 10;

// Random access to a file, by windows.
class Reader {
  constructor(file, readSlice) {
    this.file = file;
    this.size = file.size;
    this.readSlice = readSlice;
    this.from = 0;
    this.window = new Uint8Array(0);
  }

  bytes(at, count) {
    if (at + count > this.size) throw new RangeError('cut off');
    if (at < this.from || at + count > this.from + this.window.length) {
      this.from = at;
      this.window = this.readSlice(this.file, at, Math.min(this.size, at + Math.max(count, WINDOW)));
    }
    return this.window.subarray(at - this.from, at - this.from + count);
  }

  // Little-endian.
  number(at, count) {
    const b = this.bytes(at, count);
    let value = 0;
    for (let i = count - 1; i >= 0; i--) value = value * 256 + b[i];
    return value;
  }

  text(at, count) { return String.fromCharCode(...this.bytes(at, count)); }
}

// ---- protobuf: ONNX, TensorFlow, CoreML ----------------------------------------------------------------------------

function varint(reader, at) {
  let value = 0;
  for (let i = 0; i < 10; i++) {
    const byte = reader.number(at + i, 1);
    value += (byte & 127) * 2 ** (7 * i);
    if (byte < 128) return [value, at + i + 1];
  }
  throw new RangeError('no varint');
}

// Fields of a message that contain another message or a payload.
const TENSOR = {
  4: 'payload',
  5: 'payload',
  7: 'payload',
  9: 'payload',
  10: 'payload',
  11: 'payload'
};
const GRAPH = {
  5: TENSOR
};
const ATTRIBUTE = {
  5: TENSOR,
  6: GRAPH,
  10: TENSOR,
  11: GRAPH
};
GRAPH[1] = {
  5: ATTRIBUTE
};
const TF_TENSOR = {
  4: 'payload',
  5: 'payload',
  6: 'payload',
  7: 'payload',
  10: 'payload',
  13: 'payload'
};
const TF_NODE = {
  5: {2: {8: TF_TENSOR}}
};
const TF_GRAPH = {
  1: TF_NODE,
  2: {1: {3: TF_NODE}}
};
const COREML_WEIGHTS = {
  1: 'payload',
  2: 'payload',
  30: 'payload',
  31: 'payload'
};
const COREML_NETWORK = {
  1: {other: {other: COREML_WEIGHTS}}
};
// ONNX, a SavedModel and CoreML begin with the same byte, and their fields differ.
const MODEL = {
  7: GRAPH,
  2: {2: TF_GRAPH},
  303: COREML_NETWORK,
  403: COREML_NETWORK,
  500: COREML_NETWORK
};

function skipMessage(reader, at, end, fields, skipped) {
  while (at < end) {
    let tag;
    [tag, at] = varint(reader, at);
    const kind = tag % 8;
    if (kind === 0)
      [, at] = varint(reader, at);
    else if (kind === 1)
      at += 8;
    else if (kind === 5)
      at += 4;
    else if (kind === 2) {
      let length;
      [length, at] = varint(reader, at);
      if (length > end - at) throw new RangeError('cut off');
      const inside = fields[Math.floor(tag / 8)] ?? fields.other;
      if (inside === 'payload' && length > PAYLOAD_BYTES)
        skipped.push([at, at + length]);
      else if (inside && inside !== 'payload' && length > PAYLOAD_BYTES)
        skipMessage(reader, at, at + length, inside, skipped);
      at += length;
    } else
      throw new RangeError('no protobuf');
  }
}

function messageView(reader, fields) {
  const skipped = [];
  skipMessage(reader, 0, reader.size, fields, skipped);
  return viewWithout(reader, skipped);
}

// All bytes except the skipped ranges, at unchanged addresses.
function viewWithout(reader, skipped) {
  const pieces = [];
  let at = 0;
  for (const [from, to] of skipped.sort((x, y) => x[0] - y[0])) {
    if (from > at) pieces.push({at, from: at, to: from});
    at = Math.max(at, to);
  }
  if (at < reader.size) pieces.push({at, from: at, to: reader.size});
  return {size: reader.size, pieces};
}

// ---- FlatBuffers: TFLite -------------------------------------------------------------------------------------------

// Address of a field of a table; 0 if it is absent.
function flatField(reader, table, number) {
  const back = reader.number(table, 4);
  const fields = table - (back < 2 ** 31 ? back : back - 2 ** 32);
  const offset = 4 + 2 * number < reader.number(fields, 2) ? reader.number(fields + 4 + 2 * number, 2) : 0;
  return offset && table + offset;
}

const flatInner = (reader, at) => at + reader.number(at, 4);

function tfliteView(reader) {
  const skipped = [];
  const field = flatField(reader, flatInner(reader, 0), 4);
  const buffers = field && flatInner(reader, field);
  for (let i = buffers ? reader.number(buffers, 4) : 0; i > 0; i--) {
    const buffer = flatInner(reader, buffers + 4 * i);
    const [data, offset, size] = [0, 1, 2].map((number) => flatField(reader, buffer, number));
    const at = data ? flatInner(reader, data) + 4 : offset && size ? reader.number(offset, 8) : 0;
    const bytes = data ? reader.number(at - 4, 4) : at && reader.number(size, 8);
    if (at + bytes > reader.size) throw new RangeError('cut off');
    if (bytes > PAYLOAD_BYTES) skipped.push([at, at + bytes]);
  }
  return viewWithout(reader, skipped);
}

// ---- HDF5: Keras
// -----------------------------------------------------------------------------------------------------

const H5_MOST_DEPTH = 64;

// [type, address, size] of each message of an object's header and its continuations.
function h5Messages(reader, header) {
  const isNew = reader.text(header, 4) === 'OHDR',
        headBytes = isNew && !(reader.number(header + 5, 1) & 4) ? 4 :
    isNew                                                        ? 6 :
                                                                   8;
  const blocks = [], found = [];
  if (isNew) {
    const flags = reader.number(header + 5, 1), width = 1 << (flags & 3);
    const at = header + 6 + (flags & 0x20 ? 16 : 0) + (flags & 0x10 ? 4 : 0);
    blocks.push([at + width, reader.number(at, width)]);
  } else
    blocks.push([header + 16, reader.number(header + 8, 4)]);
  for (let i = 0; i < blocks.length && i < 1000; i++) {
    let [at, size] = blocks[i];
    for (const end = at + size; at + headBytes <= end;) {
      const type = reader.number(at, isNew ? 1 : 2), bytes = reader.number(at + (isNew ? 1 : 2), 2),
            data = at + headBytes;
      if (type === 16) {
        const [from, length] = [reader.number(data, 8), reader.number(data + 8, 8)];
        blocks.push(isNew ? [from + 4, length - 8] : [from, length]);
      } else
        found.push([type, data, bytes]);
      at = data + bytes;
    }
  }
  return found;
}

// The header that a link of a newer group points to; 0 for links to other places.
function h5Link(reader, at) {
  const flags = reader.number(at + 1, 1);
  at += 2;
  if (flags & 8 && reader.number(at++, 1) !== 0) return 0;
  at += (flags & 4 ? 8 : 0) + (flags & 16 ? 1 : 0);
  const width = 1 << (flags & 3);
  return reader.number(at + width + reader.number(at, width), 8);
}

// Headers of the objects below a node of an older group's index.
function h5Entries(reader, node, depth) {
  if (depth > H5_MOST_DEPTH) throw new RangeError('too deep');
  const entries = Array.from({length: reader.number(node + 6, 2)}, (_, i) => i);
  if (reader.text(node, 4) === 'SNOD') return entries.map((i) => reader.number(node + 8 + 40 * i + 8, 8));
  if (reader.text(node, 4) !== 'TREE') throw new RangeError('no index');
  return entries.flatMap((i) => h5Entries(reader, reader.number(node + 32 + 16 * i, 8), depth + 1));
}

// Adds the data of contiguous data sets to `skipped`. Chunks are read.
function h5Object(reader, header, depth, skipped) {
  if (depth > H5_MOST_DEPTH) throw new RangeError('too deep');
  for (const [type, at] of h5Messages(reader, header)) {
    if (type === 17)
      for (const entry of h5Entries(reader, reader.number(at, 8), depth)) h5Object(reader, entry, depth + 1, skipped);
    const linked = type === 6 && h5Link(reader, at);
    if (linked) h5Object(reader, linked, depth + 1, skipped);
    if (type === 8 && reader.number(at, 1) >= 3 && reader.number(at + 1, 1) === 1) {
      const [from, bytes] = [reader.number(at + 2, 8), reader.number(at + 10, 8)];
      if (bytes > PAYLOAD_BYTES && from + bytes <= reader.size) skipped.push([from, from + bytes]);
    }
  }
}

function h5View(reader) {
  const skipped = [], version = reader.number(8, 1);
  const root = version === 0 ? 24 + 40 : version === 1 ? 28 + 40 : 12 + 24;
  if (reader.number(version < 2 ? 13 : 9, 1) !== 8) throw new RangeError('short addresses');
  h5Object(reader, reader.number(root, 8), 0, skipped);
  return viewWithout(reader, skipped);
}

// ---- ZIP: PyTorch, Keras -------------------------------------------------------------------------------------------

const TENSOR_NAME = /(^|\/)(data|weights|constants|tensors)\/[^/]+$|\.(h5|bin|npy|npz)$/;

const u16 = (x) => [x & 255, x >>> 8 & 255];
const u32 = (x) => [...u16(x & 0xffff), ...u16(x >>> 16)];

// The entries of the directory, which is at the end: {fields, name, method, bytes, packed, header}.
function zipEntries(reader) {
  const reach = Math.min(reader.size, 22 + 65535);
  const tail = reader.bytes(reader.size - reach, reach).slice();
  let end = tail.length - 22;
  while (end >= 0 && !(tail[end] === 0x50 && tail[end + 1] === 0x4b && tail[end + 2] === 5 && tail[end + 3] === 6))
    end--;
  if (end < 0) throw new RangeError('no directory');
  const at = reader.size - reach + end;
  let count = reader.number(at + 10, 2);
  let place = reader.number(at + 16, 4);
  if (at >= 20 && reader.number(at - 20, 4) === 0x07064b50) {
    const record = reader.number(at - 12, 8);
    count = reader.number(record + 32, 8);
    place = reader.number(record + 48, 8);
  }
  const entries = [];
  for (; count > 0; count--) {
    const [name, extra, comment] = [28, 30, 32].map((offset) => reader.number(place + offset, 2));
    const fields = [...reader.bytes(place, 20)];
    const method = reader.number(place + 10, 2);
    let [packed, bytes, header] = [20, 24, 42].map((offset) => reader.number(place + offset, 4));
    for (let e = place + 46 + name; e + 4 <= place + 46 + name + extra; e += 4 + reader.number(e + 2, 2)) {
      if (reader.number(e, 2) !== 1) continue;
      let field = e + 4;
      const wide = (value) => {
        if (value !== 0xffffffff) return value;
        field += 8;
        return reader.number(field - 8, 8);
      };
      bytes = wide(bytes);
      packed = wide(packed);
      header = wide(header);
      break;
    }
    entries.push({fields, name: [...reader.bytes(place + 46, name)], method, bytes, packed, header});
    place += 46 + name + extra + comment;
  }
  return entries;
}

// An archive with the same entries, but empty weights.
function zipView(reader) {
  const entries = zipEntries(reader);
  if (entries.length > 65535) throw new RangeError('more entries than a directory without 64-bit numbers');
  const pieces = [];
  const directory = [];
  let at = 0;
  for (const e of entries) {
    const isPayload = e.method === 0 && e.bytes > PAYLOAD_BYTES && TENSOR_NAME.test(String.fromCharCode(...e.name));
    const size = isPayload ? 0 : e.packed;
    directory.push(...e.fields, ...u32(size), ...u32(isPayload ? 0 : e.bytes), ...u16(e.name.length),
      ...Array(12).fill(0), ...u32(at), ...e.name);
    pieces.push({at, bytes: Uint8Array.from([0x50, 0x4b, 3, 4, ...Array(26).fill(0)])});
    at += 30;
    if (!size) continue;
    const data = e.header + 30 + reader.number(e.header + 26, 2) + reader.number(e.header + 28, 2);
    pieces.push({at, from: data, to: data + size});
    at += size;
  }
  const end = [
    0x50, 0x4b, 5, 6, 0, 0, 0, 0, ...u16(entries.length), ...u16(entries.length), ...u32(directory.length), ...u32(at),
    0, 0
  ];
  const bytes = Uint8Array.from([...directory, ...end]);
  pieces.push({at, bytes});
  return {size: at + bytes.length, pieces};
}

// ---- files with a header -------------------------------------------------------------------------------------------

// The first bytes of a file.
const headView = (size) => ({size, pieces: [{at: 0, from: 0, to: size}]});

function safetensorsView(reader) {
  const size = 8 + reader.number(0, 8);
  if (size > reader.size) throw new RangeError('cut off');
  return headView(size);
}

const GGUF_BYTES = [1, 1, 2, 2, 4, 4, 4, 1, -1, -2, 8, 8, 8];  // -1: text, -2: array

function ggufValue(reader, kind, at) {
  const bytes = GGUF_BYTES[kind];
  if (bytes > 0) return at + bytes;
  if (bytes === -1) return at + 8 + reader.number(at, 8);
  if (bytes !== -2) throw new RangeError('no GGUF');
  const element = reader.number(at, 4);
  const count = reader.number(at + 4, 8);
  at += 12;
  if (GGUF_BYTES[element] > 0) return at + count * GGUF_BYTES[element];
  for (let i = 0; i < count; i++) at = ggufValue(reader, element, at);
  return at;
}

function ggufView(reader) {
  const tensors = reader.number(8, 8);
  let at = 24;
  for (let pairs = reader.number(16, 8); pairs > 0; pairs--) {
    at += 8 + reader.number(at, 8);
    at = ggufValue(reader, reader.number(at, 4), at + 4);
  }
  for (let i = 0; i < tensors; i++) {
    at += 8 + reader.number(at, 8);
    at += 4 + 8 * reader.number(at, 4) + 12;
  }
  return headView(Math.min(reader.size, at));
}

// ---- all -----------------------------------------------------------------------------------------------------------

function viewOfFormat(reader) {
  const head = reader.bytes(0, 16);
  if (head[0] === 0x50 && head[1] === 0x4b && head[2] === 3 && head[3] === 4) return zipView(reader);
  if (reader.text(0, 4) === 'GGUF') return ggufView(reader);
  if (head[8] === 0x7b && reader.number(0, 8) < 1 << 30) return safetensorsView(reader);
  if (reader.text(4, 4) === 'TFL3') return tfliteView(reader);
  if (reader.text(1, 3) === 'HDF') return h5View(reader);
  if (head[0] === 8 && head[1] < 32) return messageView(reader, MODEL);
  if (head[0] === 10) return messageView(reader, TF_GRAPH);
  return headView(reader.size);
}

// What the program sees of `file`: {size, pieces}, where a piece is {at, bytes}, or {at, from, to}: bytes of the file.
// readSlice(file, from, to) returns bytes of the file.
export function viewOf(file, readSlice) {
  if (file.size <= WHOLE_BYTES) return headView(file.size);
  try {
    return viewOfFormat(new Reader(file, readSlice));
  } catch (problem) {
    if (!(problem instanceof RangeError)) throw problem;
    return headView(file.size);  // the program reports the error
  }
}
