# SPDX-License-Identifier: Apache-2.0
# Made by resources/writekeywords.py from the table of options; do not edit.
"""The keywords of `load` and `explain`, for editors and type checkers. What each means: the comments here,
`retrograde.options()` and docs/cli.md."""
from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any, Literal, TypedDict, Union

Text = Union[str, float, "os.PathLike[str]"]
Texts = Union[Text, Sequence[Text]]


class LoadKeywords(TypedDict, total=False):
    """Of `load`."""

    #: NAME=2x3x48x192: extents of an input whose axes are free (? leaves one as it is); NAME= may be left out with one
    #: input
    shape: Texts
    #: Leave weights in the file: for a graph that is only to be looked at or planned for
    no_weights: bool
    #: Do not fold constants
    no_fold: bool
    #: Do not merge BatchNormalization into the layer before it
    no_merge_batchnorm: bool
    #: Do not apply this rewrite (docs/rewrites.md); all for none at all
    no_rewrite: Texts
    #: Apply this optional rewrite as well (docs/rewrites.md); all for every one
    rewrite: Texts
    #: Operators that are not implemented hand their first operand on, in values and in relevance: NOT what the model
    #: means, and not conserved; each is named as a warning
    pass_through: bool
    #: fused or documented: how LUT layers run (default: as the model says); documented: every stage as a kernel, every
    #: array as a buffer
    lut_path: Literal["fused", "documented"]


class ExplainKeywords(TypedDict, total=False):
    """Of `Model.explain`."""

    #: Where LUT layers run: cpu (default), cuda, or auto: on a GPU where there is one and the run is in float32; the
    #: same rows are chosen, other numbers differ in their last bits
    lut_backend: Literal["cpu", "cuda", "auto"]
    #: Per channel, for pictures; replaces the card's
    mean: Texts
    #: Per channel, for pictures; replaces the card's
    std: Texts
    #: NCHW or NHWC, for pictures
    layout: Literal["NCHW", "NHWC"]
    #: RGB, BGR or GRAY, for pictures; replaces the card's
    channels: Literal["RGB", "BGR", "GRAY"]
    #: Numbers that pixel values 0 and 255 become before mean and std, for pictures; replaces the card's
    scale: Texts
    #: shown (default: a picture as browsers show it, turned by its EXIF orientation, transparent parts on white) or
    #: stored (as it lies in its file, transparency left out)
    pixels: Literal["shown", "stored"]
    #: How a picture of other sides fills the input: stretch (default), crop (its middle), crop=0.875 (224 of 256
    #: pixels of that), or letterbox (black bars); replaces the card's
    frame: Texts
    #: MATCHER=RULE[:key=value,…] put before the composite: op:Conv=gamma:gamma=0.1, name:/head/*=stop,
    #: scope:features=z-plus (docs/composites.md)
    rule: Texts
    #: Values whose relevance is also written to DIR/checkpoints/<value name>.npy when it is final
    checkpoint: Texts
    #: End when all checkpoints have been taken
    stop_at_checkpoints: bool
    #: INPUT=MASK.npy: also how much of every element's relevance ends in this region: DIR/region
    region: Texts
    #: y0:y1,x0:x1 of the input that carries relevance, the ends excluded: the region
    region_box: Texts
    #: Positions of tokens, 2-4,7: the region
    region_tokens: Texts
    #: VALUE:axis=1:3,7 or VALUE:mask=FILE.npy: only the relevance that passes there, again for more
    condition: Texts
    #: only: relevance starts again at the value; beside: what goes round the value stays
    condition_form: Literal["only", "beside"]
    #: ours (default) or document: the steps as the source document has them, with the same relevance
    #: (docs/traversal.md)
    traversal: Literal["ours", "document"]
    #: inputs (default: what each gradient reads), frozen (what gradients of the inputs alone read) or all
    save: Literal["inputs", "frozen", "all"]
    #: Run by this plan (docs/formats/plan.md) of the target's joint graph
    plan: Texts
    #: Run within so many bytes (4096, 8GB, 1.5GiB), or P% of the store-all peak: results of operators, inputs and
    #: initializers left out
    budget: Texts
    #: How the plan is made: fast (default), best, or a planner (`plan --strategy list`)
    strategy: Texts
    #: Order of the forward operators in the plan, as `analyze` names it (default auto: the best ones)
    plan_order: Texts
    #: Time limit for making the plan (default 10)
    plan_seconds: Texts
    #: NAME=BYTES: a plan that is made may move values to this place (memory, compressed, disk), with so many bytes per
    #: second both ways, such as disk=500MB
    tier: Texts
    #: With --tier: seconds of one unit of cost (a floating-point operation; a millisecond where the graph states them)
    seconds_per_cost: Texts
    #: How forward values get to the rules that read them: store, rebuild, compress (signs and winners where readers
    #: need no more), optimal (cheapest within --forward-budget)
    forward: Literal["compress", "optimal", "rebuild", "store"]
    #: Bytes of the modelled peak, such as 500MB, for --forward optimal
    forward_budget: Texts
    #: NAME=store, NAME=rebuild or NAME=compress, before the strategy
    forward_value: Texts
    #: Loop and Scan keep what they carry every so many iterations and are computed again from there; 0: chosen, short
    #: loops are kept whole
    checkpoint_every: Texts
    #: Do not stop at relevance that is NaN or infinite (docs/cli.md); the default names where it began
    go_on: bool
    #: Only the relevance of the inputs, in less memory: everything else is freed on the way
    inputs_only: bool
    #: Also the relevance of weights, biases and other constants: DIR/relevance/<initializer>.npy
    parameters: bool
    #: Write the gradient (grad: .onnx, .json or .dot) or the forward and relevance pass (explain: .onnx) as one graph
    #: of standard operators instead; nothing runs
    graph_out: Texts
    #: Time, bytes and operations of every operator of the pass, and what became of its values
    profile: bool


class Question(ExplainKeywords, total=False):
    """Of `Model.each`: what `Model.explain` has as arguments, too."""

    target: Any
    composite: Any
    start: Any
    engine: Literal["promise", "compiled", "oracle"]
    precision: Literal["auto", "float", "double"]
    record: bool | None
    copy: bool


class LoadAndExplain(LoadKeywords, Question, total=False):
    """Of `explain`."""

    name: str
    card: Text
    progress: Any
