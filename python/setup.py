"""Puts the library of the clone into the package; there is no compiled extension."""

import shutil
import subprocess
from pathlib import Path

from setuptools import setup
from setuptools.command.build_py import build_py


class BuildWithLibrary(build_py):
    def run(self) -> None:
        super().run()
        clone = Path(__file__).resolve().parent.parent
        library = clone / "build" / "libsooth.so.0"
        if not library.exists():
            subprocess.run(["make", "-C", str(clone)], check=True)
        to = Path(self.build_lib) / "sooth"
        to.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(library.resolve(), to / library.name)


setup(cmdclass={"build_py": BuildWithLibrary})
