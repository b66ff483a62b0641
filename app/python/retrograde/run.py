# SPDX-License-Identifier: Apache-2.0
"""What an explanation found."""
from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy

import retrograde_programs as programs

from .errors import OutputError, UsageError, error_of

if TYPE_CHECKING:
    import subprocess

    from .model import Model


class Relevance(Mapping):
    """Relevance by value name, for the values that it reached: read-only arrays of the value's shape, float32 or
    float64, that are views of the engine's memory (strides may be those of channels last) and keep it alive."""

    def __init__(self, made: Any, model: Model | None = None) -> None:
        self._native, self._names, self._model = made, made.names(), model

    def __getitem__(self, name: str) -> numpy.ndarray:
        found = self._native.relevance(name)
        if found is None and self._model is not None:
            try:
                found = self._native.relevance(self._model.value(name))  # the name of a node or a module
            except UsageError as error:
                raise KeyError(str(error)) from error
        if found is None:
            raise KeyError(f"no relevance reached '{name}'; it did reach {', '.join(self._names)}")
        return found

    def __contains__(self, name: object) -> bool:
        return name in self._names

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)

    def __repr__(self) -> str:
        return f"<relevance of {len(self)} values: {', '.join(self._names[:6])}{', …' if len(self) > 6 else ''}>"


class Kept:
    """What a Run says of itself, without the engine that found it: of a pickled run, and of an opened file."""

    def __init__(self, said: dict[str, Any], record: Any = None) -> None:
        self.said, self._record = said, record

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_") or name not in self.said:
            raise AttributeError(name)
        return lambda: self.said[name]

    def names(self) -> list[str]:
        return list(self.said["relevance"])

    def input_names(self) -> list[str]:
        return list(self.said["inputs"])

    def relevance(self, name: str) -> numpy.ndarray | None:
        return self.said["relevance"].get(name)

    def words(self, name: str) -> list[str]:
        return self.said["words"].get(name, [])

    def recorded(self) -> Any:
        return self._record

    def diagnose(self, *_: Any) -> str:
        raise UsageError("a run that was opened or sent has no engine to ask again; explain once more, or run "
                         "`retrograde-cli diagnose FILE.retro`")


