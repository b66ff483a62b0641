# SPDX-License-Identifier: Apache-2.0
"""What the tests of retrograde.capture share: where the modules lie, and leaving with 77 when a package is missing."""
import importlib
import pathlib
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
SKIPPED = 77
sys.path.insert(0, str(ROOT / "app/python"))


def need(*packages):
    """Imports packages; without one of them the test is skipped, and says why."""
    found = []
    for name in packages:
        try:
            found.append(importlib.import_module(name))
        except ImportError as error:
            print(f"skipped: {sys.executable} has no {name} ({error})")
            sys.exit(SKIPPED)
    if "torch" in packages:
        found[packages.index("torch")].set_num_threads(1)
    return found[0] if len(found) == 1 else found


class Case(unittest.TestCase):
    """A test with a folder of its own."""

    def setUp(self):
        self._folder = tempfile.TemporaryDirectory()
        self.addCleanup(self._folder.cleanup)
        self.folder = pathlib.Path(self._folder.name)

    def refused(self, error, *words):
        """A context in which this error must be raised, with all of these words in its message."""
        case = self

        class Context:
            def __enter__(self):
                return self

            def __exit__(self, kind, raised, _):
                case.assertIsNotNone(raised, "nothing was refused")
                if not isinstance(raised, error):
                    return False
                for word in words:
                    case.assertIn(word, str(raised))
                return True

        return Context()


def most_allocated(function):
    """The most bytes that PyTorch has allocated at once, beside what was there before, while a function runs on the
    processor."""
    import torch.profiler as profiler

    with profiler.profile(activities=[profiler.ProfilerActivity.CPU], profile_memory=True) as profile:
        function()
    events = [(event.start_ns(), event.nbytes()) for event in profile.profiler.kineto_results.events()
              if event.name() == "[memory]"]
    now = most = 0
    for _, size in sorted(events, key=lambda event: event[0]):
        now += size
        most = max(most, now)
    return most


def run():
    """Runs the tests of the main module."""
    unittest.main(verbosity=1)
