// sparse.js: which bytes of a large model file are read. A file keeps its size and its addresses; payloads of weights,
// which the program never looks at, stay on the disk. What is not known to be such a payload is read.

const WHOLE_BYTES = 32 << 20;    // smaller files are read as they are
const PAYLOAD_BYTES = 64 << 10;  // smaller tensors are read: shapes and indices are among them
const WINDOW = 64 << 10;

// Reads a file here and there, a window at a time.
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

// ---- protobuf: ONNX ------------------------------------------------------------------------------------------------

function varint(reader, at) {
  let value = 0;
  for (let i = 0; i < 10; i++) {
    const byte = reader.number(at + i, 1);
    value += (byte & 127) * 2 ** (7 * i);
    if (byte < 128) return [value, at + i + 1];
  }
  throw new RangeError('no varint');
}

// What the fields of a message hold: another message, or a payload. Other fields are left alone.
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
const MODEL = {
  7: GRAPH
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
      const inside = fields[Math.floor(tag / 8)];
      if (inside === 'payload' && length > PAYLOAD_BYTES)
        skipped.push([at, at + length]);
      else if (inside && inside !== 'payload' && length > PAYLOAD_BYTES)
        skipMessage(reader, at, at + length, inside, skipped);
      at += length;
    } else
      throw new RangeError('no protobuf');
  }
}

function onnxPayloads(reader) {
  const skipped = [];
  skipMessage(reader, 0, reader.size, MODEL, skipped);
  return skipped;
}

// ---- ZIP: PyTorch, Keras -------------------------------------------------------------------------------------------

const TENSOR_NAME = /(^|\/)(data|weights|constants|tensors)\/[^/]+$|\.(h5|bin|npy|npz)$/;

function zipPayloads(reader) {
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
  const skipped = [];
  for (; count > 0; count--) {
    const [method, bytes, name, extra, comment] =
      [[10, 2], [20, 4], [28, 2], [30, 2], [32, 2]].map(([offset, size]) => reader.number(place + offset, size));
    let [size, header] = [bytes, reader.number(place + 42, 4)];
    const wide = [reader.number(place + 24, 4), bytes, header].map((value) => value === 0xffffffff);
    for (let e = place + 46 + name; e + 4 <= place + 46 + name + extra; e += 4 + reader.number(e + 2, 2)) {
      if (reader.number(e, 2) !== 1) continue;
      let field = e + 4;
      if (wide[0]) field += 8;
      if (wide[1]) {
        size = reader.number(field, 8);
        field += 8;
      }
      if (wide[2]) header = reader.number(field, 8);
    }
    if (method === 0 && size > PAYLOAD_BYTES && TENSOR_NAME.test(reader.text(place + 46, name))) {
      const data = header + 30 + reader.number(header + 26, 2) + reader.number(header + 28, 2);
      skipped.push([data, data + size]);
    }
    place += 46 + name + extra + comment;
  }
  return skipped;
}

// ---- files with a header -------------------------------------------------------------------------------------------

function safetensorsPayloads(reader) { return [[8 + reader.number(0, 8), reader.size]]; }

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

function ggufPayloads(reader) {
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
  return [[Math.min(reader.size, at + 4096), reader.size]];
}

// ---- all -----------------------------------------------------------------------------------------------------------

function payloadsOf(reader) {
  const head = reader.bytes(0, 16);
  if (head[0] === 0x50 && head[1] === 0x4b && head[2] === 3 && head[3] === 4) return zipPayloads(reader);
  if (reader.text(0, 4) === 'GGUF') return ggufPayloads(reader);
  if (head[8] === 0x7b && reader.number(0, 8) < 1 << 30) return safetensorsPayloads(reader);
  if (head[0] === 8 && head[1] < 32) return onnxPayloads(reader);
  return [];
}

// The ranges [from, to) of `file` that are read; readSlice(file, from, to) returns its bytes.
export function rangesToRead(file, readSlice) {
  if (file.size <= WHOLE_BYTES) return [[0, file.size]];
  let payloads;
  try {
    payloads = payloadsOf(new Reader(file, readSlice));
  } catch (problem) {
    if (!(problem instanceof RangeError)) throw problem;
    payloads = [];  // the program says what is wrong with it
  }
  const ranges = [];
  let at = 0;
  for (const [from, to] of payloads.sort((a, b) => a[0] - b[0])) {
    if (from < at || to > file.size) continue;
    if (from > at) ranges.push([at, from]);
    at = to;
  }
  if (at < file.size) ranges.push([at, file.size]);
  return ranges;
}
