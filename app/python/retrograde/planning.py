# SPDX-License-Identifier: Apache-2.0
"""Plans for less memory (docs/planning.md)."""
from __future__ import annotations

import os
import tempfile
from typing import Any

from .capture import client
from .errors import UsageError
from .model import Model


def plan(model: Any, budget: int | str | None = None, *, example: Any = (), strategy: str = "fast",
         out: str | None = None, **options: Any) -> tuple[dict[str, Any], dict[str, Any]]:
    """What to keep and what to compute again of a pass, by the command line's `plan`.

    model: a file, a Model, a captured graph (retrograde.capture), or a torch.nn.Module with `example` (a tensor, or a
    tuple of them), for whose shapes it is captured. budget: bytes, "8GB", "50%" of the peak that keeping everything has, or None. strategy: a
    planner (`retrograde-cli plan --strategy list`). out: a file for the plan. Other options are those of `plan`.
    Returns (what `plan` says, with peak and status; the plan as a dictionary, docs/formats/plan.md). Raises
    RetrogradeError; EngineError where no plan keeps within the budget.
    """
    if hasattr(model, "state_dict"):
        from .capture import torchcapture
        if not isinstance(example, (list, tuple)):
            example = (example,)
        if not example:
            raise UsageError("a torch.nn.Module is planned for the shapes of an example: rg.plan(module, budget, "
                             "example=x)")
        model = torchcapture.capture(model, *example, weights=False)
    elif isinstance(model, Model):
        if model.path is None:  # it came from memory
            with tempfile.TemporaryDirectory(prefix="retrograde-") as folder:
                path = os.path.join(folder, "model.onnx")
                model._native.write(path)
                return client.plan(path, budget, strategy, out, **options)
        model = model.path
    return client.plan(model, budget, strategy, out, **options)


def checkpoint(module: Any, budget: int | str | None = None, **options: Any) -> Any:
    """A module that computes what `module` does and whose backward pass keeps within a budget, by a plan.

    module: a torch.nn.Module; its parameters are used. The plan is made for the shapes of the first call. budget: as in
    `plan`. Other options: those of retrograde.capture.torchcheckpoint.checkpointed. Raises RetrogradeError, at the
    first call.
    """
    from .capture import torchcheckpoint
    return torchcheckpoint.checkpointed(module, budget, **options)
