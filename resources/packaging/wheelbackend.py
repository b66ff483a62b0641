# SPDX-License-Identifier: Apache-2.0
"""Builds the wheel with scikit-build-core, then gives it the tag that its symbols allow (PEP 517)."""
from __future__ import annotations

import pathlib
import platform
import subprocess
import sys
import zipfile
from typing import Any

from scikit_build_core.build import (  # noqa: F401  (what pip asks of a backend)
    build_sdist,
    get_requires_for_build_sdist,
    get_requires_for_build_wheel,
    prepare_metadata_for_build_wheel,
)
from scikit_build_core.build import build_wheel as built

GLIBC = "retrograde_programs/inside/glibc"  # resources/packaging/bundle.py
LATER = "retrograde/_native.abi3.so"        # app/python/later


def build_wheel(wheel_directory: str, config_settings: dict[str, Any] | None = None,
                metadata_directory: str | None = None) -> str:
    """The file name of the wheel; its tag is manylinux_X_Y of the newest symbols that anything in it asks for."""
    name = built(wheel_directory, config_settings, metadata_directory)
    wheel = pathlib.Path(wheel_directory) / name
    with zipfile.ZipFile(wheel) as files:
        names = files.namelist()
        if GLIBC not in names:
            return name
        version = files.read(GLIBC).decode().strip()
    tags = ["--platform-tag", f"manylinux_{version.replace('.', '_')}_{platform.machine()}"]
    if LATER in names and any(one.startswith("retrograde/_native.cpython-") for one in names):
        # Two modules: this Python's own, and the stable one that every later one takes.
        tags += ["--abi-tag", "+abi3"]
    made = subprocess.run([sys.executable, "-m", "wheel", "tags", *tags, "--remove", wheel], check=True,
                          capture_output=True, text=True).stdout.strip().splitlines()[-1]
    return pathlib.Path(made).name
