# SPDX-License-Identifier: Apache-2.0
"""Runs of a session go to a window that listens; without one, and when it goes away, that is said."""
import os
import pathlib
import subprocess
import tempfile
import time
import unittest
import warnings

from module import PICTURE, Case, rg

PATIENCE = 120  # seconds


class Session(Case):
    """A test with a folder of the session of its own, without windows of others."""

    def setUp(self):
        super().setUp()
        held = tempfile.TemporaryDirectory(prefix="live-")  # short: the path of a socket has a bound
        self.addCleanup(held.cleanup)
        before = os.environ.get("XDG_RUNTIME_DIR")
        os.environ["XDG_RUNTIME_DIR"] = held.name
        self.addCleanup(lambda: os.environ.pop("XDG_RUNTIME_DIR") if before is None
                        else os.environ.update(XDG_RUNTIME_DIR=before))
        self.sockets = pathlib.Path(held.name) / "retrograde"

    def window(self):
        """An open window that listens."""
        import retrograde_programs
        started = subprocess.Popen([retrograde_programs.path("retrograde"), "--live"],
                                   env={**os.environ, "QT_QPA_PLATFORM": "offscreen", "HOME": str(self.folder)})
        self.addCleanup(started.wait)
        self.addCleanup(started.kill)
        end = time.monotonic() + PATIENCE
        while not list(self.sockets.glob("live-*.sock")):
            self.assertLess(time.monotonic(), end, "no window listens")
            self.assertIsNone(started.poll(), "the window ended")
            time.sleep(0.05)
        return started


class Connections(Session):
    def test_without_a_window_that_is_said(self):
        with self.refused(rg.OutputError, 5, "retrograde --live"):
            rg.connect()
        self.sockets.mkdir(mode=0o700)
        (self.sockets / "live-1.sock").touch()  # left behind by a window that ended
        with self.refused(rg.OutputError, 5, "no window listens"):
            rg.connect()

    def test_every_recorded_run_is_sent_until_it_is_closed(self):
        self.window()
        with rg.connect() as live:
            self.assertIs(rg.connect(), live)
            sent = [self.model.explain(PICTURE, composite=name) for name in ("epsilon", "epsilon_plus")]
            self.model.explain(PICTURE, record=False)
            self.assertIn("2 runs sent", repr(live))
            files = sorted(live._folder.iterdir())
            self.assertEqual(len(files), 2)
            for run, file in zip(sent, files):
                self.assertTrue(run.compare(file)["agree"])
        self.assertFalse(live.is_open)
        self.model.explain(PICTURE)
        self.assertEqual(len(list(live._folder.iterdir())), 2)
        with self.refused(rg.OutputError, 5, "rg.connect()"):
            live.send(sent[0])
        with self.refused(rg.UsageError, 2, "record=True"):
            with rg.connect() as again:
                again.send(self.model.explain(PICTURE, record=False))

    def test_a_window_that_goes_away_ends_nothing_else(self):
        window = self.window()
        live = rg.connect()
        self.addCleanup(live.close)
        window.kill()
        window.wait()
        with warnings.catch_warnings(record=True) as said:
            warnings.simplefilter("always")
            run = self.model.explain(PICTURE)
        self.assertTrue(any("the window is gone" in str(one.message) for one in said))
        self.assertFalse(live.is_open)
        self.assertTrue(run["image"].any())


if __name__ == "__main__":
    unittest.main(verbosity=1)
