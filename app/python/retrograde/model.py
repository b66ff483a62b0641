# SPDX-License-Identifier: Apache-2.0
"""Models, and explaining with them."""
from __future__ import annotations

import os
import sys
import tempfile
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy

from .errors import InputError, UsageError
from .native import native
from .run import Run

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from .keywords import ExplainKeywords, LoadAndExplain, LoadKeywords, Question

Progress = Callable[[str, int, int], object]


def set_threads(count: int) -> None:
    """Sets how many threads operators may use in this process, 1 to 1024. Raises UsageError."""
    if isinstance(count, bool) or not isinstance(count, (int, numpy.integer)) or not 1 <= count <= 1024:
        raise UsageError(f"threads are a number from 1 to 1024, not {count!r}")
    native().set_threads(int(count))


def threads() -> int:
    """How many threads operators use."""
    return native().threads()


def options(of_model: bool = False) -> dict[str, str]:
    """What `explain` takes besides its own arguments (with of_model: what `load` takes): name and meaning. The table is
    the one that the command line and the window have."""
    own = {"target", "composite", "start", "engine", "precision"}
    return {name: text for name, text, _, is_model, *_ in native().options()
            if is_model == of_model and (of_model or name not in own)}


def texts(value: Any) -> list[str]:
    """A keyword as texts of an option; True switches on, False and None say nothing."""
    if value is None or value is False:
        return []
    if value is True:
        return ["on"]
    if isinstance(value, (list, tuple)):
        return [text for one in value for text in texts(one)]
    return [str(value)]


def targets(value: Any) -> Any:
    """Classes as numbers of Python, of whatever library they come; the rest as it is."""
    if isinstance(value, (bool, numpy.bool_)):
        raise UsageError(f"a target is a class (number or label), \"argmax\" or \"VALUE:i,j\", not {value!r}")
    if isinstance(value, (list, tuple)):
        if not value:
            raise UsageError("the list of targets is empty; leave target= out for the class with the largest score")
        return [targets(one) for one in value]
    if hasattr(value, "tolist") and not isinstance(value, str):  # numpy, PyTorch, JAX
        return targets(value.tolist())
    if isinstance(value, float) and value.is_integer():
        return int(value)
    return value


def by_sample(target: Any, inputs: Sequence[Any]) -> Any:
    """A one-dimensional array of classes as a class for each sample; any other target as it is. Raises UsageError where
    there are not as many as samples."""
    if isinstance(target, str) or getattr(target, "ndim", 0) != 1:
        return target
    shapes = [one.shape for one in inputs if len(getattr(one, "shape", ()))]
    if not shapes or len(target) != shapes[0][0]:
        samples = shapes[0][0] if shapes else "a file"
        raise UsageError(f"an array of targets has a class for each sample: {len(target)} were given for {samples}; a list "
                         "of numbers is several targets in each sample")
    return [f"sample={i},class={one}" for i, one in enumerate(targets(target))]


def flag(value: Any, name: str) -> bool:
    """A keyword that is True or False. Raises UsageError."""
    if not isinstance(value, (bool, numpy.bool_)):
        raise UsageError(f"{name} is True or False, not {value!r}")
    return bool(value)


def written(given: Mapping[str, Any]) -> dict[str, list[str]]:
    """Keywords as options of the engine."""
    found = {name.replace("_", "-"): texts(value) for name, value in given.items()}
    return {name: said for name, said in found.items() if said}


def in_memory(data: Any) -> Any:
    """What the engine can read of an input: an array without steps backwards, in the memory of the machine; text as it
    is."""
    if isinstance(data, (str, os.PathLike)):
        if os.path.isdir(data):
            raise UsageError("this is a folder; model.each(folder) explains what lies in it", os.fspath(data))
        return os.fspath(data)
    if hasattr(data, "detach"):
        if getattr(data, "is_meta", False):
            raise UsageError("an input has numbers, and this tensor is on the device \"meta\", without any")
        data = data.detach().cpu()
        return data.resolve_neg() if hasattr(data, "resolve_neg") else data
    if data is None:
        raise UsageError("the input is None: give a file, an array or a tensor")
    if not hasattr(data, "__dlpack__") or isinstance(data, numpy.ndarray):
        data = numpy.asarray(data)
        if data.dtype == numpy.dtype(object) or data.dtype.kind in "USV":
            raise UsageError(f"an input is an array of numbers, not of {data.dtype}")
        if data.dtype.byteorder == ">" or any(step < 0 for step in data.strides) or not data.flags.aligned:
            data = numpy.array(data, dtype=data.dtype.newbyteorder("="), order="C")
    return data


