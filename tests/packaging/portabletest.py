# SPDX-License-Identifier: Apache-2.0
"""The archive of ./dev portable: unpacked, called through a link, a picture drawn, desktop files added."""
import os
import pathlib
import subprocess
import tarfile
import tempfile
import unittest

import dist

ARCHIVE = dist.newest("RETRO_PORTABLE", "retrograde-*-x86_64.tar.xz", "./dev portable")
SAMPLE = dist.ROOT / "samples/clever-hans"


class Portable(unittest.TestCase):
    def test_it_runs_where_it_lies(self):
        with tempfile.TemporaryDirectory() as folder:
            place = pathlib.Path(folder)
            with tarfile.open(ARCHIVE) as files:
                files.extractall(place / "a place with spaces")
            inside = next((place / "a place with spaces").iterdir())
            (place / "link").symlink_to(inside / "retrograde-cli")
            environment = {"HOME": folder, "PATH": "/usr/bin:/bin", "QT_QPA_PLATFORM": "offscreen", "LC_ALL": "C.UTF-8"}

            def run(*command):
                command = list(map(str, command))
                return subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
            self.assertEqual(run(place / "link", "--version").stdout.split(), ["retrograde-cli", dist.version()])
            run(place / "link", "explain", SAMPLE / "clever-hans.onnx", "--input", SAMPLE / "jug-tagged.png",
                "--output-dir", place / "out", "--run", place / "run.retro")
            run(inside / "retrograde", place / "run.retro", "--screenshot", place / "window.png")
            self.assertGreater(os.path.getsize(place / "window.png"), 20_000)
            run(inside / "install-desktop")
            desktop = place / ".local/share/applications/ai.retrograde.Retrograde.desktop"
            self.assertIn(str(inside / "retrograde"), desktop.read_text())
            run(inside / "install-desktop", "--remove")
            self.assertFalse(desktop.exists())


if __name__ == "__main__":
    unittest.main(verbosity=1)
