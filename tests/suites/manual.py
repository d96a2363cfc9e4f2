#!/usr/bin/env python3
"""The manual page and the completions have exactly the subcommands and options of the program."""
import os
import pathlib
import re
import shutil
import subprocess
import sys

TOP = pathlib.Path(__file__).resolve().parent.parent.parent
BUILD = os.environ.get("SOOTH_BUILD") or str(TOP / "build")
results = []


def check(name, wrong):
    results.append((name, wrong))


def sooth(*arguments):
    done = subprocess.run([BUILD + "/sooth", *arguments], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=20)
    return done.stdout.decode()


def complete(words):
    """Bash's completions after these words; ':' and '=' are separate words, as in bash."""
    script = ('shopt -s extglob; source "$1"; shift; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _sooth; '
              'printf "%s\\n" "${COMPREPLY[@]}"')
    done = subprocess.run(["bash", "-c", script, "bash", str(TOP / "completions/sooth.bash"), BUILD + "/sooth", *words],
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=20, cwd=TOP / "tests")
    return sorted(done.stdout.decode().split())


def main():
    commands = re.findall(r"^  (\w+) ", sooth("--help").split("Commands:")[1].split("\n\n")[0], re.M)
    manual = (TOP / "doc/sooth.1").read_text()
    check("bash completes the subcommands", set(commands) - set(complete([""])))
    check("the manual has every subcommand", [c for c in commands if f".Ss {c}" not in manual])
    zsh = (TOP / "completions/_sooth").read_text()
    for command in commands:
        options = set(re.findall(r"--[a-z][a-z0-9-]*", sooth(command, "--help").split("Options:")[1].split("\n\n")[0]))
        section = re.split(r"\n\.S[sh] ", manual.split(f".Ss {command}")[1])[0]
        listed = set("--" + name for name in re.findall(r"^\.It (?:Fl \w , )?Fl -([\w-]+)", section, re.M))
        check(f"{command}: the manual has the program's options", options ^ listed)
        check(f"{command}: bash completes the program's options", (options | {"--help"}) ^ set(complete([command, "--"])))
        block = zsh.split(f"    {command})\n")[1].split(";;")[0]
        in_zsh = set(re.findall(r"--[a-z][a-z0-9-]*", block)) - {"--help"}
        check(f"{command}: zsh completes the program's options", options ^ in_zsh)
    help_text = sooth("inspect", "--help")
    passes = re.findall(r"^  (\S+)", help_text.split("Recovery passes")[1].split("\n\n")[0], re.M)
    networks = re.findall(r"^  zoo:(\S+)", sooth("zoo"), re.M)
    check("there are passes and networks to complete", [] if passes and networks else ["none"])
    check("bash completes passes", set(passes + ["all"]) ^ set(complete(["inspect", "x", "--skip", ""])))
    optional = re.findall(r"^  (\S+)", help_text.split("Optional passes")[1].split("\n\n")[0], re.M)
    check("bash completes optional passes", set(optional + ["all"]) ^ set(complete(["inspect", "x", "--fuse", ""])))
    check("bash completes the second pass", [] if f"all,{passes[0]}" in complete(["inspect", "--skip", "all,"]) else ["no"])
    check("bash completes networks", set(networks) ^ set(complete(["inspect", "zoo", ":", ""])))
    check("bash completes networks of `sooth zoo`", set(networks) ^ set(complete(["zoo", ""])))
    spelled = {"hf-config": "config.json", "tfjs": "tensorflow.js"}
    formats = [spelled.get(page.stem, page.stem) for page in (TOP / "doc/formats").glob("*.md")]
    unknown_file = sooth("inspect", str(pathlib.Path(__file__)))
    for where, text in {"inspect --help": help_text, "the manual": manual, "doc/formats.md": (TOP / "doc/formats.md").read_text(),
                        "doc/design.md": (TOP / "doc/design.md").read_text(),
                        "the refusal of an unknown file": unknown_file}.items():
        check(f"{where} names every format", [name for name in formats if name not in text.lower()])
    gpus = [line.split(",")[0] for line in sooth("gpus", "--format", "csv").splitlines()[1:]]
    check("bash completes GPUs", ({"rtx-3090"} - set(gpus)) | (set(gpus) ^ set(complete(["gpus", ""]))))
    check("bash completes formats of gpus", {"table", "json", "csv"} ^ set(complete(["gpus", "--format", ""])))
    check("bash completes formats of predict", {"trace"} ^ set(complete(["predict", "x", "--format", "tr"])))
    check("bash completes precisions", {"fp32", "fp16", "fp8"} ^ set(complete(["predict", "x", "--precision", "fp"])))
    check("bash completes the second GPU", {"a100,rtx-3090"} ^ set(complete(["predict", "x", "--gpu", "a100,rtx-309"])))
    check("bash completes formats", {"svg"} ^ set(complete(["inspect", "x", "--format", "=", "s"])))
    if shutil.which("zsh"):
        done = subprocess.run(["zsh", "-n", str(TOP / "completions/_sooth")], stderr=subprocess.PIPE, timeout=20)
        check("zsh can read its completion", [done.stderr.decode()] if done.returncode else [])
    if shutil.which("man"):
        done = subprocess.run(["man", "--warnings", "-E", "UTF-8", "-l", str(TOP / "doc/sooth.1")],
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=20, env=dict(os.environ, MANWIDTH="100"))
        check("man renders the manual without a warning", [line for line in done.stderr.decode().splitlines() if line])
    print(f"1..{len(results)}")
    for number, (name, wrong) in enumerate(results, 1):
        print(f"{'not ' if wrong else ''}ok {number} - {name}")
        if wrong:
            print(f"#   {sorted(wrong)}")
    return 1 if any(wrong for _, wrong in results) else 0


if __name__ == "__main__":
    sys.exit(main())
