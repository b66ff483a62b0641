# SPDX-License-Identifier: Apache-2.0
"""Stepping through a run inside a notebook, with anywidget."""
from __future__ import annotations

import base64
import html
from typing import TYPE_CHECKING, Any

import numpy

from . import drawing
from .errors import UsageError

if TYPE_CHECKING:
    from .run import Run

MODES = {"NTM": "normal", "PTM": "search", "PFM": "fulfilment"}

# The page asks for a step and shows what comes back; everything else is made in Python.
PAGE = """
function render({ model, el }) {
  el.classList.add("retrograde-steps");
  const bar = document.createElement("div");
  const slider = document.createElement("input");
  slider.type = "range";
  slider.min = 0;
  slider.max = model.get("count") - 1;
  slider.setAttribute("aria-label", "visit");
  const label = document.createElement("span");
  const body = document.createElement("div");
  const go = (step) => {
    const last = model.get("count") - 1;
    model.set("step", Math.max(0, Math.min(last, step)));
    model.save_changes();
  };
  for (const [text, title, step] of [
    ["|◀", "first", () => 0],
    ["◀", "back", () => model.get("step") - 1],
    ["▶", "forward", () => model.get("step") + 1],
    ["▶|", "last", () => model.get("count") - 1],
  ]) {
    const button = document.createElement("button");
    button.textContent = text;
    button.title = title;
    button.onclick = () => go(step());
    bar.append(button);
  }
  bar.append(slider, label);
  slider.oninput = () => go(Number(slider.value));
  const show = () => {
    slider.value = model.get("step");
    label.textContent = ` ${model.get("step") + 1} of ${model.get("count")}`;
    body.innerHTML = model.get("body");
  };
  model.on("change:step", show);
  model.on("change:body", show);
  el.append(bar, body);
  show();
}
export default { render };
"""
STYLE = (".retrograde-steps input { width: 50%; vertical-align: middle; } "
         ".retrograde-steps button { margin-right: 2px; }")


def plane(relevance: numpy.ndarray) -> numpy.ndarray:
    """Relevance of the first sample as rows and columns: channels of a map are added up, a list is one row, anything
    else has its last axis as columns."""
    first = relevance[0] if relevance.ndim > 1 else relevance
    if first.ndim == 3:
        return first.sum(axis=0, dtype=numpy.float64)
    return first.reshape(1, -1) if first.ndim < 2 else first.reshape(-1, first.shape[-1])


def drawn(run: Run, name: str) -> str:
    """The relevance of a value: its sum, and a heatmap."""
    if name not in run.relevance:
        return f"<figure><figcaption>{html.escape(name)}: none arrived</figcaption></figure>"
    relevance = run[name]
    data = base64.b64encode(drawing.picture(plane(relevance))).decode()
    shape = " × ".join(map(str, relevance.shape))
    return (f'<figure style="display:inline-block;margin:6px"><img alt="relevance of {html.escape(name)}" '
            f'style="max-width:240px" src="data:image/png;base64,{data}"/><figcaption>{html.escape(name)} ({shape}), '
            f"Σ {relevance.sum(dtype=numpy.float64):.6g}</figcaption></figure>")


def body_of(run: Run, visit: dict[str, Any]) -> str:
    """What one visit shows."""
    names = list(dict.fromkeys([*visit["outputs"], *(one for one in visit["inputs"] if one in run.relevance)]))
    lines = "".join(f"<li>{html.escape(line)}</li>" for line in visit["text"])
    mode = MODES.get(visit["mode"], visit["mode"])
    return (f"<div><b>{html.escape(visit['node'])}</b> · {html.escape(visit['operator'])} · {html.escape(mode)}</div>"
            f"<ul>{lines}</ul>{''.join(drawn(run, name) for name in names[:6])}")


def widget_of(run: Run) -> Any:
    """The widget of a run. Raises UsageError without anywidget or without a record."""
    try:
        import anywidget
        import traitlets
    except ImportError as error:
        raise UsageError("stepping in a notebook needs anywidget: pip install anywidget; run.show() opens the window "
                         "instead") from error
    visits = run.visits()
    if not visits:
        raise UsageError("this run has no visits to step through")

    class Steps(anywidget.AnyWidget):
        """The visits of a run."""

        _esm = PAGE
        _css = STYLE
        step = traitlets.Int(0).tag(sync=True)
        count = traitlets.Int(len(visits)).tag(sync=True)
        body = traitlets.Unicode(body_of(run, visits[0])).tag(sync=True)

        @traitlets.validate("step")
        def _within(self, proposal: Any) -> int:
            return max(0, min(self.count - 1, proposal["value"]))

        @traitlets.observe("step")
        def _moved(self, change: Any) -> None:
            self.body = body_of(run, visits[change["new"]])

    return Steps()
