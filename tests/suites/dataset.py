#!/usr/bin/env python3
"""The data set of DIPPM's families has the published numbers of graphs, all distinct, and is consistent."""
import json
import os
import pathlib
import subprocess
import tempfile

TOP = pathlib.Path(__file__).resolve().parent.parent.parent
PROGRAM = str(pathlib.Path(os.environ.get("SOOTH_BUILD", TOP / "build")).resolve() / "sooth")
PUBLISHED = {"efficientnet": 1729, "mnasnet": 1001, "mobilenet": 1591, "resnet": 1152, "vgg": 1536, "swin": 547, "vit": 520,
             "densenet": 768, "visformer": 768, "poolformer": 896}  # from DIPPM (2023): 10,508 in total


def run(*arguments):
    return subprocess.run([PROGRAM, "dataset", *arguments], capture_output=True, text=True, timeout=600)


def main():
    with tempfile.TemporaryDirectory() as folder:
        path = f"{folder}/set.db"
        made = run("make", "--labels", "none", "-o", path)
        checked = run("check", path, "-f", "json")
        found = json.loads(checked.stdout) if checked.returncode == 0 else {}
        families = {family["family"]: family["graphs"] for family in found.get("families", [])}
    tests = [("the plan that ships is drawn", made.returncode == 0, made.stderr),
             ("its families have the published numbers of graphs", families == PUBLISHED, families),
             ("no two graphs are equal", found.get("distinct") == sum(PUBLISHED.values()), found.get("distinct")),
             ("what is read agrees with what was written", found.get("faults") == [] and found.get("complete"), checked.stderr)]
    print(f"1..{len(tests)}")
    for number, (name, good, seen) in enumerate(tests, 1):
        print(f"{'' if good else 'not '}ok {number} - {name}")
        if not good:
            print(f"#   {seen}")


main()
