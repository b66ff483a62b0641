# SPDX-License-Identifier: Apache-2.0
"""One version everywhere; no machine flags; the wheel is described as the programs are."""
import json
import os
import pathlib
import re
import subprocess
import unittest

import dist


class Versions(unittest.TestCase):
    def test_programs_say_the_version_of_the_project(self):
        cli = pathlib.Path(os.environ["RETROGRADE_CLI"])
        for name in ("retrograde-cli", "retrograde"):
            said = subprocess.run([cli.with_name(name), "--version"], capture_output=True, text=True, check=True).stdout
            self.assertEqual(said.split(), [name, dist.version()])

    def test_the_wheel_takes_it_from_there(self):
        text = (dist.ROOT / "pyproject.toml").read_text(encoding="utf-8")
        self.assertIn('dynamic = ["version"]', text)
        pattern = re.search(r"^regex = '(.*)'$", text, re.M).group(1)
        cmake = (dist.ROOT / "CMakeLists.txt").read_text(encoding="utf-8")
        self.assertEqual(re.search(pattern, cmake).group("value"), dist.version())

    def test_commands_name_programs_that_are_built(self):
        text = (dist.ROOT / "pyproject.toml").read_text(encoding="utf-8")
        scripts = re.findall(r'^(retrograde\S*) = "retrograde_programs:(\w+)"$', text, re.M)
        functions = (dist.ROOT / "app/python/retrograde_programs/__init__.py").read_text(encoding="utf-8")
        self.assertEqual([name for name, _ in scripts], ["retrograde", "retrograde-cli", "retrograde-lut-train"])
        for name, function in scripts:
            self.assertIn(f"def {function}() -> None:", functions)
            self.assertIn(f'"{name}"', re.search(r"build.targets = (.*)", text).group(1))

    def test_the_packages_that_the_first_page_names_are_those_that_a_wheel_needs(self):
        dev = (dist.ROOT / "dev").read_text(encoding="utf-8")
        needed = re.search(r"^readonly run_packages=\((.*?)\)", dev, re.M | re.S).group(1).split()
        page = (dist.ROOT / "docs/start.md").read_text(encoding="utf-8")
        named = re.search(r"^apt-get install --no-install-recommends (.*?)\npip wheel -v \.", page, re.M | re.S).group(1)
        self.assertEqual(named.replace("\\\n", " ").split(), [*needed, "python3-dev", "python3-pip", "patchelf"])

    def test_no_source_is_compiled_for_one_processor(self):
        path = pathlib.Path(os.environ["RETRO_COMPILE_COMMANDS"])
        commands = json.loads(path.read_text(encoding="utf-8"))
        self.assertGreater(len(commands), 100)
        for one in commands:
            self.assertIsNone(re.search(r"\s-m(arch|avx|sse|tune|fma)\S*", one["command"]), one["file"])


class Programs(unittest.TestCase):
    def test_python_m_knows_every_verb(self):
        cli = [os.environ["RETROGRADE_CLI"], "--help"]
        said = subprocess.run(cli, capture_output=True, text=True, check=True).stdout
        verbs = set(re.findall(r"^  (\w+) ", said.split("Subcommands:")[1], re.M))
        text = (dist.ROOT / "app/python/retrograde/__main__.py").read_text(encoding="utf-8")
        named = set(re.findall(r'"(\w+)"', re.search(r"VERBS = \((.*?)\)", text, re.S).group(1)))
        self.assertEqual(named, verbs)

    def test_a_program_of_the_package_is_preferred_and_its_absence_is_said(self):
        code = ("import retrograde_programs as p, os; "
                "print(p.path('retrograde-cli')); os.environ['RETROGRADE_CLI'] = ''; os.environ['PATH'] = ''; "
                "p.INSIDE = p.BUILT = '/nowhere'\n"
                "try: p.path('retrograde')\nexcept ValueError as e: print(e.code)")
        environment = {**os.environ, "PYTHONPATH": str(dist.ROOT / "app/python")}
        done = subprocess.run(["python3", "-c", code], env=environment, capture_output=True, text=True, check=True)
        self.assertEqual(done.stdout.split(), [os.environ["RETROGRADE_CLI"], "2"])

    def test_a_program_that_is_not_there_is_said_by_its_command(self):
        code = "import retrograde_programs as p; p.retrograde_cli()"
        environment = {**os.environ, "PYTHONPATH": str(dist.ROOT / "app/python"), "RETROGRADE_CLI": "/nowhere/cli"}
        done = subprocess.run(["python3", "-c", code], env=environment, capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, 2)
        self.assertIn("/nowhere/cli", done.stderr)
        self.assertNotIn("Traceback", done.stderr)


if __name__ == "__main__":
    unittest.main(verbosity=1)
