"""Shared by the scripts that make models: writes the list of a format and the archive of its files."""
import io
import json
import pathlib
import tarfile

FORMATS = pathlib.Path(__file__).resolve().parent.parent / "formats"
DTYPES = {"float": "float32", "double": "float64", "half": "float16", "long": "int64", "int": "int32", "short": "int16", "char": "int8",
          "byte": "uint8"}


def tensor(dtype, shape):
    """A tensor in the lists' notation; dtype may be empty."""
    dtype = str(dtype).rpartition(".")[2]
    return DTYPES.get(dtype, dtype) + "[" + ",".join(str(dim) for dim in shape) + "]"


def lines(entries):
    """Writes one line per entry and per value, for readable diffs."""
    out = []
    for entry in entries:
        parts = []
        for key, value in entry.items():
            if key == "values" and value:
                rows = [f"    {json.dumps(name)}: {json.dumps(text)}" for name, text in value.items()]
                parts.append('"values": {\n' + ",\n".join(rows) + "}")
            else:
                parts.append(f"{json.dumps(key)}: {json.dumps(value)}")
        out.append("  {" + ", ".join(parts) + "}")
    return ",\n".join(out)


def write(name, origin, entries, directory=None):
    """Writes formats/NAME.json; if a directory is given, also packs its files into formats/NAME.tar.xz."""
    FORMATS.mkdir(exist_ok=True)
    (FORMATS / f"{name}.json").write_text(f'{{"origin": {json.dumps(origin)},\n "models": [\n{lines(entries)}\n]}}\n')
    if directory is None:
        return
    target = FORMATS / f"{name}.tar.xz"
    with tarfile.open(target, "w:xz", preset=9) as archive:
        for path in sorted(pathlib.Path(directory).rglob("*")):
            if path.is_file():
                info = tarfile.TarInfo(str(path.relative_to(directory)))  # no times and owners, so that equal files give equal archives
                info.size = path.stat().st_size
                archive.addfile(info, io.BytesIO(path.read_bytes()))
    print(f"{name}: {len(entries)} models, {target.stat().st_size} bytes")
