"""Writes TFLite files from Python values, for tests that need an invalid one.

A FlatBuffer table is a dictionary from field numbers to values. Bytes are stored in the table itself; everything else
follows it: a dictionary is a table, a list of numbers a vector of int32, a list of tables a vector of them, a string a
string.
"""
import struct


def write(root, identifier):
    out = bytearray(struct.pack("<I4s", 0, identifier.encode()))
    struct.pack_into("<I", out, 0, put(out, root))
    return bytes(out)


def put(out, value):
    """Appends a value; returns its position."""
    out.extend(bytes(-len(out) % 4))
    if isinstance(value, dict):
        return put_table(out, value)
    at = len(out)
    if isinstance(value, str):
        out.extend(struct.pack("<I", len(value)) + value.encode() + b"\0")
    elif isinstance(value, list) and value and isinstance(value[0], dict):
        out.extend(struct.pack("<I", len(value)) + bytes(4 * len(value)))
        for i, item in enumerate(value):
            point(out, at + 4 + 4 * i, item)
    else:
        out.extend(struct.pack(f"<I{len(value)}i", len(value), *value))
    return at


def point(out, at, value):
    struct.pack_into("<I", out, at, put(out, value) - at)


def put_table(out, fields):
    count = max(fields, default=-1) + 1
    at = len(out) + 4 + 2 * count
    at += -at % 4
    inline, places = bytearray(4), {}
    for number, value in sorted(fields.items()):
        inline.extend(bytes(-len(inline) % 4))
        places[number] = len(inline)
        inline += value if isinstance(value, bytes) else bytes(4)
    directory = struct.pack("<HH", 4 + 2 * count, len(inline)) + b"".join(struct.pack("<H", places.get(i, 0)) for i in range(count))
    out.extend(bytes(at - len(out) - len(directory)) + directory + inline)
    struct.pack_into("<i", out, at, len(directory))
    for number, value in sorted(fields.items()):
        if not isinstance(value, bytes):
            point(out, at + places[number], value)
    return at


def i32(n):
    return struct.pack("<i", n)


RELU, ADD, RESHAPE, FULLY_CONNECTED, WHILE = 19, 0, 22, 9, 119


def tflite(tensors, operators, inputs=(0,), outputs=()):
    """tensors: shapes; operators: (builtin code, inputs, outputs)."""
    codes = sorted({code for code, _, _ in operators})
    return write({0: i32(3), 1: [{0: bytes([code]), 3: i32(code)} for code in codes],
                  2: [{0: [{0: list(shape), 1: b"\0", 2: i32(0), 3: f"t{i}"} for i, shape in enumerate(tensors)], 1: list(inputs), 2: list(outputs),
                       3: [{0: i32(codes.index(code)), 1: list(read), 2: list(written)} for code, read, written in operators]}],
                  4: [{}]}, "TFL3")