@contextmanager
def as_files(composite: Any, start: Any) -> Iterator[dict[str, list[str]]]:
    """Options for a composite and a start; those that are objects lie in files as long as the context is entered."""
    given = {}
    folder = None
    if isinstance(composite, Mapping) or hasattr(composite, "document") or not isinstance(start, (str, type(None))):
        folder = tempfile.TemporaryDirectory(prefix="retrograde-")
    try:
        if composite is not None:
            given["composite"] = [composite_text(composite, folder.name if folder else "")]
        if isinstance(start, str):
            given["start"] = [start]
        elif start is not None:
            path = os.path.join(folder.name, "start.npy")
            numpy.save(path, numpy.asarray(in_memory(start)))
            given["start"] = [path]
        yield given
    finally:
        if folder is not None:
            folder.cleanup()


def composite_text(composite: Any, folder: str) -> str:
    """A composite as the engine names it; an object is written into the folder."""
    if isinstance(composite, (str, os.PathLike)):
        return os.fspath(composite)
    from .capture.client import Composite
    if isinstance(composite, Mapping):
        composite = Composite(composite.get("name", "composite"), composite.get("entries", ()))
    if not hasattr(composite, "save"):
        raise UsageError(f"a composite is a name, a file, or a Composite, not {type(composite).__name__}")
    stem = "".join(one if one.isalnum() or one in "-_" else "_" for one in str(composite.name))[:60] or "composite"
    return composite.save(os.path.join(folder, stem + ".json"))


def ours(composite: Any, has_batchnorm: bool = False) -> Any:
    """A composite of zennit as one of ours; any other as it is. Warns where the model has BatchNorm and the composite no
    canonizer for it: that is seldom meant."""
    if type(composite).__module__.split(".")[0] == "zennit" or hasattr(composite, "module_map"):
        from .capture.client import Composite
        read = Composite.from_zennit(composite)
        if has_batchnorm and read.no_rewrite:
            warnings.warn(f"{read.name} has no canonizer, so relevance goes through each BatchNorm as a layer of its own, "
                          "here as in zennit; with canonizers=[zennit.canonizers.SequentialMergeBatchNorm()] it is "
                          "merged into the layer before it, as built-in composites have it", stacklevel=3)
        return read
    return composite


def listener(progress: bool | Progress | None) -> Progress | None:
    """The function that hears of progress; True is a bar of tqdm, or a line on standard error where that is missing."""
    if progress is None or progress is False:
        return None
    if progress is not True:
        if not callable(progress):
            raise UsageError(f"progress is True, False, or a function of (stage, done, total), not {progress!r}")
        return progress
    try:
        from tqdm.auto import tqdm
    except ImportError:
        return lambda stage, done, total: print(f"\r{stage} {done}/{total}", end="", file=sys.stderr, flush=True)
    bar = tqdm(unit="node", leave=False)

    def told(stage: str, done: int, total: int) -> None:
        bar.set_description(stage, refresh=False)
        bar.unit = "input" if stage == "inputs" else "node"
        bar.total, bar.n = max(total, done), done
        bar.refresh()
    return told


def sent(run: Run) -> Run:
    """The run, after the window that is connected was told of it."""
    live = sys.modules.get("retrograde.live")  # loaded by whoever connected
    if live is not None and run.is_recorded:
        live.told(run)
    return run


