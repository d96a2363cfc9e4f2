"""Model files with gigabytes of weights as holes, which take no disk space. Needs only Python's library."""
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


def graph_of(model):
    """(the fields of an ONNX model without its graph, the content of the graph)"""
    def read(at):
        n = shift = 0
        while True:
            n |= (model[at] & 127) << shift
            shift += 7
            at += 1
            if model[at - 1] < 128:
                return n, at
    at, rest, graph = 0, b"", b""
    while at < len(model):
        begin = at
        tag, at = read(at)
        if tag & 7 == 2:
            length, at = read(at)
            if tag >> 3 == 7:
                graph = model[at:at + length]
            at += length
        else:
            _, at = read(at)
        rest += model[begin:at] if tag >> 3 != 7 else b""
    return rest, graph


def varint(n):
    out = b""
    while n > 127:
        out, n = out + bytes([n & 127 | 128]), n >> 7
    return out + bytes([n])


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
