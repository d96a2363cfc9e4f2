#!/usr/bin/env python3
"""The models of the Paddle, OpenVINO and CoreML text tests, truncated or with changed bytes: each is read, or refused
with one line, as suites/hostile.py requires."""
import os
import pathlib
import random
import re
import sys
import tempfile

import cases
import hostile

TRIES = 12


def models():
    for name in ("paddle", "openvino", "coreml"):
        for case in cases.parse(hostile.TESTS / f"cases/{name}.test"):
            for kind, file, body, *_ in case.steps:
                if kind == "file":
                    yield case.name, "\n".join(body).encode()
                elif kind == "hex" and not file.endswith(".bin"):
                    yield case.name, bytes.fromhex(re.sub(r"#.*", "", "\n".join(body)))


def damaged(content, chance):
    for _ in range(TRIES):
        yield content[:chance.randrange(len(content))]
        changed = bytearray(content)
        for _ in range(chance.choice((1, 1, 4))):
            changed[chance.randrange(len(changed))] = chance.randrange(256)
        yield bytes(changed)


def results():
    chance = random.Random(6)
    with tempfile.TemporaryDirectory() as directory:
        path = os.path.join(directory, "damaged")
        for name, content in models():
            wrong = None
            for part in damaged(content, chance):
                pathlib.Path(path).write_bytes(part)
                wrong = wrong or hostile.judge(path, hostile.LIMIT_S, (0, 3, 4))
            yield name, wrong


if __name__ == "__main__":
    sys.exit(hostile.tell(results()))
