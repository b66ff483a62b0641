# SPDX-License-Identifier: Apache-2.0
"""Loads the compiled module."""
from __future__ import annotations

import functools
import importlib
import os
from typing import Any


@functools.cache
def native() -> Any:
    """The compiled module. Threads of OpenMP that wait do so without using the processor, unless OMP_WAIT_POLICY or
    GOMP_SPINCOUNT says otherwise: that is read while the module is loaded. Raises ImportError where it was not built.
    """
    asked = "OMP_WAIT_POLICY" in os.environ or "GOMP_SPINCOUNT" in os.environ
    if not asked:
        os.environ["OMP_WAIT_POLICY"] = "passive"
    try:
        return importlib.import_module("retrograde._native")
    except ModuleNotFoundError as error:
        raise ImportError("the compiled module of retrograde is not here; build and install it with `pip install .` "
                          "(retrograde.capture works without it)") from error
    finally:
        if not asked:
            del os.environ["OMP_WAIT_POLICY"]
