"""Writes an ONNX file with a chain of many nodes: blocks of a product, its bias, an activation and a residual sum.

    large_graph.py FILE NODES
"""
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "tests/tools"))
import onnxtext as out  # noqa: E402

WIDTH = 64
SHARED_WEIGHTS = 16     # number of distinct weights, used in turn: real graphs of this size repeat layers


def node(inputs, output, name, kind):
    """A NodeProto as GraphProto's field 1. All its lengths are below 128."""
    body = b"".join(b"\n%c%b" % (len(i), i) for i in inputs)
    body += b"\x12%c%b\x1a%c%b\"%c%b" % (len(output), output, len(name), name, len(kind), kind)
    return b"\n%c%b" % (len(body), body)


def graph_nodes(count):
    x, made = b"x", []
    residual = x
    kinds = ((b"MatMul", b"w%d"), (b"Add", b"b%d"), (b"Relu", None), (b"Add", b""))
    for i in range(count):
        kind, other = kinds[i % 4]
        block = i // 4
        second = [] if other is None else [residual] if not other else [other % (block % SHARED_WEIGHTS)]
        y = b"y" if i == count - 1 else b"v%d" % i
        made.append(node([x, *second], y, b"/blocks.%d/%b" % (block, kind), kind))
        x = y
        if i % 4 == 3:
            residual = x
    return b"".join(made)


def write(path, count):
    head = b"".join(out.data(5, out.number(1, WIDTH) + out.number(1, WIDTH) + out.number(2, 1) + out.data(8, f"w{i}"))
                    for i in range(SHARED_WEIGHTS))
    head += b"".join(out.data(5, out.number(1, WIDTH) + out.number(2, 1) + out.data(8, f"b{i}")) for i in range(SHARED_WEIGHTS))
    tail = out.data(11, out.value_info("x", f"float32[N,{WIDTH}]")) + out.data(12, out.value_info("y", ""))
    graph = graph_nodes(count) + head + tail
    with open(path, "wb") as file:
        file.write(out.number(1, 8) + out.data(8, out.number(2, 17)) + out.varint(7 << 3 | 2) + out.varint(len(graph)))
        file.write(graph)


if __name__ == "__main__":
    write(sys.argv[1], int(sys.argv[2]))
