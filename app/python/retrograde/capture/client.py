# SPDX-License-Identifier: Apache-2.0
"""Drives the command line from Python, for what has no call in the process: planning, analysing, and explaining over
files. Needs numpy only.

    from retrograde.capture import client
    answer = client.explain("model.onnx", x, "epsilon_plus")        # x: array, or {input name: array}
    answer["image"]                                                 # relevance of the input, an array
    client.show(answer)                                             # the recorded run in the window

The program is the one of the variable RETROGRADE_CLI, else that of the package itself, else of the build folder of the
tree that this file lies in, else of PATH. What it refuses is raised as RetrogradeError with its own words.
"""
from __future__ import annotations

import json
import os
import pathlib
import shutil
import subprocess
import tempfile
import warnings
import weakref
from collections.abc import Sequence
from typing import Any

import numpy

import retrograde_programs as programs

from ..errors import RetrogradeError, UsageError, error_of

ENDS = {2: "wrong usage", 3: "bad or unsupported input", 4: "the engine could not finish",
        5: "an output could not be written", 1: "a bug in Retrograde"}
# Options of `explain` that `diagnose` has, too.
DIAGNOSED = {"start", "rule", "mean", "std", "layout", "channels", "scale", "pixels", "shape", "no_rewrite", "rewrite",
             "no_fold", "no_merge_batchnorm", "pass_through", "precision"}


def program(name="retrograde-cli"):
    """Path of a program of Retrograde; RETROGRADE_CLI names the command line itself. Raises UsageError where there is
    none."""
    return programs.path(name)


def call(verb, *arguments, accept=(0,)):
    """Runs a verb with --json; its answer as a dictionary. Another exit code than those of `accept` is an error."""
    command = [program(), verb, *map(str, arguments), "--json", "--quiet"]
    done = subprocess.run(command, capture_output=True, encoding="utf-8", errors="replace", check=False)
    try:
        answer = json.loads(done.stdout) if done.stdout.strip() else None
    except ValueError:
        answer = None
    if done.returncode not in accept:
        said = done.stderr.strip().removeprefix("retrograde-cli: ")
        said = said or reason_in(answer or {}) or ENDS.get(done.returncode, "ended by a signal")
        raise error_of(f"retrograde-cli {verb}: {said}", done.returncode, answer)
    return answer


def reason_in(answer):
    """What a JSON answer without success says: the reason of `plan`, the first error of `simulate`."""
    error = answer.get("error") or {}
    return answer.get("reason") or ": ".join(str(error[key]) for key in ("kind", "text") if key in error)


def as_array(data):
    """An array of numpy from an array, a list, or a tensor of another library."""
    if hasattr(data, "detach"):
        data = data.detach().cpu()
    return numpy.asarray(data)


def file_name(value):
    """The file name that retrograde-cli gives a value, without extension."""
    return "".join("_" if c in "/:" or ord(c) < 32 else c for c in value)


def input_options(x, folder):
    """Writes the arrays of {name: array} (or one array) as files; the options that name them."""
    options = []
    for i, (name, data) in enumerate(x.items() if isinstance(x, dict) else [(None, x)]):
        path = str(data)
        if not isinstance(data, (str, os.PathLike)):
            path = str(pathlib.Path(folder) / f"input{i}.npy")
            numpy.save(path, as_array(data))
        options += ["--input", f"{name}={path}" if name else path]
    return options


def model_file(model, x, folder):
    """The file of a model: a path as it is, a torch.nn.Module captured (or exported) for the shapes of x, a graph
    written."""
    if isinstance(model, (str, os.PathLike)):
        return str(model)
    path = str(pathlib.Path(folder) / "model.json")
    if hasattr(model, "document"):
        return model.write(path)
    if hasattr(model, "state_dict"):
        from . import torchcapture
        return torchcapture.runnable(model, x if isinstance(x, dict) else [x], folder)
    raise UsageError(f"a model is a file name, a torch.nn.Module or a captured graph, not {type(model).__name__}; "
                     "export it to ONNX first")


