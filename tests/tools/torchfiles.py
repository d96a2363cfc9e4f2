"""Small PyTorch archives from text, for the text tests and as fuzzer seeds.

    @ m/code/__torch__/m.py            what follows is the entry's text
    @ m/data.pkl pickle                … a pickle, described as JSON
    @ m/x hex                          … bytes in hexadecimal
    @ m/zeros zeros 1000000 deflate    a million zeros; compressed

In a description an object is {"class": "__torch__.m.M", attribute: value …}, a tensor {"tensor": [3, 4], "type":
"Float"}, a tuple {"tuple": […]}, a dictionary {"dict": {…}}, a call {"call": "module name", "args": […]}, an Enum
member {"enum": "__torch__.m.E", "value": …}; all else stands for itself.
"""
import io
import json
import struct
import zipfile


class Pickler:
    """The opcodes that PyTorch's own pickler writes."""

    def __init__(self):
        self.out = bytearray(b"\x80\x02")
        self.storages = 0

    def name(self, text):
        module, _, name = text.rpartition(".") if " " not in text else text.partition(" ")
        self.out += b"c" + module.encode() + b"\n" + name.encode() + b"\n"

    def text(self, text):
        data = text.encode()
        self.out += b"X" + struct.pack("<I", len(data)) + data

    def number(self, value):
        if isinstance(value, float):
            self.out += b"G" + struct.pack(">d", value)
        elif -2**31 <= value < 2**31:
            self.out += b"J" + struct.pack("<i", value)
        else:
            self.out += b"\x8a\x08" + struct.pack("<q", min(value, 2**63 - 1))

    def tuple(self, items):
        self.out += b"("
        for item in items:
            self.put(item)
        self.out += b"t"

    def dictionary(self, pairs):
        self.out += b"}("
        for key, value in pairs.items():
            self.put(key)
            self.put(value)
        self.out += b"u"

    def tensor(self, dims, kind):
        elements, strides = 1, []
        for dim in reversed(dims):
            strides.insert(0, elements)
            elements *= dim
        self.name("torch._utils _rebuild_tensor_v2")
        self.out += b"(("
        self.text("storage")
        self.name(f"torch {kind}Storage")
        for part in (str(self.storages), "cpu", elements):
            self.put(part)
        self.out += b"tQ"
        self.put(0)
        self.tuple(dims)
        self.tuple(strides)
        self.out += b"\x89"
        self.name("collections OrderedDict")
        self.out += b")RtR"
        self.storages += 1

    def put(self, value):
        if value is None:
            self.out += b"N"
        elif isinstance(value, bool):
            self.out += b"\x88" if value else b"\x89"
        elif isinstance(value, (int, float)):
            self.number(value)
        elif isinstance(value, str):
            self.text(value)
        elif isinstance(value, list):
            self.out += b"]("
            for item in value:
                self.put(item)
            self.out += b"e"
        elif "tensor" in value:
            self.tensor(value["tensor"], value.get("type", "Float"))
        elif "tuple" in value:
            self.tuple(value["tuple"])
        elif "dict" in value:
            self.dictionary(value["dict"])
        elif "call" in value:
            self.name(value["call"])
            self.tuple(value["args"])
            self.out += b"R"
        elif "enum" in value:
            self.name(value["enum"])
            self.put(value["value"])
            self.out += b"R"
        else:
            self.name(value["class"])
            self.out += b")\x81"
            self.dictionary({key: part for key, part in value.items() if key != "class"})
            self.out += b"b"


def pickled(description):
    pickler = Pickler()
    pickler.put(description)
    return bytes(pickler.out + b".")


def content(kind, arguments, text):
    if kind == "pickle":
        return pickled(json.loads(text))
    if kind == "hex":
        return bytes.fromhex(text)
    if kind == "zeros":
        return bytes(int(arguments[0]))
    return text.encode()


def archive(text):
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as file:
        for part in ("\n" + text).split("\n@ ")[1:]:
            head, _, body = part.partition("\n")
            name, *words = head.split()
            kind = words[0] if words else "text"
            method = zipfile.ZIP_DEFLATED if "deflate" in words else zipfile.ZIP_STORED
            file.writestr(zipfile.ZipInfo(name), content(kind, words[1:], body), compress_type=method)
    return out.getvalue()
