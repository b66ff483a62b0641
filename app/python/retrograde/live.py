# SPDX-License-Identifier: Apache-2.0
"""Runs of a running session in an open window, by a local socket of this user."""
from __future__ import annotations

import atexit
import json
import os
import pathlib
import re
import socket
import subprocess
import tempfile
import threading
import time
import warnings
from typing import TYPE_CHECKING, Any

import retrograde_programs as programs

from .errors import OutputError

if TYPE_CHECKING:
    from .run import Run

PATIENCE = 10.0  # seconds for an answer
STARTING = 30.0  # seconds for a window that was just started
_connected: list[Live] = []


def folder() -> pathlib.Path:
    """Where windows of this user have their sockets: in the folder of the session (XDG_RUNTIME_DIR), else among the
    temporary files."""
    session = os.environ.get("XDG_RUNTIME_DIR", "")
    if os.path.isabs(session) and os.path.isdir(session):
        return pathlib.Path(session) / "retrograde"
    return pathlib.Path(tempfile.gettempdir()) / f"retrograde-{os.getuid()}"


def listening(near: socket.socket) -> str | None:
    """Connects to the newest window that listens; the path of its socket, or None where there is none."""
    try:
        found = sorted(folder().glob("live-*.sock"), key=lambda path: path.stat().st_mtime, reverse=True)
    except OSError:
        return None
    for path in found:
        try:
            near.connect(str(path))
            return str(path)
        except OSError:  # of a window that ended without taking it away
            continue
    return None


class Live:
    """A connection to an open window; `connect` makes it. As long as it is open, every run that is recorded is sent.
    Also a context: closed at its end."""

    def __init__(self, near: socket.socket, place: str) -> None:
        self._socket: socket.socket | None = near
        self._lock = threading.Lock()
        self._heard = b""
        self._sent = 0
        #: Path of the socket.
        self.place = place
        greeting = self._hear()
        if greeting.get("retrograde") != 1 or not greeting.get("folder"):
            self.close()
            raise OutputError("what listens there is no window of this version of Retrograde", place)
        self._folder = pathlib.Path(greeting["folder"])

    @property
    def is_open(self) -> bool:
        """Whether runs are still sent."""
        return self._socket is not None

    def send(self, run: Run) -> None:
        """Sends a recorded run. Raises UsageError without a record, OutputError where the window is gone or refuses."""
        with self._lock:
            if self._socket is None:
                raise OutputError("the window is gone; rg.connect() finds another one", self.place)
            self._sent += 1
            stem = re.sub(r"[^\w.-]", "_", pathlib.Path(run.model_name).stem)[:60] or "run"
            try:
                path = run.save(self._folder / f"{os.getpid()}-{self._sent:04d}-{stem}.retro")
                value, index, _ = run.target
                said = {"run": path, "model": run.model_name, "composite": run.composite,
                        "target": f"{value} {', '.join(map(str, index[:4]))}"}
                self._socket.sendall(json.dumps(said).encode() + b"\n")
                answer = self._hear()
            except (OSError, json.JSONDecodeError) as error:  # OutputError is an OSError
                self._end()
                raise OutputError(f"the window is gone ({error})", self.place) from error
        if "taken" not in answer:
            raise OutputError(answer.get("refused", "the window ended"), self.place)

    def close(self) -> None:
        """Sends nothing any more; the window keeps what it has."""
        with self._lock:
            self._end()

    def __enter__(self) -> Live:
        return self

    def __exit__(self, *_: Any) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<retrograde.Live: {'connected' if self.is_open else 'closed'}, {self._sent} runs sent>"

    def _end(self) -> None:
        if self in _connected:
            _connected.remove(self)
        if self._socket is not None:
            self._socket.close()
            self._socket = None

    def _hear(self) -> dict[str, Any]:
        """The next line; empty where the other end is closed."""
        while b"\n" not in self._heard:
            got = self._socket.recv(4096) if self._socket is not None else b""
            if not got:
                return {}
            self._heard += got
        line, _, self._heard = self._heard.partition(b"\n")
        return json.loads(line)


def connect(start: bool = False) -> Live:
    """Sends every run that is recorded from now on to an open window that listens, until the connection is closed.

    The window listens where it was asked to: File ▸ Runs from notebooks, or `retrograde --live`. With start=True and no
    such window one is started. The list of runs there grows; each can be stepped, compared and diagnosed. Each run is
    written into a file before `explain` returns, which takes as long as `Run.save`. A window that goes away ends the
    connection with a warning; explaining goes on.

    Returns the connection; a second call while one is open gives the same one. Raises OutputError where no window
    listens.
    """
    if _connected:
        return _connected[-1]
    near = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    near.settimeout(PATIENCE)
    place = listening(near)
    if place is None and start:
        started = subprocess.Popen([programs.path("retrograde"), "--live"], env=programs.environment())
        end = time.monotonic() + STARTING
        while place is None and started.poll() is None and time.monotonic() < end:
            time.sleep(0.1)
            place = listening(near)
    if place is None:
        near.close()
        raise OutputError("no window listens; switch File ▸ Runs from notebooks on, start `retrograde --live`, or "
                          "call rg.connect(start=True)", str(folder()))
    live = Live(near, place)
    _connected.append(live)
    atexit.register(live.close)
    return live


def told(run: Run) -> None:
    """Sends a run that was just made to the window that is connected, where there is one; no failure of it is one of
    explaining."""
    for live in list(_connected):
        try:
            live.send(run)
        except OutputError as error:
            warnings.warn(f"the run was not sent: {error}", stacklevel=3)
