# SPDX-License-Identifier: Apache-2.0
"""The examples of docs/python.md, run in their order in one namespace."""
import os
import re
import unittest

from module import ROOT, Case

PAGE = ROOT / "docs/python.md"


class Examples(Case):
    def test_every_example_runs(self):
        os.symlink(ROOT / "samples", self.folder / "samples")
        before = os.getcwd()
        os.chdir(self.folder)
        self.addCleanup(os.chdir, before)
        space, run, text = {}, 0, PAGE.read_text(encoding="utf-8")
        for found in re.finditer(r"^```python\n(.*?)^```$", text, re.M | re.S):
            line = text[: found.start()].count("\n") + 1
            try:
                exec(compile("\n" * line + found.group(1), str(PAGE), "exec"), space)
            except ImportError as error:
                print(f"line {line}: left out ({error})")
                continue
            run += 1
        self.assertGreaterEqual(run, 3)


if __name__ == "__main__":
    unittest.main(verbosity=1)
