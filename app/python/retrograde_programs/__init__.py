# SPDX-License-Identifier: Apache-2.0
"""The programs of Retrograde inside this package, and the commands that start them. Without numpy, pathlib and shutil,
so that a command costs what Python costs."""
from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence

HERE = os.path.dirname(os.path.realpath(__file__))
INSIDE = os.path.join(HERE, "inside")  # programs, libraries and data of a wheel
BUILT = os.path.join(os.path.dirname(os.path.dirname(os.path.dirname(HERE))), "build/release/bin")  # of a tree


def path(name: str) -> str:
    """Path of a program ("retrograde", "retrograde-cli", "retrograde-layout", "retrograde-lut-train").

    RETROGRADE_CLI names the command line itself; the others are looked for beside it, too. Then comes the program of
    this package, then the build folder of the tree that this file lies in, then PATH. Raises retrograde.UsageError.
    """
    chosen = os.environ.get("RETROGRADE_CLI")
    if chosen and name == "retrograde-cli":
        if not os.path.isfile(chosen):
            from retrograde.errors import UsageError
            raise UsageError("RETROGRADE_CLI names this file, which is not there; set it anew, or take it away", chosen)
        return chosen
    near = [os.path.dirname(chosen)] if chosen else []
    places = [os.path.join(one, name) for one in (*near, os.path.join(INSIDE, "bin"), BUILT)]
    found = next((one for one in places if os.path.isfile(one)), None)
    if not found:
        import shutil
        found = shutil.which(name)
    if not found:
        from retrograde.errors import UsageError
        raise UsageError(f"there is no {name} here and none in PATH; install Retrograde, or set RETROGRADE_CLI to the "
                         "path of retrograde-cli")
    return found


def environment(given: Mapping[str, str] | None = None) -> dict[str, str]:
    """The variables that a program of this package starts with: those given (default: of this process), with its fonts
    beside the system's, and its keyboards where the system has none. `explain --graph-out --check` asks this Python for
    onnxruntime."""
    variables = dict(os.environ if given is None else given)
    variables.setdefault("RETROGRADE_PYTHON", sys.executable)
    fonts, keyboards = os.path.join(INSIDE, "fonts/fonts.conf"), os.path.join(INSIDE, "xkb")
    if os.path.isfile(fonts):
        variables.setdefault("FONTCONFIG_FILE", fonts)
    if os.path.isdir(keyboards) and not os.path.isdir("/usr/share/X11/xkb"):
        variables.setdefault("XKB_CONFIG_ROOT", keyboards)
    return variables


def start(name: str, arguments: Sequence[str] | None = None) -> None:
    """Becomes a program; does not return. arguments: those of this process where none are given."""
    try:
        program = path(name)
    except ValueError as error:  # a UsageError
        print(f"{name}: {error}", file=sys.stderr)
        sys.exit(getattr(error, "code", 2))
    own = environment()
    os.execve(program, [name, *(sys.argv[1:] if arguments is None else arguments)], own)


def retrograde() -> None:
    """The window."""
    start("retrograde")


def retrograde_cli() -> None:
    """The command line."""
    start("retrograde-cli")


def retrograde_lut_train() -> None:
    """Trains classifiers of LUT layers."""
    start("retrograde-lut-train")
