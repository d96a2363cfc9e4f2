#!/usr/bin/env python3
"""Writes an ONNX file from a readable text, so that tests can contain their models.

    onnxtext.py IN.txt OUT.onnx        IN may be -; OUT.onnx.gz is compressed

One line, one thing; lines that belong to a node or a function are indented under it. See tests/README.md.
No checks are made: a test may want a wrong model.
"""
import gzip
import re
import struct
import sys

DTYPES = {name: number for number, name in enumerate(
    "undefined float32 uint8 int8 uint16 int16 int32 int64 string bool float16 float64 uint32 uint64 complex64 "
    "complex128 bfloat16 float8e4m3fn float8e4m3fnuz float8e5m2 float8e5m2fnuz uint4 int4 float4e2m1".split())}
PACK = {"float32": "f", "float64": "d", "int64": "q", "int32": "i", "int16": "h", "int8": "b", "uint8": "B",
        "uint16": "H", "uint32": "I", "uint64": "Q", "bool": "?", "float16": "e"}
TYPED_FIELD = {"float32": (4, "f"), "float64": (10, "d"), "int64": (7, None), "uint64": (11, None), "uint32": (11, None)}


# ---- protobuf --------------------------------------------------------------------------------------------------------

def varint(n):
    n &= (1 << 64) - 1
    out = bytearray()
    while n > 127:
        out.append(n & 127 | 128)
        n >>= 7
    out.append(n)
    return bytes(out)


def number(field, n):
    return varint(field << 3) + varint(n)


def data(field, value):
    value = value.encode() if isinstance(value, str) else value
    return varint(field << 3 | 2) + varint(len(value)) + value


# ---- pieces of a line ------------------------------------------------------------------------------------------------

NUMBER = r"[-+]?(?:\d+\.?\d*(?:[eE][-+]?\d+)?|\.\d+|inf|nan)"


def parse_number(text):
    return int(text) if re.fullmatch(r"[-+]?\d+", text) else float(text)


def split_list(text):
    return [t for t in re.split(r"[,\s]+", text.strip()) if t]


def type_proto(text):
    """float32[N,3,?] | float32 (rank unknown) | float32[] (scalar) | seq(T) | optional(T)"""
    text = text.strip()
    nested = re.fullmatch(r"(seq|optional)\((.*)\)", text)
    if nested:
        return data({"seq": 4, "optional": 9}[nested[1]], data(1, type_proto(nested[2])))
    name, has_dims, dims = re.fullmatch(r"(\w+)\s*(\[(.*)\])?", text).groups()
    tensor = number(1, DTYPES[name])
    if has_dims:
        shape = b""
        for dim in split_list(dims):
            shape += data(1, number(1, int(dim)) if re.fullmatch(r"-?\d+", dim) else b"" if dim == "?" else data(2, dim))
        tensor += data(2, shape)
    return data(1, tensor)


def value_info(name, type_text):
    return data(1, name) + (data(2, type_proto(type_text)) if type_text else b"")


def tensor_proto(text, name=""):
    """int64[2](1, 2) raw data | int64[2]:(1, 2) typed fields | float32[8,3,3,3] external data"""
    dtype, dims, typed, values = re.fullmatch(r"(\w+)\[([^\]]*)\]\s*(?:(:?)\((.*)\))?", text.strip(), re.S).groups()
    out = b"".join(number(1, int(d)) for d in split_list(dims)) + number(2, DTYPES[dtype])
    if name:
        out += data(8, name)
    if values is None:
        return out + data(13, data(1, "location") + data(2, "weights.bin")) + number(14, 1)
    if dtype == "string":
        return out + b"".join(data(6, v) for v in re.findall(r'"([^"]*)"', values))
    items = [parse_number(v) for v in split_list(values)]
    if typed:
        field, code = TYPED_FIELD.get(dtype, (5, None))
        return out + data(field, b"".join(struct.pack("<" + code, v) if code else varint(int(v)) for v in items))
    code = PACK[dtype]
    return out + data(9, b"".join(struct.pack("<" + code, v if code in "fde" else int(v)) for v in items))


def attribute(name, text):
    head = data(1, name)
    if text.startswith("@"):
        return head + data(21, text[1:])
    if text.startswith('"'):
        return head + data(4, text[1:-1]) + number(20, 3)
    if re.match(r"\w+\[", text):
        return head + data(5, tensor_proto(text)) + number(20, 4)
    if text.startswith("["):
        strings = re.findall(r'"([^"]*)"', text)
        if strings:
            return head + b"".join(data(9, s) for s in strings) + number(20, 8)
        items = [parse_number(v) for v in split_list(text[1:-1])]
        if any(isinstance(v, float) for v in items):
            return head + data(7, b"".join(struct.pack("<f", v) for v in items)) + number(20, 6)
        return head + b"".join(number(8, v) for v in items) + number(20, 7)
    value = parse_number(text)
    if isinstance(value, float):
        return head + varint(2 << 3 | 5) + struct.pack("<f", value) + number(20, 1)
    return head + number(3, value) + number(20, 2)


