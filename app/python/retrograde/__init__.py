# SPDX-License-Identifier: Apache-2.0
"""Retrograde from Python: which parts of an input the answer of a network rests on, and where relevance went.

    import retrograde as rg
    model = rg.load("model.onnx")                    # path, bytes, onnx.ModelProto, torch.nn.Module + example
    run = model.explain(x, composite="epsilon_plus", target=3)
    run["input"]                                     # relevance of a value, a view
    run.audit()["unexplained"], run.diagnose()["findings"]
    run.history("input", (0, 0, 12, 86))             # how the relevance of one element came to be
    run.save("x.retro"); rg.open("x.retro")
    run.heatmap("x.png", overlay=True); run.show()   # the window; rg.connect() sends every run to an open one
    rg.table(model.each("pictures/", jobs=4))        # a folder, a generator, a DataLoader; rows for pandas

Computed in this process, without Qt and without files; the numbers are those of the command line, bit for bit. What is
refused is raised as one of the family of RetrogradeError. `retrograde.capture` holds captures of PyTorch and JAX;
`rg.plan` and `rg.checkpoint` plan for less memory. docs/python.md.
"""
from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from .errors import Cancelled, EngineError, InputError, OutOfMemory, OutputError, RetrogradeError, UsageError

if TYPE_CHECKING:
    from . import capture
    from .capture.client import Composite, analyze
    from .live import Live, connect
    from .model import Model, explain, load, options, set_threads, table, threads
    from .planning import checkpoint, plan
    from .run import Run
    from .run import open_run as open
    from .text import TextExplanation, explain_text

# Imported when they are asked for: what needs the compiled module or numpy does not slow the others down.
_HOMES = {"load": "model", "explain": "model", "Model": "model", "options": "model", "set_threads": "model",
          "threads": "model", "table": "model", "Run": "run", "open": "run", "plan": "planning", "checkpoint": "planning",
          "Live": "live", "connect": "live", "explain_text": "text", "TextExplanation": "text",
          "Composite": "capture.client", "analyze": "capture.client"}
__all__ = ["Cancelled", "Composite", "EngineError", "InputError", "Live", "Model", "OutOfMemory", "OutputError",
           "RetrogradeError", "Run", "TextExplanation", "UsageError", "analyze", "capture", "checkpoint", "connect",
           "explain", "explain_text", "load", "open", "options", "plan", "set_threads", "table", "threads"]


def __getattr__(name: str) -> Any:
    if name == "__version__":
        from .native import native
        return native().version
    if name == "capture":
        return importlib.import_module(".capture", __name__)
    if name not in _HOMES:
        raise AttributeError(f"module 'retrograde' has no attribute '{name}'")
    value = getattr(importlib.import_module("." + _HOMES[name], __name__), "open_run" if name == "open" else name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__, "__version__"})