class Run:
    """What `Model.explain` found. Immutable; independent of the model and of the input that was given (unless
    copy=False). Can be pickled: the numbers travel, with the events where they were recorded."""

    #: Which input it is, where there were many: the name of its file, or its number.
    name = ""

    def __init__(self, made: Any, model: Model | None) -> None:
        self._native, self.model = made, model
        #: What whoever asked has to say beside the engine's warnings.
        self.notes: list[str] = []
        #: Relevance by value name; run[name] is the same. Names of nodes and modules ("layer1.0") are understood.
        self.relevance = Relevance(made, model)

    def __getstate__(self) -> dict[str, Any]:
        said = {"relevance": dict(self.relevance), "inputs": self.inputs, "outputs": self.outputs,
                "parameters": self.parameters, "checkpoints": self.checkpoints, "target": self.target,
                "composite": self.composite, "warnings": self.warnings, "summary": self._native.summary(),
                "preparation": self._native.preparation(), "labels": self.labels, "model": self.model_name,
                "words": {name: self._native.words(name) for name in self._native.input_names()}}
        record = self._native.recorded()
        data = b""
        if record is not None:
            with tempfile.TemporaryDirectory(prefix="retrograde-") as folder:
                path = os.path.join(folder, "run.retro")
                record.save(path)
                with open(path, "rb") as file:
                    data = file.read()
        return {"said": said, "record": data, "name": self.name}

    def __setstate__(self, state: dict[str, Any]) -> None:
        record = None
        if state["record"]:
            from .native import native
            with tempfile.TemporaryDirectory(prefix="retrograde-") as folder:
                path = os.path.join(folder, "run.retro")
                with open(path, "wb") as file:
                    file.write(state["record"])
                record = native().Recorded.open(path)
        self.__init__(Kept(state["said"], record), None)  # type: ignore[misc]
        self.name = state["name"]

    @property
    def is_recorded(self) -> bool:
        """Whether it has its events, for audit(), compare(), history(), save(), show() and heatmap()."""
        return self._native.recorded() is not None

    @property
    def labels(self) -> list[str]:
        """Names of the classes; empty where the model has none."""
        return self.model.labels if self.model is not None else self._native.labels()

    @property
    def model_name(self) -> str:
        """What the model is called."""
        return self.model.name if self.model is not None else self._native.model()

    @property
    def _record(self) -> Any:
        record = self._native.recorded()
        if record is None:
            raise UsageError("this explanation was not recorded; explain with record=True and the promise engine")
        return record

    def _place(self, value: str) -> str:
        """A value by the name of its node or module, where that is no value itself."""
        return value if value in self.relevance or self.model is None else self.model.value(value)

    def __getitem__(self, name: str) -> numpy.ndarray:
        return self.relevance[name]

    @property
    def inputs(self) -> dict[str, numpy.ndarray]:
        """What was explained, by input name; read-only views."""
        return self._native.inputs()

    @property
    def outputs(self) -> dict[str, numpy.ndarray]:
        """What the model answered, by output name; read-only views."""
        return self._native.outputs()

    @property
    def parameters(self) -> dict[str, numpy.ndarray]:
        """Relevance of weights and other constants, by name; empty unless explained with parameters=True."""
        return self._native.parameters()

    @property
    def checkpoints(self) -> dict[str, numpy.ndarray]:
        """Snapshots of final relevance, by value name; of those named by checkpoint= and by the model."""
        return self._native.checkpoints()

    @property
    def target(self) -> tuple[str, list[int], list[float]]:
        """(value, index within each sample, score of each sample); index −1 = the whole value, −2 = none in this
        sample. Of several targets in a sample the first; summary["target"] has them all. Under a condition what was
        asked for."""
        return self._native.target()

    @property
    def composite(self) -> str:
        """The composite, as it was chosen."""
        return self._native.composite()

    @property
    def warnings(self) -> list[str]:
        """For people: rules that change nothing, a target behind a softmax, a module that was exported."""
        return [*self.notes, *self._native.warnings()]

    @property
    def summary(self) -> dict[str, Any]:
        """What summary.json of the command line holds (docs/cli.md); seconds are in seconds, memory in bytes."""
        return json.loads(self._native.summary())

    def audit(self) -> dict[str, Any]:
        """The conservation ledger: start = leaves + Σ causes + unexplained + rest; `nodes`, worst first, with arrived,
        handed_on, magnitude (Σ|R| that arrived), causes, unexplained. Raises UsageError without a record."""
        return json.loads(self._record.audit())

    def diagnose(self, against: Run | None = None, *, only: str | Sequence[str] = (),
                 check: str | Sequence[str] = (), deep: bool = False) -> dict[str, Any]:
        """What may be wrong, worst first: what `diagnose --json` says (docs/diagnosis.md). The question is asked once
        more, with its forward values. against: a run that is known to be good; what differs is found, too. only:
        families of checks; check: single ones; deep: also those that make further passes. Raises UsageError."""
        lists = [[given] if isinstance(given, str) else [str(one) for one in given] for given in (only, check)]
        if against is not None and not isinstance(against, Run):
            raise UsageError(f"against is a Run, not {type(against).__name__}")
        return json.loads(self._native.diagnose(against._native if against else None, *lists, bool(deep)))

    def compare(self, other: Run | str | os.PathLike, *, tolerance: float = 1e-5) -> dict[str, Any]:
        """Where this run (A) and another one (B: a Run, a .retro or .npz file) part, from the target on: `agree`,
        `parting` (value and nodes, or None), `values` with largest difference, scale, cosine. tolerance: relative to
        the largest number of a value. Raises UsageError without a record, InputError."""
        if not isinstance(other, (Run, str, os.PathLike)):
            raise UsageError(f"a run is compared with a Run or a file, not with {type(other).__name__}")
        if not tolerance >= 0:
            raise UsageError(f"tolerance is a number of at least 0, not {tolerance!r}")
        if isinstance(other, Run):
            return json.loads(self._record.compare(other._record, tolerance))
        return json.loads(self._record.compare_file(os.fspath(other), tolerance))

    def history(self, value: str, index: Sequence[int] | None = None, *, most: int = 5) -> dict[str, Any]:
        """How the relevance of one element came to be, value by value from the target down (docs/history.md).

        value, index: name of a value and place in it, one number per axis; or both as "VALUE:i,j,…". most: as many
        elements of each value, by the size of their part. Returns `relevance` of the element, `start` (Σ R at the
        targets), `rows` (value, node, rule, formula, sum, `largest` elements with way, relevance and part), `last` (the
        numbers of the last step's formula) and `apart`. Raises UsageError without a record or such an element,
        InputError where a rule has no way forwards.
        """
        if isinstance(most, bool) or not isinstance(most, (int, numpy.integer)) or most < 1:
            raise UsageError(f"most is a number of at least 1, not {most!r}")
        place = value if index is None else f"{self._place(value)}:{','.join(str(int(one)) for one in index)}"
        return json.loads(self._record.history(place, min(int(most), 2**31)))

    def visits(self) -> list[dict[str, Any]]:
        """What the traversal did, visit by visit: `visit`, `mode` (NTM normal, PTM search, PFM fulfilment), `node`,
        `operator`, names of its `inputs` and `outputs`, the events from `begin` to `end`, and `text`, one sentence per
        event. Raises UsageError without a record."""
        return json.loads(self._record.visits())

    def widget(self) -> Any:
        """Steps through the run in a notebook: a slider over the visits, what happens in each, and the relevance of the
        node's values. Needs anywidget. Returns the widget (its `step` can be set). Raises UsageError without a record
        or without anywidget."""
        from .widget import widget_of
        return widget_of(self)

    def save(self, path: str | os.PathLike) -> str:
        """Writes the recorded run into a .retro file, whole or not at all; its path. Raises UsageError without a
        record, OutputError."""
        self._record.save(os.fspath(path))
        return os.fspath(path)

    def heatmap(self, path: str | os.PathLike, *, overlay: bool = False, colormap: str | None = None,
                bits: int | None = None) -> str:
        """Draws the heatmap of the first input into a file by its ending: .png, .jpg, .svg or .pdf, with its colour
        bar; the pictures are those of `retrograde-cli export`. overlay: over the picture. colormap, bits: as there.
        Returns the path. Raises UsageError without a record, OutputError."""
        import subprocess
        with tempfile.TemporaryDirectory(prefix="retrograde-") as folder:
            file = self.save(os.path.join(folder, "run.retro"))
            command = [programs.path("retrograde-cli"), "export", file, "heatmap", "--out", os.fspath(path)]
            for name, value in (("overlay", overlay), ("colormap", colormap), ("bits", bits)):
                if value:
                    command += [f"--{name}"] if value is True else [f"--{name}", str(value)]
            done = subprocess.run(command, capture_output=True, env=programs.environment(), encoding="utf-8",
                                  errors="replace", check=False)
        if done.returncode != 0:
            raise error_of(done.stderr.strip().removeprefix("retrograde-cli: "), done.returncode)
        return os.fspath(path)

    def show(self, screenshot: str | os.PathLike | None = None, **options: Any) -> subprocess.Popen | str:
        """Opens the run in the window and returns at once; the started process. With `screenshot` it saves a picture of
        the window there and returns when that is done; its path. Other options are those of `retrograde` (theme="dark",
        step=12). Raises UsageError without a record; OutputError without a display."""
        import subprocess
        import weakref
        own = programs.environment()
        if screenshot is None and not any(own.get(name) for name in ("DISPLAY", "WAYLAND_DISPLAY", "QT_QPA_PLATFORM")):
            raise OutputError("there is no display (neither DISPLAY nor WAYLAND_DISPLAY is set); "
                              "show(screenshot=\"window.png\") draws the window into a file")
        command = [programs.path("retrograde")]
        for name, value in options.items():
            if value is not None and value is not False:
                command += ["--" + name.replace("_", "-"), *([] if value is True else [str(value)])]
        folder = tempfile.TemporaryDirectory(prefix="retrograde-")
        stem = os.path.splitext(os.path.basename(self.model_name))[0] or "run"
        file = self.save(os.path.join(folder.name, stem + ".retro"))
        if screenshot is None:
            started = subprocess.Popen([*command, file], env=own)
            weakref.finalize(started, folder.cleanup)
            return started
        with folder:
            own.setdefault("QT_QPA_PLATFORM", "offscreen")
            done = subprocess.run([*command, file, "--screenshot", os.fspath(screenshot)], capture_output=True, env=own,
                                  encoding="utf-8", errors="replace", check=False)
        if done.returncode != 0:
            raise error_of(done.stderr.strip().removeprefix("retrograde: "), done.returncode)
        return os.fspath(screenshot)

    def aim(self, most: int = 4) -> str:
        """The targets in words: value, then label or number of the class with its score, for the first samples."""
        aims = [one for one in self.summary["target"] if one["index"] != -2]
        texts, before = [], None
        for one in aims[:most]:
            place = "" if one["index"] == -1 else f"{one.get('label', one['index'])} "
            texts.append(("" if one["output"] == before else f"{one['output']} ") + f"{place}({one['logit']:.4g})")
            before = one["output"]
        return ", ".join(texts) + (", …" if len(aims) > most else "")

    def __repr__(self) -> str:
        return f"<retrograde.Run of {self.model_name}: {self.composite}, target {self.aim()}>"

    def view(self, *, size: int = 320, overlay: bool = True) -> Any:
        """The run as a notebook draws it: pictures of the input, their heatmaps with a colour bar, words or series, and
        the ledger. size: pixels of the longer side on the page; overlay: the heatmap over the picture in grey, else by
        itself. Raises UsageError."""
        from . import drawing
        if isinstance(size, bool) or not isinstance(size, (int, numpy.integer)) or not 16 <= size <= 4096:
            raise UsageError(f"size is a number of pixels from 16 to 4096, not {size!r}")
        return drawing.View(self, int(size), bool(overlay))

    def _repr_png_(self) -> bytes | None:
        """The first input that is a picture, beside its heatmap; None where there is none."""
        from . import drawing
        return drawing.png_of(self)

    def _repr_html_(self) -> str:
        """Heatmap, tokens or series of the inputs, with the ledger."""
        from . import drawing
        return drawing.html_of(self)


def open_run(path: str | os.PathLike, model: Model | str | os.PathLike | None = None) -> Run:
    """Opens a run that was saved (`Run.save`, `explain --run`, the window); needs no model file.

    model: the model that was explained, where names of its modules are to be understood.
    Returns a Run: relevance, inputs, outputs, target, audit(), compare(), visits(), show() and heatmap() are there;
    history() finds the model by the path in the file. Raises InputError: no run file, damaged.
    """
    from .native import native
    record = native().Recorded.open(os.fspath(path))
    said = record.contents()
    _, index, scores = said["target"]
    labels, output = said["labels"], said["target"][0]
    goals = [{"output": output, "index": one, "logit": score,
              **({"label": labels[one]} if 0 <= one < len(labels) else {})} for one, score in zip(index, scores)]
    said["summary"] = json.dumps({"composite": said["composite"], "target": goals, **said.pop("numbers")})
    said |= {"parameters": {}, "checkpoints": {}, "warnings": []}
    said["words"] = {name: said["words"] for name in list(said["inputs"])[:1]}
    if model is not None:
        from .model import load
        model = load(model)
    run = Run(Kept(said, record), model)  # type: ignore[arg-type]
    run.name = os.path.basename(os.fspath(path))
    return run
