"""Model files with gigabytes of weights as holes, which take no disk space. Needs only Python's library."""
import re
import struct
import zlib


def archive(entries, out):
    """A ZIP archive of [(name, bytes or size)]; a size becomes a hole in the file."""
    directory = b""
    for name, content in entries:
        size, crc = (content, 0) if isinstance(content, int) else (len(content), zlib.crc32(content))
        at, name = out.tell(), name.encode()
        wide = struct.pack("<HHQQ", 1, 16, size, size)
        out.write(struct.pack("<IHHHHHIIIHH", 0x04034B50, 45, 0, 0, 0, 0, crc, 2**32 - 1, 2**32 - 1, len(name), len(wide)) + name + wide)
        if isinstance(content, int):
            out.seek(size, 1)
        else:
            out.write(content)
        wide = struct.pack("<HHQQQ", 1, 24, size, size, at)
        directory += struct.pack("<IHHHHHHIIIHHHHHII", 0x02014B50, 45, 45, 0, 0, 0, 0, crc, 2**32 - 1, 2**32 - 1, len(name), len(wide), 0, 0, 0, 0, 2**32 - 1)
        directory += name + wide
    at = out.tell()
    out.write(directory)
    record = out.tell()
    out.write(struct.pack("<IQHHIIQQQQ", 0x06064B50, 44, 45, 45, 0, 0, len(entries), len(entries), len(directory), at))
    out.write(struct.pack("<IIQI", 0x07064B50, 0, record, 1))
    out.write(struct.pack("<IHHHHIIH", 0x06054B50, 0, 0, len(entries), len(entries), len(directory), 2**32 - 1, 0))


def fields(message):
    """[(number, type, begin, end)] of a protobuf message; begin and end are those of the content."""
    def read(at):
        n = shift = 0
        while True:
            n |= (message[at] & 127) << shift
            shift += 7
            at += 1
            if message[at - 1] < 128:
                return n, at
    at, found = 0, []
    while at < len(message):
        tag, at = read(at)
        begin = at
        if tag & 7 == 2:
            length, begin = read(at)
            at = begin + length
        elif tag & 7 == 0:
            at = read(at)[1]
        else:
            at += 8 if tag & 7 == 1 else 4
        found.append((tag >> 3, tag & 7, begin, at))
    return found


def graph_of(model):
    """(the fields of an ONNX model without its graph, the content of the graph)"""
    at, rest, graph = 0, b"", b""
    for number, _, begin, end in fields(model):
        if number == 7:
            graph = model[begin:end]
        else:
            rest += model[at:end]
        at = end
    return rest, graph


def varint(n):
    out = b""
    while n > 127:
        out, n = out + bytes([n & 127 | 128]), n >> 7
    return out + bytes([n])


def grown(message, path, size):
    """(head, tail) of the message with a hole of `size` bytes between them, at the end of the first field on the path; None if
    there is no such field."""
    at = 0
    for number, kind, begin, end in fields(message):
        inside = grown(message[begin:end], path[1:], size) if number == path[0] and kind == 2 and path[1:] else None
        if number == path[0] and kind == 2 and not path[1:]:
            inside = (message[begin:end], b"")
        if inside:
            length = len(inside[0]) + size + len(inside[1])
            return message[:at] + varint(number << 3 | 2) + varint(length) + inside[0], inside[1] + message[end:]
        at = end
    return None


def coreml(path, model, size):
    """The neural network with a hole of `size` bytes in the weights of its first convolution."""
    head, tail = grown(model, (500, 1, 100, 90, 1), size)
    with open(path, "wb") as out:
        out.write(head)
        out.seek(size, 1)
        out.write(tail)


def tensorflow(path, model, size):
    """The GraphDef with another constant of `size` bytes."""
    def text(number, content):
        return varint(number << 3 | 2) + varint(len(content)) + content

    def around(number, before, inside):
        return before + varint(number << 3 | 2) + varint(len(inside) + size) + inside
    shape = text(2, text(2, varint(1 << 3) + varint(size // 4)))
    kind = text(5, text(1, b"dtype") + text(2, varint(6 << 3) + varint(1)))
    tensor = around(4, varint(1 << 3) + varint(1) + shape, b"")
    attribute = around(2, text(1, b"value"), around(8, b"", tensor))
    with open(path, "wb") as out:
        out.write(around(1, model, around(5, text(1, b"table") + text(2, b"Const") + kind, attribute)))
        out.truncate(out.tell() + size)


def tflite(path, model, size):
    """The FlatBuffer whose largest buffer is `size` bytes at the end of the file."""
    def field(table, number):
        fields = table - struct.unpack_from("<i", model, table)[0]
        offset = struct.unpack_from("<H", model, fields + 4 + 2 * number)[0] if 4 + 2 * number < struct.unpack_from("<H", model, fields)[0] else 0
        return offset and table + offset
    def inner(at):
        return at + struct.unpack_from("<I", model, at)[0]
    buffers = inner(field(inner(0), 4))
    tables = [inner(buffers + 4 + 4 * i) for i in range(struct.unpack_from("<I", model, buffers)[0])]
    place = max((field(t, 0) for t in tables if field(t, 0)), key=lambda at: struct.unpack_from("<I", model, inner(at))[0])
    model = bytearray(model + b"\0" * (-len(model) % 16))
    struct.pack_into("<I", model, place, len(model) - place)
    with open(path, "wb") as out:
        out.write(bytes(model) + struct.pack("<I", size))
        out.truncate(out.tell() + size)


def onnx(path, model, size):
    """The ONNX model with a second graph field, which is merged into its first one: an initializer of `size` bytes."""
    size = size // 4096 * 4096
    name = b"table"
    head = b"".join(map(varint, (1 << 3, size // 4096, 1 << 3, 1024, 2 << 3, 1, 8 << 3 | 2, len(name)))) + name
    length = len(head) + 1 + len(varint(size)) + size
    graph = varint(5 << 3 | 2) + varint(length) + head + varint(9 << 3 | 2) + varint(size)
    rest, inner = graph_of(model)
    with open(path, "wb") as out:
        out.write(rest + varint(7 << 3 | 2) + varint(len(inner) + len(graph) + size) + inner + graph)
        out.truncate(out.tell() + size)


def hdf5(path, model, size):
    """The HDF5 file, of superblock version 0 and with one contiguous data set, whose data are `size` bytes at the end of the file."""
    layouts = [m.start() for m in re.finditer(rb"\x03\x01", model)
               if m.start() + 18 <= len(model) and 0 < sum(struct.unpack_from("<QQ", model, m.start() + 2)) <= len(model)
               and all(struct.unpack_from("<QQ", model, m.start() + 2))]
    if len(layouts) != 1:
        raise ValueError(f"{len(layouts)} data sets")
    model = bytearray(model + b"\0" * (-len(model) % 16))
    struct.pack_into("<QQ", model, layouts[0] + 2, len(model), size)
    struct.pack_into("<Q", model, 40, len(model) + size)
    with open(path, "wb") as out:
        out.write(model)
        out.truncate(len(model) + size)