class Model:
    """A model that was read, with its rewrites; `load` makes it. Explains for one thread at a time, others wait. What a
    first input of its kind made is used again for the next: a further call costs little more than the pass itself."""

    def __init__(self, made: Any, path: str | None = None, card: str = "",
                 options: Mapping[str, list[str]] | None = None) -> None:
        self._native, self.path = made, path
        self._card, self._options = card, dict(options or {})
        self._without: dict[tuple[str, ...], Any] = {}
        off = self._options.get("no-rewrite", [])
        if ("no-merge-batchnorm" in self._options or "merge-batchnorm" in off) and not self._has_batchnorm():
            warnings.warn(f"{self.name}: no_merge_batchnorm changes nothing, as the model has no BatchNorm; whoever "
                          "exported it merged it, or it never had one. torch.onnx.export keeps it with "
                          "training=torch.onnx.TrainingMode.PRESERVE", stacklevel=3)

    def _has_batchnorm(self) -> bool:
        return "BatchNormalization" in self._native.operators

    def __reduce__(self) -> tuple[Any, ...]:
        """As the bytes of an ONNX file with its weights, its card and its options: another machine needs no file."""
        with tempfile.TemporaryDirectory(prefix="retrograde-") as folder:
            path = os.path.join(folder, "model.onnx")
            self._native.write(path)
            with open(path, "rb") as file:
                data = file.read()
        return _restored, (data, self.name, self._card or card_beside(self.path), self._options)

    @property
    def name(self) -> str:
        """File name without folder."""
        return self._native.name

    @property
    def labels(self) -> list[str]:
        """Names of the classes, from its card; empty without one."""
        return self._native.labels

    @property
    def inputs(self) -> dict[str, tuple[int | str | None, ...] | None]:
        """Declared shape by input name: numbers, symbols of free axes, None where nothing is said."""
        return {name: shape for name, shape, _ in self._native.inputs}

    @property
    def outputs(self) -> list[str]:
        """Names of the outputs."""
        return self._native.outputs

    def value(self, name: str) -> str:
        """The value that a name stands for: its own, that of its node, or of a module as PyTorch names it
        ("layer1.0": what the module gives to others). Raises UsageError, with the nearest names or with all that a
        module gives."""
        found = self._native.named(name)
        if len(found) > 1 and name not in found:
            raise UsageError(f"'{name}' names several values: {', '.join(found)}; choose one", self.name)
        return name if name in found else found[0]

    def __repr__(self) -> str:
        return f"<retrograde.Model {self.name}: {', '.join(f'{n} {s}' for n, s in self.inputs.items())}>"

    def picture(self, pixels: Any) -> numpy.ndarray:
        """The input for a picture, as the model's card says: resized to what the input wants, scaled, normalised.

        pixels: uint8, height × width × 3, RGB, rows from the top. Returns float32, 1×C×H×W or 1×H×W×C. Raises
        InputError.
        """
        return self._native.picture(numpy.ascontiguousarray(pixels))

    def explain(self, x: Any, *, target: Any = None, composite: Any = None, start: Any = None,
                engine: str | None = None, precision: str | None = None, record: bool | None = None,
                copy: bool = True, progress: bool | Progress | None = None,
                **options: Unpack[ExplainKeywords]) -> Run:
        """Relevance of every value for one input, or for a batch of them (first axis).

        x: an array, a tensor (PyTorch, DLPack) or the name of a file (.npy, .npz, .pb, .txt, a picture; also "zeros"
            and "random:SEED"); for several inputs {name: …} or a list in their order. Shapes as the model declares
            them. Floating types become that of the pass. Masks, positions and pasts of a language model may be left
            out.
        target: a class (number or label), "argmax", "VALUE:i,j", or a list of them: relevance then starts at each, in
            every sample. An array or a tensor of numbers is a class for each sample of a batch, as in captum and
            zennit. Default: the model card's, else argmax, by sample.
        composite: built-in name ("epsilon_plus", "gradient_x_input", "epsilon:epsilon=0.01"), a file, a
            retrograde.Composite or one of zennit. Default: the card's, else "auto".
        start: what relevance starts with: "logit" (the score itself; default but for rules of gradients), "one" (what a
            plain gradient has: captum, torch.autograd; default for rules of gradients), "all", "contrastive", or an
            array of the target's shape.
        engine: "promise" (default), "compiled" or "oracle"; all give the same bits.
        precision: "auto", "float" or "double".
        record: keep the events, for audit(), compare(), save() and show(). Default: yes, unless an option excludes it.
            Costs memory: all forward values.
        copy: False reads a fitting array in place; what is written into it later changes what the run says was
            explained.
        progress: True (tqdm where installed), or f(stage, done, total), called about every 40 ms in this thread.
        options: those of `retrograde-cli explain` with _ for - (rule=, checkpoint=, budget=, inputs_only=,
            parameters=, …); `retrograde.options()` lists them. checkpoint= also takes names of modules.

        Returns a Run. The lock of the interpreter is let go meanwhile; Ctrl+C ends the pass between two operators.
        Raises InputError (shape, operator), UsageError (option, target, composite), EngineError (relevance that is not
        finite, no plan), OutOfMemory, KeyboardInterrupt, and what `progress` raises.
        """
        composite = ours(composite, self._has_batchnorm())
        made = self._native if not getattr(composite, "no_rewrite", ()) else self._variant(composite.no_rewrite)
        record = record if record is None else flag(record, "record")
        copy = flag(copy, "copy")
        inputs = self._ordered(x)
        with as_files(composite, start) as files:
            given = written({**options, "target": targets(by_sample(target, inputs)), "engine": engine,
                             "precision": precision})
            if "checkpoint" in given:
                given["checkpoint"] = [self.value(name) for name in given["checkpoint"]]
            run = Run(made.explain(inputs, {**given, **files}, record, copy, listener(progress)), self)
        return sent(run)

    def each(self, inputs: Any, *, jobs: int = 1, progress: bool | Progress | None = None,
             **question: Unpack[Question]) -> Iterator[Run]:
        """Explains many inputs, one after the other; a Run each, in their order, with `run.name`.

        inputs: a folder (its pictures and arrays, by name), or whatever gives one input after the other, as explain()
            takes it: a list of files, a generator, a DataLoader. Of a pair (input, class), as data sets have it, the
            input counts.
        jobs: as many processes, each with its share of the threads. Their runs keep no events (record=False) unless it
            is asked for.
        progress: of the inputs: True, or f("inputs", done, total), total 0 where nobody knows it.
        question: what explain() takes beside the input.

        Raises what explain() raises.
        """
        given, total = inputs_of(inputs)
        told = listener(progress)
        asked = dict(question)
        runs = self._in_turn(given, asked) if jobs <= 1 else in_processes(self, given, jobs, asked)
        for done, run in enumerate(runs, 1):
            if told is not None:
                told("inputs", done, total)
            yield run

    def _in_turn(self, given: Iterable[tuple[str, Any]], question: Mapping[str, Any]) -> Iterator[Run]:
        for name, x in given:
            run = self.explain(self._of_pair(x), **question)
            run.name = name
            yield run

    def _of_pair(self, x: Any) -> Any:
        """The inputs of an item of a data set, which may have a class behind them."""
        many = len(self.inputs)
        if isinstance(x, (list, tuple)) and len(x) == many + 1:
            return x[0] if many == 1 else list(x[:many])
        return x

    def run(self, x: Any, *, values: Any = None, precision: str | None = None, copy: bool = True,
            progress: bool | Progress | None = None) -> dict[str, numpy.ndarray]:
        """The forward pass alone: the outputs by name, and hidden values.

        x: as for explain().
        values: a pattern or a list of them. A pattern is the name of a value, a node or a module ("layer1.0.conv1", as
            PyTorch has it), in which * stands for any letters. The model then runs without rewrites, so that every
            value of the file is there. All that are named are held in memory.
        precision, copy, progress: as for explain().

        Raises UsageError (a pattern that names nothing, with the nearest names), InputError, OutOfMemory,
        KeyboardInterrupt.
        """
        patterns = [values] if isinstance(values, str) else list(values or [])
        return self._native.run(self._ordered(x), patterns, written({"precision": precision}), flag(copy, "copy"),
                                listener(progress))

    def _variant(self, rewrites: Sequence[str]) -> Any:
        """The model without these rewrites."""
        key = tuple(sorted(rewrites))
        if key not in self._without:
            self._without[key] = self._native.without(list(key))
        return self._without[key]

    def _ordered(self, x: Any) -> list[Any]:
        """The inputs in the order of the model."""
        names = list(self.inputs)
        if isinstance(x, Mapping):
            unknown = [str(name) for name in x if name not in names]
            if unknown:
                raise UsageError(f"the model has no input {', '.join(unknown)}; its inputs are {', '.join(names)}",
                                 self.name)
            return [in_memory(x[name]) if name in x else None for name in names]  # None: the engine may know it
        if len(names) == 1 and not (isinstance(x, (list, tuple)) and len(x) == 1 and hasattr(x[0], "shape")):
            x = [x]
        if not isinstance(x, (list, tuple)) or len(x) != len(names):
            raise UsageError(f"the model has {len(names)} inputs ({', '.join(names)}); give {{name: array}}", self.name)
        return [in_memory(one) for one in x]


