# SPDX-License-Identifier: Apache-2.0
"""The site of the documentation, for Sphinx: `./dev docs` builds it from the pages of the repository as they lie."""
from __future__ import annotations

import pathlib
import re
import sys

root = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(root / "app" / "python"))

project = "Retrograde"
author = "the Retrograde authors"
copyright = author
version = release = re.search(r"project\(Retrograde VERSION ([0-9.]+)", (root / "CMakeLists.txt").read_text()).group(1)

root_doc = "docs/site/index"
include_patterns = ["docs/**", "samples/*/README.md", "CHANGELOG.md"]
extensions = ["myst_parser", "sphinx.ext.autodoc"]
myst_heading_anchors = 4
html_theme = "furo"
html_title = f"Retrograde {version}"
html_copy_source = False
html_show_sphinx = False
highlight_language = "none"
suppress_warnings = ["misc.highlighting_failure"]  # languages that Pygments does not know

# The module is read without what it was compiled to.
autodoc_mock_imports = ["numpy", "torch", "jax", "onnx"]
autodoc_member_order = "bysource"
autodoc_typehints = "signature"


def as_fields(app, what, name, item, options, lines: list[str]) -> None:
    """Docstrings name their arguments as `name: what it is`; the site shows them as a list."""
    entry = re.compile(r"([a-z_]+(?:, [a-z_]+)*): (\S.*)")
    found: list[str] = []
    inside = False
    for line in [line.replace("*", r"\*").replace("`", "``") for line in lines]:
        begins = entry.match(line)
        if begins:
            found += ["", f"- **{begins.group(1)}**: {begins.group(2)}"]
        elif inside and line and not line[0].isspace():
            found += ["", line]
        elif inside and line.strip():
            found.append("  " + line.strip())
            continue
        else:
            found.append(line)
        inside = bool(begins)
    lines[:] = found


def first_page(app, error) -> None:
    """The folder itself leads to the first page."""
    if error is None:
        (pathlib.Path(app.outdir) / "index.html").write_text(
            '<!doctype html><meta http-equiv="refresh" content="0; url=docs/site/index.html"><title>Retrograde</title>\n')


def setup(app) -> None:
    app.connect("autodoc-process-docstring", as_fields)
    app.connect("build-finished", first_page)
