# SPDX-License-Identifier: Apache-2.0
"""Mistakes that people make in their first hour: each ends with its exit code, and with words that say what to do."""
import json
import struct
import unittest

from stranger import Shell

MODEL, PICTURE = "samples/clever-hans/clever-hans.onnx", "samples/clever-hans/jug-tagged.png"
EXPLAIN = f"retrograde-cli explain {MODEL} {PICTURE} --output-dir out"

# (what is typed, exit code, words of the remedy)
MISTAKES = [
    ("retrograde-cli explian", 2, ["did you mean explain"]),
    (f"{EXPLAIN} --compsite epsilon", 2, ["did you mean --composite"]),
    (f"{EXPLAIN} --composite epsilon_pls", 2, ["did you mean epsilon_plus"]),
    (f"{EXPLAIN} --rule op:Conv=gama", 2, ["did you mean gamma"]),
    (f"{EXPLAIN} --target mugs", 2, ["did you mean mug"]),
    (f"{EXPLAIN} --target Mgu", 2, ["did you mean mug"]),
    (f"{EXPLAIN} --target 99", 2, ["99", "6"]),
    (f"{EXPLAIN} --checkpoint stem.rellu", 2, ["stem"]),
    (f"{EXPLAIN} --budget 1%", 4, ["no plan needs less than 331776", "give more"]),
    (f"{EXPLAIN} --memory 8G", 2, ["8GB", "8GiB"]),
    (f"{EXPLAIN} --threads none", 2, ["--threads"]),
    (f"{EXPLAIN} --image map.webp", 2, [".png"]),
    (f"{EXPLAIN} --text hello", 2, ["--text"]),
    (f"retrograde-cli explain {PICTURE} {MODEL} --output-dir out", 3, ["this is a picture", "name the model first"]),
    ("retrograde-cli explain samples/clever-hans --output-dir out", 3, ["folder"]),
    ("retrograde-cli explain nowhere.onnx --output-dir out", 3, ["nowhere.onnx", "no such file"]),
    ("retrograde-cli explain cut.onnx --output-dir out", 3, ["cut.onnx", "ends"]),
    ("retrograde-cli explain - --output-dir out", 3, ["standard input is not read", "name that file"]),
    (f"retrograde-cli explain {MODEL} small.npy --output-dir out", 3, ["1 × 3 × 5 × 5", "96"]),
    (f"retrograde-cli explain {MODEL} {PICTURE} --output-dir small.npy", 5, ["small.npy"]),
    (f"retrograde-cli explain {MODEL} picture.png --output-dir out --image picture.png", 2, ["picture.png"]),
    (f"retrograde-cli audit {MODEL}", 3, ["--run"]),
    ("retrograde-cli explain out/run.retro --output-dir again", 3, ["run"]),
    ("retrograde-cli trace out/run.retro --why nothing", 2, ["nothing"]),
]


class Mistakes(unittest.TestCase):
    def setUp(self):
        self.shell = Shell()
        self.addCleanup(self.shell.close)
        folder = self.shell.folder
        (folder / "cut.onnx").write_bytes((folder / MODEL).read_bytes()[:200_000])
        (folder / "picture.png").write_bytes((folder / PICTURE).read_bytes())
        head = "{'descr': '<f4', 'fortran_order': False, 'shape': (1, 3, 5, 5), }".ljust(117) + "\n"
        (folder / "small.npy").write_bytes(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(head)) + head.encode() +
                                           bytes(300))
        self.shell.typed(f"{EXPLAIN} --run out/run.retro")

    def test_each_mistake_gets_its_remedy(self):
        self.assertGreaterEqual(len(MISTAKES), 20)
        for typed, code, words in MISTAKES:
            with self.subTest(typed):
                said, complaint = self.shell.typed(typed)
                self.assertEqual(self.shell.last, code, said + complaint)
                for word in words:
                    self.assertIn(word, complaint)
                self.assertLess(len(complaint), 1500)

    def test_with_json_the_refusal_is_the_answer(self):
        said, _ = self.shell.typed(f"{EXPLAIN} --composite epsilon_pls --json")
        answer = json.loads(said)
        self.assertEqual(answer["exit"], 2)
        self.assertIn("epsilon_plus", answer["error"] + (answer["remedy"] or ""))

    def test_what_cannot_be_parsed_is_an_answer_too(self):
        for typed, words in (("explian", "did you mean explain"), ("explain", "MODEL is required")):
            said, _ = self.shell.typed(f"retrograde-cli {typed} --json")
            answer = json.loads(said)
            self.assertEqual((answer["exit"], self.shell.last), (2, 2))
            self.assertIn(words, answer["error"] + answer["remedy"])

    def test_verify_begins_with_one_sentence(self):
        said, _ = self.shell.typed(f"retrograde-cli verify {MODEL} {PICTURE}")
        self.assertTrue(said.startswith("The arithmetic of this model and input is right: 20 checks "), said[:200])

    def test_several_files_are_explained_one_after_the_other(self):
        said, complaint = self.shell.typed(f"retrograde-cli explain {MODEL} {PICTURE} picture.png "
                                           f"{PICTURE.replace('-tagged', '')} --output-dir many")
        self.assertIn("3 explained now", said, complaint)
        self.assertTrue((self.shell.folder / "many/picture/summary.json").is_file())

    def test_labels_are_found_whatever_the_case(self):
        said, complaint = self.shell.typed(f"{EXPLAIN} --target Lamp")
        self.assertEqual(self.shell.last, 0, complaint)
        self.assertIn("lamp", said)

    def test_help_fits_a_terminal_of_eighty_columns(self):
        for program in ("retrograde", "retrograde-lut-train", "retrograde-cli", "retrograde-cli diagnose"):
            said, _ = self.shell.typed(f"{program} --help")
            wide = [line for line in said.split("\n") if len(line) > 80 and not line.startswith("  /")]
            self.assertTrue(said and not wide, f"{program}: {wide}")

    def test_head_ends_quietly(self):
        said, complaint = self.shell.typed("set -o pipefail; retrograde-cli ops | head -n 1")
        self.assertTrue(said)
        self.assertEqual(complaint, "")


if __name__ == "__main__":
    unittest.main()