def exported(module: Any, example: Any, input_names: Sequence[str] | None = None) -> bytes:
    """A module of PyTorch as the bytes of an ONNX file, exported in memory for the shapes of the example, in evaluation
    mode. Raises InputError where the exporter gives up."""
    import io

    import torch
    if example is None:
        raise UsageError("a torch.nn.Module is exported for an example: rg.load(module, example)")
    example = example if isinstance(example, (list, tuple)) else (example,)
    try:
        example = tuple(one if isinstance(one, torch.Tensor) else torch.as_tensor(numpy.asarray(one))
                        for one in example)
    except (TypeError, ValueError) as error:
        raise UsageError(f"an example is a tensor, or a tuple of them: {error}") from error
    # BatchNorm stays what it is, so that whether it is merged is said here and not by the exporter.
    old_exporter: dict[str, Any] = {"training": torch.onnx.TrainingMode.PRESERVE}
    if "dynamo" in torch.onnx.export.__code__.co_varnames:
        old_exporter["dynamo"] = False
    file = io.BytesIO()
    mode = module.training
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            torch.onnx.export(module.eval(), example, file, input_names=input_names, **old_exporter)
        except Exception as error:  # of many kinds: the module's own, of an operator without a counterpart, of tracing
            raise InputError(f"the module cannot be exported for this example: {error}; "
                             "retrograde.capture.torchcapture traces it instead (docs/capture.md)",
                             type(module).__name__) from error
        finally:
            module.train(mode)
    return file.getvalue()


