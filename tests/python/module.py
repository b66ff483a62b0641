# SPDX-License-Identifier: Apache-2.0
"""What the tests of the Python module share: it, numpy, the sample, and leaving with 77 where it was not built."""
import pathlib
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
SAMPLE = ROOT / "samples/clever-hans/clever-hans.onnx"
PICTURE = ROOT / "samples/clever-hans/jug-tagged.png"
SKIPPED = 77

try:
    import numpy

    import retrograde as rg
    rg.__version__  # noqa: B018  (loads the compiled module)
except ImportError as error:
    print(f"skipped: {sys.executable}: {error}")
    sys.exit(SKIPPED)


class Case(unittest.TestCase):
    """A test with a folder of its own, and the sample."""

    def setUp(self):
        held = tempfile.TemporaryDirectory()
        self.addCleanup(held.cleanup)
        self.folder = pathlib.Path(held.name)
        self.model = rg.load(SAMPLE)

    def picture(self):
        """The input for the sample's picture; an array of its own."""
        return numpy.array(self.model.explain(PICTURE, inputs_only=True).inputs["image"])

    def command(self, *arguments):
        """What the command line writes into a folder of this test."""
        import retrograde_programs
        command = [retrograde_programs.path("retrograde-cli"), *map(str, arguments)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout

    def refused(self, kind, code, *words):
        """A context in which that must be raised, with these words."""
        case = self

        class Context:
            def __enter__(self):
                return self

            def __exit__(self, raised_kind, raised, _):
                case.assertIsInstance(raised, kind)
                case.assertEqual(raised.code, code)
                for word in words:
                    case.assertIn(word, str(raised))
                return True
        return Context()
