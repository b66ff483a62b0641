# SPDX-License-Identifier: Apache-2.0
"""The examples of docs/capture.md, run in their order in one namespace. Those that need a package which is missing here
are named and left out."""
import os
import re
import sys

import capturing

capturing.need("numpy")
PAGE = capturing.ROOT / "docs/capture.md"
PACKAGES = ("torch", "jax", "zennit")


def examples():
    """(line, text) of each block of Python."""
    text = PAGE.read_text(encoding="utf-8")
    return [(text[: found.start()].count("\n") + 2, found.group(1))
            for found in re.finditer(r"^```python\n(.*?)^```$", text, re.M | re.S)]


def missing(text, space):
    """The first package that the example imports, or got from an earlier one, and that is not here."""
    for name in PACKAGES:
        if re.search(rf"\b{name}", text) and name not in space:
            try:
                space[name] = __import__(name)
            except ImportError:
                return name
    return None


class Examples(capturing.Case):
    def test_every_example_runs(self):
        os.symlink(capturing.ROOT / "samples", self.folder / "samples")
        before = os.getcwd()
        os.chdir(self.folder)
        self.addCleanup(os.chdir, before)
        space, run = {}, 0
        for line, text in examples():
            lacking = missing(text, space)
            if lacking:
                print(f"line {line}: left out, {sys.executable} has no {lacking}")
                continue
            exec(compile("\n" * (line - 1) + text, str(PAGE), "exec"), space)
            run += 1
        self.assertGreaterEqual(run, 2)


if __name__ == "__main__":
    os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")
    capturing.run()