def load(model: Any, example: Any = None, *, name: str = "model.onnx", card: str | os.PathLike | None = None,
         **options: Unpack[LoadKeywords]) -> Model:
    """Reads a model.

    model: path of an ONNX or graph JSON file (its card lies beside it), bytes of an ONNX file, onnx.ModelProto, a
        torch.nn.Module with `example` (a tensor, or a tuple of them: torch.onnx.export in memory, in evaluation mode),
        or a graph of retrograde.capture. A Model is given back as it is.
    name: what a model without a file is called. card: text of its card, or a path (docs/formats/card.md).
    options: those of the command line that say how a model is read (shape=, no_rewrite=, pass_through=, …);
        `retrograde.options(of_model=True)` lists them.
    Raises InputError (names file, node, operator), UsageError.
    """
    if isinstance(model, Model):
        return model
    given = written(options)
    if card is not None and (isinstance(model, (str, os.PathLike)) or hasattr(model, "document")):
        raise UsageError("card= is for a model without a file; that of a file lies beside it (docs/formats/card.md)")
    if isinstance(model, (str, os.PathLike)):
        return Model(native().Model.load(os.fspath(model), given), os.fspath(model), options=given)
    if hasattr(model, "document"):
        with tempfile.TemporaryDirectory(prefix="retrograde-") as folder:
            return Model(native().Model.load(model.write(os.path.join(folder, "graph.json")), given), options=given)
    text = "" if card is None else str(card)
    if isinstance(card, os.PathLike) or (text and not text.lstrip().startswith("{")):
        try:
            with open(text, encoding="utf-8") as file:
                text = file.read()
        except (OSError, ValueError) as error:
            raise InputError(f"the card cannot be read: {error}", text) from error
    if hasattr(model, "state_dict") and hasattr(model, "forward"):
        model = exported(model, example)
    elif hasattr(model, "SerializeToString"):
        model = model.SerializeToString()
    if not isinstance(model, (bytes, bytearray, memoryview)):
        raise UsageError(f"a model is a path, bytes, onnx.ModelProto or torch.nn.Module, not {type(model).__name__}")
    return _restored(bytes(model), name, text, given)


def _restored(data: bytes, name: str, card: str, options: dict[str, list[str]]) -> Model:
    """A model from the bytes of an ONNX file, its card and its options as texts."""
    return Model(native().Model.parse(data, name, card, options), None, card, options)


def card_beside(path: str | None) -> str:
    """The text of the card beside a model's file; empty where there is none."""
    try:
        with open(os.path.splitext(path or "")[0] + ".card.json", encoding="utf-8") as file:
            return file.read()
    except OSError:
        return ""


