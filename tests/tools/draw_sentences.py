#!/usr/bin/env python3
"""Draws comments and messages of the sources at random, to be read without the surrounding code.

    draw_sentences.py --seed 1 [--comments 200] [--messages 60] [PATH ...]

PATH is a file or a directory; the default is src and include. A comment has at least two words; section titles and
clang-format marks are left out. A message is a string of at least four words that include a function word such as
"the", which excludes lists of arguments. Read each line once and count those that need a second reading: the goal is
below 5 %.
"""

import argparse
import os
import random
import re
import sys
import textwrap

TOKEN = re.compile(r'/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'', re.S)
MACRO = re.compile(r"\s*(?:PRI[diux]\w+)?\s*")
WORD = re.compile(r"(?:^|[\s'(])[A-Za-z][a-z]*(?=[\s,.;:')]|$)")
GRAMMAR = re.compile(r"\b(?:a|an|the|is|are|of|in|on|to|and|or|no|not|for|has|have|it|its|than|with|cannot|that|be)\b")


def plain(comment):
    """The text of a comment in one line, without its delimiters."""
    lines = [re.sub(r"^\s*\*(?!/) ?", "", line) for line in comment.split("\n")]
    return re.sub(r"\s+", " ", " ".join(lines)).removeprefix("/*").removeprefix("//").removesuffix("*/").strip(" <")


def sentences(text):
    """Yields ("comment" or "message", line, text) for each comment and each run of adjacent strings."""
    strings, start, end = "", 0, 0
    for token in TOKEN.finditer(text):
        word = token.group()
        if word[0] == '"' and strings and MACRO.fullmatch(text[end : token.start()]):
            strings, end = strings + word[1:-1], token.end()
            continue
        if strings:
            yield "message", text.count("\n", 0, start) + 1, strings
            strings = ""
        if word[0] == '"':
            strings, start, end = word[1:-1], token.start(), token.end()
        elif word[0] == "/":
            yield "comment", text.count("\n", 0, token.start()) + 1, plain(word)
    if strings:
        yield "message", text.count("\n", 0, start) + 1, strings


def is_sentence(kind, text):
    if kind == "comment":
        return " " in text and not text.startswith(("----", "clang-format"))
    return len(WORD.findall(text)) >= 4 and GRAMMAR.search(text) is not None


def sources(paths):
    for path in paths:
        if os.path.isfile(path):
            yield path
        for folder, _, names in sorted(os.walk(path)):
            yield from (os.path.join(folder, name) for name in sorted(names) if name.endswith((".c", ".h")))


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--comments", type=int, default=200)
    parser.add_argument("--messages", type=int, default=60)
    parser.add_argument("paths", nargs="*", default=["src", "include"])
    options = parser.parse_args()
    found = {"comment": [], "message": []}
    for path in sources(options.paths):
        with open(path, encoding="utf-8") as file:
            for kind, line, text in sentences(file.read()):
                if is_sentence(kind, text):
                    found[kind].append((f"{path}:{line}", text))
    draw = random.Random(options.seed)
    for kind, count in (("comment", options.comments), ("message", options.messages)):
        chosen = draw.sample(found[kind], min(count, len(found[kind])))
        print(f"{len(chosen)} of {len(found[kind])} {kind}s")
        for number, (place, text) in enumerate(chosen, 1):
            print(textwrap.fill(f"{number:3} {place}  {text}", 160, subsequent_indent="    ", break_long_words=False))
        print()
    return 0


if __name__ == "__main__":
    sys.exit(main())
