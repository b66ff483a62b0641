# SPDX-License-Identifier: Apache-2.0
"""What `./dev release` writes beside the packages: notes, parts and checksums, of packages made up here."""
import io
import json
import pathlib
import shutil
import subprocess
import sys
import tarfile
import tempfile
import unittest
import zipfile

import dist

SCRIPT = dist.ROOT / "resources/packaging/release.py"
TABLE = "package\tversion\tsource\nlibqt6core6:amd64\t6.4.2\tqt6-base 6.4.2\nnanobind\t2.4\tPyPI nanobind 2.4\n"


class Release(unittest.TestCase):
    def setUp(self):
        held = tempfile.TemporaryDirectory()
        self.addCleanup(held.cleanup)
        self.folder = pathlib.Path(held.name)
        with zipfile.ZipFile(self.folder / "retrograde-1-cp311.whl", "w") as files:
            files.writestr("retrograde_programs/inside/licenses/SOURCES.tsv", TABLE)
        with tarfile.open(self.folder / "retrograde-1.tar.xz", "w:xz") as files:
            member = tarfile.TarInfo("retrograde-1/inside/licenses/SOURCES.tsv")
            member.size = len(TABLE)
            files.addfile(member, io.BytesIO(TABLE.encode()))
        if shutil.which("dpkg-deb"):
            control = self.folder / "deb/DEBIAN"
            control.mkdir(parents=True)
            (control / "control").write_text("Package: retrograde\nVersion: 1\nArchitecture: all\nMaintainer: a <a@b.c>\n"
                                             "Depends: libc6 (>= 2.36), libqt6core6\nDescription: none\n")
            subprocess.run(["dpkg-deb", "-b", self.folder / "deb", self.folder / "retrograde_1.deb"], check=True,
                           stdout=subprocess.DEVNULL)

    def finish(self, version):
        return subprocess.run([sys.executable, SCRIPT, self.folder, version], capture_output=True, text=True, check=False)

    def test_notes_parts_and_checksums_are_there(self):
        (self.folder / "try.html").write_text("<!DOCTYPE html>")
        done = self.finish(dist.version())
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertTrue((self.folder / "NOTES.md").read_text().startswith(f"# Retrograde {dist.version()}\n\nEach file works"))
        parts = json.loads((self.folder / "sbom.cdx.json").read_text())
        self.assertEqual(parts["bomFormat"], "CycloneDX")
        for package in parts["components"]:
            names = {one["name"] for one in package["components"]}
            self.assertLess({"libc6"} if package["name"].endswith(".deb") else {"nanobind"}, names)
        self.assertIn("  try.html\n", (self.folder / "SHA256SUMS").read_text())
        subprocess.run(["sha256sum", "--quiet", "-c", "SHA256SUMS"], cwd=self.folder, check=True)

    def test_a_version_without_notes_is_refused(self):
        done = self.finish("99.0")
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("says nothing of 99.0", done.stderr)


if __name__ == "__main__":
    unittest.main()
