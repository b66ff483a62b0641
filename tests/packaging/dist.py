# SPDX-License-Identifier: Apache-2.0
"""What the tests of packages share: where the newest one lies, and leaving with 77 without one."""
import os
import pathlib
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
SKIPPED = 77
SYSTEM = {"libc.so.6", "libm.so.6", "libdl.so.2", "libpthread.so.0", "librt.so.1", "libresolv.so.2", "libutil.so.1",
          "libstdc++.so.6", "libgcc_s.so.1", "libexpat.so.1", "ld-linux-x86-64.so.2"}


def skip(why):
    """Leaves, and says why."""
    print(f"skipped: {why}")
    sys.exit(SKIPPED)


def newest(variable, pattern, how):
    """The package that a variable names, else the newest of build/dist."""
    if os.environ.get(variable):
        return pathlib.Path(os.environ[variable])
    found = sorted((ROOT / "build/dist").glob(pattern), key=lambda path: path.stat().st_mtime)
    return found[-1] if found else skip(f"there is no {pattern} in build/dist; make it with {how}")


def version():
    """The version, from its one home."""
    import re
    return re.search(r"project\(Retrograde VERSION ([0-9.]+)", (ROOT / "CMakeLists.txt").read_text()).group(1)