class Explanation:
    """What `explain` found. `relevance`: value name → array of its shape; answer[name] is the same; `inputs`: the
    names of the model's inputs that have relevance; `summary`: docs/cli.md; `run`: the recorded run, a file that lives
    as long as this object unless it was named (None of the oracle, which makes no steps)."""

    def __init__(self, folder, model, run, question=()):
        self.run = str(run) if run else None
        self.question = [str(model), *map(str, question)]
        self.summary = json.loads((folder / "summary.json").read_text())
        names = call("info", model)["inputs"]
        files = {path.stem: path for path in sorted((folder / "relevance").glob("*.npy"))}
        self.relevance = {stem: numpy.load(path) for stem, path in files.items()}
        self.inputs = []
        for one in names:
            if file_name(one["name"]) in files:
                self.inputs.append(one["name"])
                self.relevance[one["name"]] = self.relevance.pop(file_name(one["name"]))

    def __repr__(self):
        return f"<retrograde.Explanation: {self.summary.get('composite', '')}, {len(self.relevance)} values>"

    def __getitem__(self, name):
        key = name if name in self.relevance else file_name(name)
        if key not in self.relevance:
            raise KeyError(f"no relevance reached '{name}'; it did reach {', '.join(self.relevance)}")
        return self.relevance[key]

    def diagnose(self, against=None, **options):
        """What may be wrong, worst first: the records of `diagnose --json` (docs/cli.md). The same question is asked once
        more, with its forward values. against: a model, a run or an input that is known to be good. Other options go
        to `diagnose` as they are, such as deep=True. Raises RetrogradeError."""
        arguments = list(self.question)
        if against is not None:
            arguments += ["--against", against.run if isinstance(against, Explanation) else against]
        for name, value in options.items():
            arguments += option_of(name, value)
        return call("diagnose", *arguments)["findings"]


def explain(model, x, composite="auto", target=None, run=None, **options):
    """Relevance of every value of a model for one input.

    model: file (.onnx, graph JSON), torch.nn.Module (captured by torchcapture), or captured graph. x: array,
    {input name: array}, or the name of a file. composite: a name with parameters, a file, or a Composite. target: as
    --target. run: where to keep the recorded run. Other options go to `explain` as they are: engine="oracle" becomes
    --engine oracle, go_on=True becomes --go-on. Relevance starts with the score itself; start="one" is what a plain
    gradient has (captum, torch.autograd), and the default under its rules. Raises RetrogradeError. Returns an Explanation."""
    folder = pathlib.Path(tempfile.mkdtemp(prefix="retrograde-"))
    try:
        answer = explained(folder, model, x, composite, target, run, options)
    except BaseException:
        shutil.rmtree(folder)
        raise
    weakref.finalize(answer, shutil.rmtree, folder)
    return answer


def explained(folder, model, x, composite, target, run, options):
    """What `explain` does, in a folder that exists."""
    path = model_file(model, x, folder)
    question = input_options(x, folder)
    question += composite.options(folder) if isinstance(composite, Composite) else ["--composite", composite]
    if target is not None:
        question += ["--target", target]
    arguments = ["--output-dir", folder]
    if options.get("engine") != "oracle":
        run = pathlib.Path(run) if run else folder / "run.retro"
        arguments += ["--run", run]
    for name, value in options.items():
        (question if name in DIAGNOSED else arguments).extend(option_of(name, value))
    call("explain", path, *question, *arguments)
    made = Explanation(folder, path, run, question)
    for said in made.summary.get("warnings", ()):
        warnings.warn(said if isinstance(said, str) else str(said.get("text", said)), stacklevel=4)
    return made


def option_of(name, value):
    """A keyword as an option of the command line; lists repeat it, True is a switch, False and None are nothing."""
    if value is None or value is False:
        return []
    option = "--" + name.replace("_", "-")
    if value is True:
        return [option]
    return [part for one in (value if isinstance(value, (list, tuple)) else [value]) for part in (option, str(one))]


def show(run, screenshot=None, **options):
    """Opens a recorded run (a file, or an Explanation) in the window; the started process. With `screenshot` it saves
    a picture there and returns when that is done; its path."""
    if isinstance(run, Explanation) and run.run is None:
        raise UsageError("the oracle records no run; explain with another engine to see one")
    command = [program("retrograde"), run.run if isinstance(run, Explanation) else str(run)]
    for name, value in options.items():
        command += option_of(name, value)
    own = programs.environment()
    if screenshot is None:
        return subprocess.Popen(command, env=own)
    own.setdefault("QT_QPA_PLATFORM", "offscreen")
    done = subprocess.run([*command, "--screenshot", str(screenshot)], capture_output=True, env=own, encoding="utf-8",
                          errors="replace", check=False)
    if done.returncode != 0:
        raise error_of(f"retrograde: {done.stderr.strip()}", done.returncode)
    return str(screenshot)


