# SPDX-License-Identifier: Apache-2.0
"""`python -m retrograde`: the window, or with the name of a verb first the command line.

    python -m retrograde model.onnx            opens the window
    python -m retrograde explain model.onnx …  is retrograde-cli explain …
"""
import sys

import retrograde_programs as programs

VERBS = ("analyze", "audit", "compare", "diagnose", "evaluate", "explain", "export", "grad", "info", "lut", "ops",
         "plan", "run", "simulate", "trace", "verify")


def main() -> None:
    """Becomes one of the programs; ends with its exit code, or with 2 where there is none."""
    first = sys.argv[1] if len(sys.argv) > 1 else ""
    try:
        programs.start("retrograde-cli" if first in VERBS else "retrograde")
    except ValueError as error:
        print(f"retrograde: {error}", file=sys.stderr)
        sys.exit(getattr(error, "code", 2))


if __name__ == "__main__":
    main()
