# SPDX-License-Identifier: Apache-2.0
"""Follows README, Start, the traversal and the how-to pages as they stand. Every command of a block ```console is
typed, and the lines below it must be in what it prints, in their order: words are equal, numbers differ by at most two
parts in a thousand (machines add in other orders), and … leaves out the rest of a line. A command that fails is
followed by `echo $?`."""
import re
import sys
import unittest

from stranger import ROOT, Shell

sys.path.insert(0, str(ROOT / "tests/lint"))
from pages import fault_of, findings_of, links_of

PAGES = [*(ROOT / name for name in ("README.md", "docs/start.md", "docs/traversal.md")),
         *sorted((ROOT / "docs/howto").glob("*.md"))]
LEAST = {"README.md": 1, "docs/howto/README.md": 0}  # commands of a page; else 3
WITHIN = 2e-3


def commands_of(text):
    """(command, lines below it) of the blocks ```console of a page."""
    found = []
    for block in re.findall(r"^```console\n(.*?)^```$", text, re.M | re.S):
        for part in re.split(r"^\$ ", block.replace("\\\n", " "), flags=re.M)[1:]:
            command, *below = part.rstrip("\n").split("\n")
            found.append((command, below))
    return found


def is_same_word(expected, said):
    a, b = (re.sub(r"[;:,]+$", "", one) for one in (expected, said))
    try:
        return abs(float(a) - float(b)) <= WITHIN * max(abs(float(a)), abs(float(b)))
    except ValueError:
        return a == b


def is_same_line(expected, said):
    a, b = expected.split(), said.split()
    if a and a[-1] == "…":
        a.pop()
        b = b[:len(a)]
    return len(a) == len(b) and all(map(is_same_word, a, b))


SAMPLE = "samples/clever-hans/clever-hans.onnx samples/clever-hans/jug-tagged.png"
PRINTS = [f"explain {SAMPLE} --output-dir o --run run.retro", f"explain {SAMPLE} --composite gradient --output-dir g",
          "info samples/clever-hans/clever-hans.onnx", f"verify {SAMPLE}", "audit run.retro", "diagnose run.retro",
          f"evaluate {SAMPLE} --output-dir e", "analyze samples/graphs/resnet50.json", "trace run.retro --at 50",
          "plan samples/graphs/resnet50.json --budget 70% --out p.json"]


class Pages(unittest.TestCase):
    def setUp(self):
        self.shell = Shell()
        self.addCleanup(self.shell.close)

    def follow(self, page, least):
        commands = commands_of(page.read_text(encoding="utf-8"))
        self.assertGreaterEqual(len(commands), least, page.name)
        after = [command for command, _ in commands[1:]] + [""]
        for (command, below), following in zip(commands, after):
            said, complaint = self.shell.typed(command)
            self.assertTrue(self.shell.last == 0 or following == "echo $?", f"{command}\n{complaint}")
            self.assertTrue(below, f"{command}\nthe page does not show what this prints")
            lines = iter((said + complaint).split("\n"))
            for expected in below:
                self.assertTrue(any(is_same_line(expected, line) for line in lines),
                                f"{command}\n{expected}\nis not there, or not behind the lines before, in\n"
                                f"{said}{complaint}")

    def test_what_a_page_shows_is_what_comes(self):
        for page in PAGES:
            with self.subTest(page.name):
                self.follow(page, LEAST.get(page.relative_to(ROOT).as_posix(), 3))

    def test_every_link_leads_somewhere(self):
        found = [ROOT / name for name in ("README.md", "CHANGELOG.md")]
        for folder in ("docs", "samples", ".github"):
            found += (ROOT / folder).rglob("*.md")
        links = 0
        for page in found:
            links += len(links_of(page.read_text(encoding="utf-8")))
            self.assertEqual(findings_of(page), [], page)
        self.assertGreater(links, 300)

    def test_a_dead_link_and_a_private_word_are_found(self):
        readme = ROOT / "README.md"
        self.assertIn("there is no", fault_of(readme, "docs/nowhere.md"))
        self.assertIn("#nowhere", fault_of(readme, "docs/cli.md#nowhere"))
        self.assertEqual(fault_of(readme, "docs/cli.md#export"), "")
        self.assertEqual(links_of("[a](b.md) `[c](d.md)` ![e](f.png)\n```\n[g](h)\n```"), ["b.md", "f.png"])
        page = self.shell.folder / "page.md"
        page.write_text("Ways that carry only a shape\nare no ways.\n", encoding="utf-8")
        self.assertEqual(findings_of(page), ['line 2: "are no ways": say what does not count'])

    def test_every_how_to_page_is_listed(self):
        listed = (ROOT / "docs/howto/README.md").read_text(encoding="utf-8")
        for page in (ROOT / "docs/howto").glob("*.md"):
            self.assertTrue(page.name == "README.md" or f"]({page.name})" in listed, page.name)

    def test_words_in_front_of_lines_are_in_the_glossary(self):
        text = (ROOT / "docs/glossary.md").read_text(encoding="utf-8").lower()
        known = {word.strip() for entry in re.findall(r"^\*\*(.*?)\*\*", text, re.M)
                 for word in re.split(r"[,(]", entry.replace(".", ""))}
        for typed in PRINTS:
            said, complaint = self.shell.typed("retrograde-cli " + typed)
            self.assertEqual(self.shell.last, 0, complaint)
            found = [re.match(r" {0,2}([a-z][a-z ]*?)(?::|  )", line) for line in said.split("\n")[:10]]
            words = {one[1] for one in found if one}
            self.assertTrue(words, said)
            unknown = {word for word in words if not {word, *word.split()} & known}
            self.assertEqual(unknown, set(), typed)

    def test_every_verb_of_dev_is_there(self):
        said, _ = self.shell.typed(f"{ROOT}/dev help")
        verbs = set(re.findall(r"^\./dev (\w+)", said, re.M))
        for page in PAGES[:2]:
            text = page.read_text(encoding="utf-8")
            named = set(re.findall(r"\./dev (\w+)", text)) - {"help"}
            self.assertTrue(named and named <= verbs, named - verbs)

    def test_a_line_that_differs_is_found(self):
        self.assertTrue(is_same_line("region  +1.72465 of +2.2", "region +1.72466 of   +2.2"))
        self.assertFalse(is_same_line("region +1.72465 of +2.2", "region +1.82465 of +2.2"))
        self.assertFalse(is_same_line("region +1.72465 of +2.2", "region +1.72465"))
        self.assertTrue(is_same_line("went from 0 to -1 …", "went from 0 to -1 with what landed"))
        self.assertFalse(is_same_line("axis 1: 47 +0.6533", "axis 1: 29 +0.6533"))
        self.assertEqual(commands_of("```console\n$ a \\\n    b\nc\n$ d\n```\n"), [("a      b", ["c"]), ("d", [])])


if __name__ == "__main__":
    unittest.main()
