#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes app/python/retrograde/keywords.py: the keywords of load, explain and explain_text, from the table of options
that the command line has. Run it with the module in PYTHONPATH after an option has changed; a test compares.
Usage: writekeywords.py [--check]
"""
import pathlib
import sys

from retrograde.native import native

FILE = pathlib.Path(__file__).resolve().parent.parent / "app/python/retrograde/keywords.py"
HEAD = '''# SPDX-License-Identifier: Apache-2.0
# Made by resources/writekeywords.py from the table of options; do not edit.
"""The keywords of `load` and `explain`, for editors and type checkers. What each means: the comments here,
`retrograde.options()` and docs/cli.md."""
from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any, Literal, TypedDict, Union

Text = Union[str, float, "os.PathLike[str]"]
Texts = Union[Text, Sequence[Text]]

'''
TAIL = '''

class Question(ExplainKeywords, total=False):
    """Of `Model.each`: what `Model.explain` has as arguments, too."""

    target: Any
    composite: Any
    start: Any
    engine: Literal["promise", "compiled", "oracle"]
    precision: Literal["auto", "float", "double"]
    record: bool | None
    copy: bool


class LoadAndExplain(LoadKeywords, Question, total=False):
    """Of `explain`."""

    name: str
    card: Text
    progress: Any
'''
OWN = {"target", "composite", "start", "engine", "precision"}  # arguments of explain


def kind(choices, is_switch):
    """The type of an option."""
    if is_switch:
        return "bool"
    return "Literal[" + ", ".join(f'"{one}"' for one in choices) + "]" if choices else "Texts"


def fields(rows):
    """The body of a class."""
    lines = []
    for name, text, choices, _, is_switch, *_ in rows:
        words, line = text.split(), "    #:"
        for word in words:
            if len(line) + len(word) > 118:
                lines.append(line)
                line = "    #:"
            line += " " + word
        lines += [line, f"    {name}: {kind(choices, is_switch)}"]
    return "\n".join(lines) + "\n"


def text():
    """The whole file."""
    rows = native().options()
    load = fields(row for row in rows if row[3])
    explain = fields(row for row in rows if not row[3] and row[0] not in OWN)
    return (f'{HEAD}\nclass LoadKeywords(TypedDict, total=False):\n    """Of `load`."""\n\n{load}\n\n'
            f'class ExplainKeywords(TypedDict, total=False):\n    """Of `Model.explain`."""\n\n{explain}{TAIL}')


if __name__ == "__main__":
    if sys.argv[1:] == ["--check"]:
        sys.exit(0 if FILE.read_text(encoding="utf-8") == text() else f"{FILE} is not what the options say; run {sys.argv[0]}")
    FILE.write_text(text(), encoding="utf-8")
