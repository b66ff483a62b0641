# SPDX-License-Identifier: Apache-2.0
"""Loads the compiled module."""
from __future__ import annotations

import functools
import importlib
import os
from typing import Any


def _is_openmp_loaded() -> bool:
    """Whether somebody else loaded libgomp: ours is then the same, and waits as it did before."""
    try:
        with open("/proc/self/maps", encoding="utf-8", errors="replace") as file:
            return "libgomp" in file.read()
    except OSError:
        return False


@functools.cache
def native() -> Any:
    """The compiled module. Threads of OpenMP that wait do so without using the processor, unless OMP_WAIT_POLICY or
    GOMP_SPINCOUNT says otherwise: that is read while the run time of OpenMP is loaded. Where PyTorch or another package
    was first, each pass sees to it (app/python/unlocked.h). Raises ImportError where it was not built.
    """
    asked = "OMP_WAIT_POLICY" in os.environ or "GOMP_SPINCOUNT" in os.environ
    is_shared = not asked and _is_openmp_loaded()
    if not asked:
        os.environ["OMP_WAIT_POLICY"] = "passive"
    try:
        module = importlib.import_module("retrograde._native")
        module.shares_threads(is_shared)
        return module
    except ModuleNotFoundError as error:
        raise ImportError("the compiled module of retrograde is not here; build and install it with `pip install .` "
                          "(retrograde.capture works without it)") from error
    finally:
        if not asked:
            del os.environ["OMP_WAIT_POLICY"]
