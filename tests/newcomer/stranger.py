# SPDX-License-Identifier: Apache-2.0
"""What a stranger has: a folder that looks like the source after `./dev run`, and a shell."""
import os
import pathlib
import subprocess
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]


class Shell:
    """A shell in such a folder of its own; what a page calls `retrograde-cli` is found."""

    def __init__(self):
        self.held = tempfile.TemporaryDirectory()
        self.folder = pathlib.Path(self.held.name)
        for name in ("samples", "tests", "docs", "resources"):
            (self.folder / name).symlink_to(ROOT / name)
        (self.folder / "build").mkdir()
        (self.folder / "build/release").symlink_to(os.environ["RETRO_BUILD"])
        self.environment = {**os.environ, "PATH": f"{self.folder}/build/release/bin:{os.environ['PATH']}",
                            "HOME": self.held.name}
        self.last = 0

    def typed(self, line):
        """What a line of the shell prints, and what it says of errors; `last` is its exit code."""
        done = subprocess.run(["bash", "-c", f"(exit {self.last}); {line}"], cwd=self.folder, env=self.environment,
                              stdin=subprocess.DEVNULL, capture_output=True, encoding="utf-8", timeout=300, check=False)
        self.last = done.returncode
        return done.stdout, done.stderr

    def close(self):
        """Removes the folder."""
        self.held.cleanup()
