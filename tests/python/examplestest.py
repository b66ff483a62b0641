# SPDX-License-Identifier: Apache-2.0
"""The examples of docs/python.md and docs/start.md, run in their order in one namespace for each page. Where a block
```text follows, its lines must be in what the example prints. An example that needs a package that is not here is left
out, and so is a later one that needs what that one would have made."""
import ast
import contextlib
import io
import os
import re
import sys
import unittest

from module import ROOT, Case

sys.path.insert(0, str(ROOT / "tests/newcomer"))
from pagestest import is_same_line


def made_by(source):
    """The names that a block gives: its imports and what it assigns."""
    names = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.alias):
            names.add((node.asname or node.name).split(".")[0])
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            names.add(node.id)
    return names


class Examples(Case):
    def run_all(self, page):
        os.symlink(ROOT / "samples", self.folder / "samples")
        before = os.getcwd()
        os.chdir(self.folder)
        self.addCleanup(os.chdir, before)
        space, run, missing, text = {}, 0, set(), page.read_text(encoding="utf-8")
        for found in re.finditer(r"^```python\n(.*?)^```$(?:\n\n```text\n(.*?)^```$)?", text, re.M | re.S):
            line = text[: found.start()].count("\n") + 1
            printed = io.StringIO()
            try:
                with contextlib.redirect_stdout(printed):
                    exec(compile("\n" * line + found.group(1), str(page), "exec"), space)
            except (ImportError, NameError) as error:
                if isinstance(error, NameError) and error.name not in missing:
                    raise
                missing |= made_by(found.group(1)) - set(space)
                print(f"line {line}: left out ({error})")
                continue
            missing -= set(space)
            said = printed.getvalue().split("\n")
            for expected in (found.group(2) or "").splitlines():
                self.assertTrue(any(is_same_line(expected, one) for one in said),
                                f"{page.name}, line {line}: {expected}\nis not in\n{printed.getvalue()}")
            run += 1
        return run

    def test_every_example_runs(self):
        self.assertGreaterEqual(self.run_all(ROOT / "docs/python.md"), 3)

    def test_start_runs(self):
        self.assertGreaterEqual(self.run_all(ROOT / "docs/start.md"), 1)


if __name__ == "__main__":
    unittest.main(verbosity=1)