def analyze(graph: Any, **options: Any) -> dict[str, Any]:
    """What `analyze` says of a model, a graph JSON, or a captured graph, as a dictionary (docs/planning.md). Other
    options are those of `retrograde-cli analyze` with _ for -. Raises RetrogradeError."""
    with tempfile.TemporaryDirectory() as folder:
        arguments = [part for name, value in options.items() for part in option_of(name, value)]
        return call("analyze", model_file(graph, {}, folder), *arguments)


def plan(graph, budget=None, strategy="fast", out=None, **options):
    """Makes a plan (docs/planning.md). budget: bytes, "50%" of the store-all peak, or None. out: file for the plan.
    Returns (what `plan` says, the plan as a dictionary). No plan within the budget is a RetrogradeError of code 4."""
    with tempfile.TemporaryDirectory() as folder:
        path = str(out or pathlib.Path(folder) / "plan.json")
        arguments = [model_file(graph, {}, folder), "--strategy", strategy, "--out", path]
        if budget is not None:
            arguments += ["--budget", budget]
        arguments += [part for name, value in options.items() for part in option_of(name, value)]
        answer = call("plan", *arguments)
        return answer, json.loads(pathlib.Path(path).read_text())


def judged(graph, plan, folder, **options):
    """A plan that was made before (a file, or a dictionary), if the simulator finds that it is one for this graph file.
    Only measured times may have changed since: the hash, which they are part of, is that of the graph at hand. Returns
    (what `simulate` says, the plan)."""
    document = dict(plan) if isinstance(plan, dict) else json.loads(pathlib.Path(plan).read_text(encoding="utf-8"))
    path = pathlib.Path(folder) / "judged.json"
    extra = [part for name, value in options.items() for part in option_of(name, value)]
    call("plan", graph, "--strategy", "store_all", "--out", path, *extra)
    document["graph_hash"] = json.loads(path.read_text(encoding="utf-8"))["graph_hash"]
    path.write_text(json.dumps(document), encoding="utf-8")
    return call("simulate", graph, path, *extra), document


class Composite:
    """A composite (docs/formats/composite.md): entries, of which the first that matches a node gives its rule.

        Composite("mine").add("gamma", gamma=0.1, structure="linear map", scope="features").add("epsilon")
    """

    MATCHERS = ("op", "structure", "name", "scope", "operand_from", "operand", "first")

    def __init__(self, name: str = "composite", entries: Sequence[dict[str, Any]] = (),
                 no_rewrite: Sequence[str] = ()) -> None:
        self.name, self.entries, self.no_rewrite = name, list(entries), list(no_rewrite)

    def add(self, rule: str, **fields: Any) -> Composite:
        """Appends an entry: fields that are matchers choose nodes, the others are parameters of the rule. Itself. What
        a rule does not know is refused when the composite is used (UsageError)."""
        match = {key: value for key, value in fields.items() if key in self.MATCHERS}
        params = {key: value for key, value in fields.items() if key not in self.MATCHERS}
        self.entries.append({"match": match, "rule": {"name": rule, **({"params": params} if params else {})}})
        return self

    def __repr__(self) -> str:
        rules = [entry["rule"]["name"] for entry in self.entries]
        return f"<retrograde.Composite {self.name}: {', '.join(rules[:6])}{', …' if len(rules) > 6 else ''}>"

    def document(self) -> dict[str, Any]:
        """The composite as a Python dictionary in the shape of the file."""
        return {"format": "retrograde-composite/1", "name": self.name, "entries": self.entries}

    def save(self, path: str | os.PathLike) -> str:
        """Writes a composite file; its path. Raises OSError."""
        pathlib.Path(path).write_text(json.dumps(self.document(), indent=1) + "\n", encoding="utf-8")
        return str(path)

    def options(self, folder: str | os.PathLike) -> list[str]:
        """Writes the file into a folder; the options that name it and the rewrites that are switched off."""
        path = self.save(pathlib.Path(folder) / "composite.json")
        return ["--composite", path, *option_of("no_rewrite", self.no_rewrite)]

    @classmethod
    def from_zennit(cls, composite: Any) -> Composite:
        """The composite of zennit as one of ours. Raises UsageError by the name of what has no counterpart here."""
        from . import zennitcomposite
        return cls(**zennitcomposite.fields_of(composite))
