# SPDX-License-Identifier: Apache-2.0
"""A wheel that was built: tag, size, licences, needed libraries; installed into an empty environment, used, removed."""
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest
import zipfile

import dist

WHEEL = dist.newest("RETRO_WHEEL", "retrograde-*.whl", "./dev wheel")
INSIDE = "retrograde_programs/inside"


class Files(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.held = tempfile.TemporaryDirectory()
        cls.addClassCleanup(cls.held.cleanup)
        cls.folder = pathlib.Path(cls.held.name)
        with zipfile.ZipFile(WHEEL) as files:
            files.extractall(cls.folder)

    def test_the_tag_is_that_of_the_symbols_and_the_file_is_small(self):
        self.assertLess(WHEEL.stat().st_size, 100e6)
        version = (self.folder / INSIDE / "glibc").read_text().strip().replace(".", "_")
        self.assertIn(f"manylinux_{version}_x86_64", WHEEL.name)
        self.assertLessEqual(int(version.split("_")[1]), 36)
        self.assertIn(f"retrograde-{dist.version()}-", WHEEL.name)

    def test_every_tag_has_its_module(self):
        names = sorted(path.name for path in (self.folder / "retrograde").glob("_native*.so"))
        python, abi = re.search(r"-(cp\d+)-([\w.]+)-manylinux", WHEEL.name).groups()
        expected = {"abi3": "_native.abi3.so", python: f"_native.cpython-{python[2:]}-x86_64-linux-gnu.so"}
        self.assertEqual(names, sorted(expected[one] for one in abi.split(".")))
        with open(next(self.folder.glob("*.dist-info/WHEEL")), encoding="utf-8") as file:
            tags = {line.split(": ")[1].split("-")[1] for line in file.read().splitlines() if line.startswith("Tag: ")}
        self.assertEqual(tags, set(abi.split(".")))

    def test_every_library_is_inside_or_of_every_system(self):
        if not shutil.which("readelf"):
            self.skipTest("there is no readelf")
        inside = {path.name for path in (self.folder / INSIDE / "lib").iterdir()}
        looked = 0
        for path in self.folder.rglob("*"):
            if not path.is_file() or path.read_bytes()[:4] != b"\x7fELF":
                continue
            said = subprocess.run(["readelf", "-d", path], capture_output=True, text=True, check=True).stdout
            needed = set(re.findall(r"\(NEEDED\).*\[(.+)\]", said))
            self.assertEqual(needed - inside - dist.SYSTEM, set(), path.name)
            looked += 1
        self.assertGreater(looked, 50)

    def test_the_core_is_inside_once(self):
        if not shutil.which("readelf"):
            self.skipTest("there is no readelf")
        inside = self.folder / INSIDE
        core = list((inside / "lib").glob("libretrograde-core*.so"))
        self.assertEqual(len(core), 1)
        own = [*core, *(inside / "bin").glob("retrograde*"), *(self.folder / "retrograde").glob("_native*.so")]
        defines = {}
        for path in own:
            said = subprocess.run(["readelf", "-W", "--dyn-syms", path], capture_output=True, text=True, check=True)
            symbols = re.findall(r" FUNC +GLOBAL +DEFAULT +\d+ (_ZN\w*5retro3ops\w+)", said.stdout)
            if symbols:
                defines[path.name] = len(symbols)
        self.assertEqual([*defines], [core[0].name], defines)

    def test_every_package_has_its_licence_and_source(self):
        folder = self.folder / INSIDE / "licenses"
        rows = [line.split("\t") for line in (folder / "SOURCES.tsv").read_text().splitlines()]
        self.assertEqual(rows[0], ["package", "version", "source"])
        self.assertGreater(len(rows), 30)
        notices = {path.stem for path in folder.glob("*.txt")}
        self.assertEqual({row[0] for row in rows[1:]}, notices)
        for path in folder.glob("*.txt"):
            self.assertGreater(path.stat().st_size, 100, path.name)
        self.assertLessEqual({"nanobind", "robin-map", "nlohmann-json3-dev", "libcli11-dev"}, notices)
        self.assertTrue({"libqt6core6", "libdnnl2"} <= {name.split(":")[0] for name in notices} or
                        any(name.startswith("libqt6core6") for name in notices))

    def test_every_module_of_the_package_is_there(self):
        for package in ("retrograde", "retrograde_programs"):
            for path in (dist.ROOT / "app/python" / package).rglob("*.py"):
                place = path.relative_to(dist.ROOT / "app/python")
                self.assertEqual((self.folder / place).read_bytes(), path.read_bytes(), place)
        self.assertTrue((self.folder / "retrograde/py.typed").exists())

    def test_data_of_programs_is_there(self):
        for name in ("bin/qt.conf", "fonts/fonts.conf", "plugins/platforms/libqxcb.so", "xkb/rules/evdev",
                     "share/ai.retrograde.Retrograde.desktop"):
            self.assertTrue((self.folder / INSIDE / name).exists(), name)


class Installed(unittest.TestCase):
    def test_it_works_and_leaves_nothing(self):
        with tempfile.TemporaryDirectory() as folder:
            place = pathlib.Path(folder)
            tag = re.search(r"-cp(\d)(\d+)-", WHEEL.name)
            python = shutil.which(f"python{tag.group(1)}.{tag.group(2)}") or sys.executable
            done = subprocess.run([python, "-m", "venv", place / "env"], capture_output=True, text=True, check=False)
            if done.returncode != 0:
                self.skipTest(f"no empty environment can be made: {done.stderr.strip()}")
            before = {path for path in (place / "env").rglob("*") if "__pycache__" not in path.parts}
            bin_ = place / "env/bin"
            done = subprocess.run([bin_ / "pip", "install", "-q", WHEEL], capture_output=True, text=True, check=False)
            if done.returncode != 0 and "numpy" in done.stderr:
                self.skipTest("numpy cannot be had here")
            self.assertEqual(done.returncode, 0, done.stderr)
            use = dist.ROOT / "tests/packaging/useinstalled.sh"
            subprocess.run(["bash", use, bin_, dist.ROOT / "samples", place / "out"], check=True,
                           env={"PATH": f"{bin_}:/usr/bin:/bin", "HOME": folder, "LC_ALL": "C.UTF-8"})
            subprocess.run([bin_ / "pip", "uninstall", "-q", "-y", "retrograde", "numpy"], check=True)
            after = {path for path in (place / "env").rglob("*") if "__pycache__" not in path.parts}
            self.assertEqual({str(path) for path in after - before}, set())


if __name__ == "__main__":
    unittest.main(verbosity=1)