ATTRIBUTE = re.compile(r'\s*(\w+)=(@\w+|"[^"]*"|\w+\[[^\]]*\](?::?\([^)]*\))?|\[[^\]]*\]|' + NUMBER + ")")
NODE = re.compile(r"\s*(?:(.*?)=\s*)?([\w.]+)\(([^)]*)\)(.*)", re.S)


# ---- lines and blocks ------------------------------------------------------------------------------------------------

def blocks(text):
    """[(line, [inner blocks])] by indentation."""
    root = []
    stack = [(-1, root)]
    for number_, raw in enumerate(text.splitlines(), 1):
        line = raw.split(" #")[0].rstrip()
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        indent = len(line) - len(line.lstrip())
        while indent <= stack[-1][0]:
            stack.pop()
        inner = []
        stack[-1][1].append((line.strip(), inner, number_))
        stack.append((indent, inner))
    return root


class Graph:
    def __init__(self, name):
        self.body = bytearray(data(2, name))  # bytes would be copied for every line

    def line(self, text, inner):
        word, _, rest = text.partition(" ")
        if word in ("input", "output", "value"):
            name, _, type_text = rest.strip().partition(" ")
            self.body += data({"input": 11, "output": 12, "value": 13}[word], value_info(name, type_text))
        elif word == "init":
            name, _, tensor = rest.strip().partition(" ")
            self.body += data(5, tensor_proto(tensor, name))
        elif word == "rawgraph":
            self.body += bytes.fromhex(rest)
        else:
            self.body += data(1, node_proto(text, inner))


def graph_proto(name, lines):
    graph = Graph(name)
    for text, inner, _ in lines:
        graph.line(text, inner)
    return bytes(graph.body)


def node_proto(text, inner):
    outputs, op, inputs, attributes = NODE.fullmatch(text).groups()
    domain, _, op = op.rpartition(".")
    names = lambda s: [n.strip() for n in s.split(",")] if s and s.strip() else []
    body = b"".join(data(1, n) for n in names(inputs)) + b"".join(data(2, n) for n in names(outputs)) + data(4, op)
    if domain:
        body += data(7, domain)
    at = 0
    while attributes[at:].strip():
        found = ATTRIBUTE.match(attributes, at)
        if not found:
            raise ValueError("attribute: " + attributes[at:])
        at = found.end()
        if found[1] == "name":
            body += data(3, found[2][1:-1])
        else:
            body += data(5, attribute(found[1], found[2]))
    for name, lines, _ in inner:
        name = name.rstrip(":")
        body += data(5, data(1, name) + data(6, graph_proto(name, lines)) + number(20, 5))
    return body


def opset(text):
    words = text.split()
    return (data(1, words[0]) if len(words) > 1 else b"") + number(2, int(words[-1]))


def function_proto(head, lines):
    """function my.domain.Name(x, w; alpha, beta=0.5) -> y, z"""
    name, formal, outputs = re.fullmatch(r"([\w.]+)\(([^)]*)\)\s*->\s*(.*)", head).groups()
    domain, _, name = name.rpartition(".")
    inputs, _, attributes = formal.partition(";")
    body = data(1, name) + data(10, domain)
    body += b"".join(data(4, n) for n in split_list(inputs)) + b"".join(data(5, n) for n in split_list(outputs))
    for entry in split_list(attributes):
        key, has_default, default = entry.partition("=")
        body += data(11, attribute(key, default)) if has_default else data(6, key)
    for text, inner, _ in lines:
        word, _, rest = text.partition(" ")
        body += data(9, opset(rest)) if word == "opset" else data(7, node_proto(text, inner))
    return body


def model(text):
    ir, opsets, functions, extra, producer = 8, b"", bytearray(), b"", b""
    graph = Graph("g")
    for line, inner, at in blocks(text):
        word, _, rest = line.partition(" ")
        try:
            if word == "ir":
                ir = int(rest)
            elif word == "opset":
                opsets += data(8, opset(rest))
            elif word == "producer":
                producer = data(2, rest.split()[0]) + b"".join(data(3, w) for w in rest.split()[1:2])
            elif word == "function":
                functions += data(25, function_proto(rest, inner))
            elif word == "raw":
                extra += bytes.fromhex(rest)
            else:
                graph.line(line, inner)
        except (AttributeError, KeyError, ValueError, struct.error) as error:
            raise ValueError(f"line {at}: {line}: {error}") from error
    return number(1, ir) + producer + data(7, graph.body) + (opsets or data(8, number(2, 17))) + functions + extra


def write(text, path):
    content = model(text)
    with open(path, "wb") as file:
        file.write(gzip.compress(content, mtime=0) if path.endswith(".gz") else content)


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit("usage: onnxtext.py IN.txt OUT.onnx")
    try:
        write(sys.stdin.read() if sys.argv[1] == "-" else open(sys.argv[1]).read(), sys.argv[2])
    except ValueError as failure:
        sys.exit(f"{sys.argv[1]}: {failure}")