def inputs_of(inputs: Any) -> tuple[Iterator[tuple[str, Any]], int]:
    """(name, input) of many inputs, and how many there are; 0 where nobody knows. Raises InputError of a folder that
    holds none."""
    if isinstance(inputs, (str, os.PathLike)):
        folder = os.fspath(inputs)
        if not os.path.isdir(folder):
            raise InputError("this is no folder; one input is explained by explain()", folder)
        endings = tuple(native().input_endings())
        files = sorted(name for name in os.listdir(folder) if name.lower().endswith(endings))
        if not files:
            raise InputError(f"the folder has no inputs ({', '.join(endings)})", folder)
        return ((name, os.path.join(folder, name)) for name in files), len(files)
    try:
        total = len(inputs)
    except TypeError:
        total = 0
    return ((os.path.basename(x) if isinstance(x, (str, os.PathLike)) else str(i), x) for i, x in enumerate(inputs)), total


_of_process: tuple[Model, dict[str, Any]] | None = None  # of a process of in_processes


def _begin(model: Model, question: dict[str, Any], most: int) -> None:
    global _of_process
    set_threads(most)
    _of_process = model, question


def _explained(name: str, x: Any) -> Run:
    assert _of_process is not None
    return next(_of_process[0]._in_turn([(name, x)], _of_process[1]))


def in_processes(model: Model, given: Iterator[tuple[str, Any]], jobs: int, question: Mapping[str, Any]) -> Iterator[Run]:
    """Runs of the inputs in their order, made by processes; at most two for each are waited for."""
    import collections
    import multiprocessing
    from concurrent.futures import ProcessPoolExecutor
    own = {"record": False, **question}
    most = max(1, threads() // jobs)
    waiting: collections.deque[Any] = collections.deque()
    with ProcessPoolExecutor(jobs, multiprocessing.get_context("spawn"), _begin, (model, own, most)) as pool:
        try:
            for name, x in given:
                waiting.append(pool.submit(_explained, name, x))
                if len(waiting) >= 2 * jobs:
                    yield waiting.popleft().result()
            while waiting:
                yield waiting.popleft().result()
        finally:
            for one in waiting:
                one.cancel()


def table(runs: Iterable[Run]) -> list[dict[str, Any]]:
    """A row per explained sample of these runs (what `Model.each` gives, or a list): id, sample, target, label, score,
    reached (Σ over its inputs), and the relevance of each input as an array: `relevance`, of several inputs
    `relevance/NAME`. pandas.DataFrame takes it."""
    rows = []
    for run in runs:
        _, index, scores = run.target
        maps = {name: run[name] for name in run.inputs if name in run.relevance}
        for sample, (target, score) in enumerate(zip(index, scores)):
            label = run.labels[target] if 0 <= target < len(run.labels) else ""
            of_sample = {"relevance" if len(run.inputs) == 1 else f"relevance/{name}":
                         whole[sample] if len(whole) == len(index) else whole for name, whole in maps.items()}
            reached = sum(float(one.sum(dtype=numpy.float64)) for one in of_sample.values())
            rows.append({"id": run.name, "sample": sample, "target": target, "label": label, "score": score,
                         "reached": reached, **of_sample})
    return rows


def explain(model: Any, x: Any, *, example: Any = None, **options: Unpack[LoadAndExplain]) -> Run:
    """`load` and `Model.explain` in one. Options of both are taken; a torch.nn.Module is exported for x where no
    example is given, which `run.warnings` says. Relevance starts with the score itself, and under rules of gradients
    with start="one", which is what a plain gradient has (captum, torch.autograd). Returns a Run. Raises what both
    raise."""
    asked: dict[str, Any] = dict(options)
    of_model = {key: asked.pop(key) for key in [*asked] if key in _model_options()}
    is_module = hasattr(model, "state_dict") and not isinstance(model, Model)
    if is_module and isinstance(x, Mapping):
        x = list(x.values())
    loaded = load(model, x if is_module and example is None else example, **of_model)
    run = loaded.explain(x, **asked)
    if is_module:
        run.notes = [f"{type(model).__name__} was exported to ONNX for this input; for several inputs "
                     "rg.load(module, example) does that once"]
    return run


def _model_options() -> set[str]:
    """Names of the options of `load`."""
    return {name for name, _, _, is_model, *_ in native().options() if is_model} | {"name", "card"}
