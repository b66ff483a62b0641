# SPDX-License-Identifier: Apache-2.0
"""Turns a LUT layer of spiky into the operator LUT (domain ai.retrograde, docs/lut.md).

    from retrograde.capture import spikylut
    spikylut.write(layer, "layer.json", batch=4)        # graph JSON of one operator: run, explain, draw it
    spikylut.write_case(layer, x, "case.json")          # a LUT case, for `retrograde-cli lut` (docs/formats/lut.md)

torchcapture.capture writes the operator for every such layer inside a module. The layer is read by the names that spiky
gives its parts (revisions from December 2025 on); spiky itself is not imported. Modes: fully connected or sparse,
without positions or with positional codes. What the operator does not do (the product of positions of 1.0, sinusoidal
codes, a threshold in comparisons, sums in integers) is refused by name.
"""
import dataclasses
import json

import numpy

from .graphjson import CaptureError, GraphWriter, write_text

DOMAIN, VERSION = "ai.retrograde", 1


@dataclasses.dataclass
class LutLayer:
    """A layer as docs/lut.md describes it. anchors [T, C, 2] int64, −1 where unused; weights [T, R, O], or one per
    synapse with `row_starts` [N + 1] and `columns`; codes [S − 1, T, P] or None."""
    length: int
    inputs: int
    outputs: int
    anchors: numpy.ndarray
    weights: numpy.ndarray
    codes: numpy.ndarray = None
    row_starts: numpy.ndarray = None
    columns: numpy.ndarray = None
    forward_group: int = 32
    backward_group: int = 32

    @property
    def is_sparse(self):
        return self.row_starts is not None

    @property
    def code_bits(self):
        return 0 if self.codes is None else self.codes.shape[2]

    @property
    def rows(self):
        """Rows of a table: 2^C, with positions 2^(2C + P)."""
        comparisons = self.anchors.shape[1]
        return 1 << (comparisons if self.length == 1 else 2 * comparisons + self.code_bits)


def is_lut_layer(module):
    """Whether a module is a LUT layer of spiky, by the parts that it has."""
    return all(hasattr(module, name) for name in ("_detector_anchors", "_weights", "_lut_dm", "n_detectors"))


def array(tensor, dtype):
    return tensor.detach().cpu().numpy().astype(dtype) if hasattr(tensor, "detach") else numpy.asarray(tensor, dtype)


def refuse_what_is_new(layer, name):
    """Options of later revisions that change the numbers."""
    if str(getattr(layer, "_summation_dtype", "torch.float32")) not in ("torch.float32", "float32"):
        raise CaptureError(f"{name} sums in integers, which rounds; build it with summation_dtype=torch.float32")
    for option, what in (("_use_sinusoidal_pe", "sinusoidal codes"), ("_cmp_eps", "a threshold in its comparisons")):
        if getattr(layer, option, None):
            raise CaptureError(f"{name} has {what} ({option}), which the operator LUT has not; build it without")


def layer_of(layer, name="the layer"):
    """A LutLayer from a layer of spiky after compile_lut(). Sizes that do not fit are a CaptureError."""
    refuse_what_is_new(layer, name)
    if layer._weights is None or layer._detector_anchors is None:
        raise CaptureError(f"{name} is not ready; call initialize_detectors() and compile_lut() first")
    tables, comparisons, length = layer.n_detectors(), layer.n_anchors_per_detector(), layer.sequence_length()
    anchors = array(layer._detector_anchors, numpy.int64)
    if anchors.size != tables * comparisons * 2:
        raise CaptureError(f"{name} has {anchors.size} anchors, wanted are {tables} · {comparisons} · 2; call "
                           "initialize_detectors() first")
    anchors = anchors.reshape(tables, comparisons, 2)
    anchors[anchors == 0xFFFFFFFF] = -1
    found = LutLayer(length, layer.n_inputs(), layer.n_outputs(), anchors, numpy.empty(0), codes_of(layer, name),
                     forward_group=int(getattr(layer, "_forward_group_size", 32)),
                     backward_group=int(getattr(layer, "_backward_group_size", 32)))
    if layer._is_fully_connected:
        found.weights = tables_of(layer, found, name)
    else:
        found.row_starts, found.columns, found.weights = synapses_of(layer, found, name)
    return found


def codes_of(layer, name):
    """Positional codes [S − 1, T, P]; codes that all tables share are repeated. None without positions or bits."""
    length, tables = layer.sequence_length(), layer.n_detectors()
    codes = getattr(layer, "_positional_embeddings", None)
    if length == 1 or codes is None:
        return None
    codes = array(codes, numpy.float32)
    if getattr(layer, "_unified_positional_embeddings", False):
        codes = numpy.repeat(codes.reshape(length - 1, 1, -1), tables, axis=1)
    bits = getattr(layer, "_positional_dim", None)
    wanted = (length - 1) * tables * (bits if bits is not None else max(1, codes.size // ((length - 1) * tables)))
    if codes.size != wanted:
        raise CaptureError(f"{name} has {codes.size} numbers of positional codes, which is no multiple of (S − 1) · T = "
                           f"{(length - 1) * tables}; it comes from a revision of spiky before December 2025: build it again "
                           "with a later one")
    return codes.reshape(length - 1, tables, -1)


def tables_of(layer, found, name):
    """Weights [T, R, O] of a fully connected layer."""
    weights = array(layer._weights, numpy.float32)
    tables, comparisons = found.anchors.shape[:2]
    if weights.size != tables * found.rows * found.outputs:
        said = " (the product of positions, which the operator LUT does not do)" if (
            found.length > 1 and weights.size == tables * (1 << comparisons) * found.outputs) else ""
        raise CaptureError(f"{name} has {weights.size} weights{said}; wanted are T · R · O = {tables} · {found.rows} · "
                           f"{found.outputs}")
    return weights.reshape(tables, found.rows, found.outputs)


def synapses_of(layer, found, name):
    """Row starts, columns and weights of a sparse layer, exported by the layer itself."""
    import torch

    ids = layer.get_lookup_neuron_ids()
    count, neurons = int(layer._count_synapses(ids)), found.anchors.shape[0] * found.rows
    sources, targets = (torch.zeros(count, dtype=torch.int32, device=ids.device) for _ in range(2))
    weights = torch.zeros(count, dtype=torch.float32, device=ids.device)
    layer._export_synapses(ids, sources, weights, targets)
    rows = array(sources, numpy.int64) - int(ids[0])
    columns = array(targets, numpy.int64) - int(layer.get_output_neuron_ids()[0])
    if count and not (0 <= rows.min() and rows.max() < neurons and 0 <= columns.min() and columns.max() < found.outputs):
        raise CaptureError(f"{name} exports synapses of rows {rows.min()} to {rows.max()} and outputs {columns.min()} to "
                           f"{columns.max()}; there are {neurons} rows and {found.outputs} outputs: this revision of spiky "
                           "numbers them in another way")
    order = numpy.lexsort((columns, rows))
    starts = numpy.concatenate([[0], numpy.cumsum(numpy.bincount(rows, minlength=neurons))])
    return starts.astype(numpy.int64), columns[order], array(weights, numpy.float32)[order]


def operands_of(graph, layer, name):
    """Writes anchors, weights, codes and synapses as constants; their names in the order of the operator."""
    names = [graph.add_constant(f"{name}.anchors", layer.anchors.astype(numpy.int64)),
             graph.add_constant(f"{name}.weights", layer.weights)]
    names.append(graph.add_constant(f"{name}.codes", layer.codes) if layer.code_bits else None)
    if layer.is_sparse:
        names += [graph.add_constant(f"{name}.row_starts", layer.row_starts),
                  graph.add_constant(f"{name}.columns", layer.columns)]
    while names[-1] is None:
        names.pop()
    return names


def add(graph, layer, x, y, name, scope=""):
    """Writes the operator: x and y are names of values. Its name."""
    graph.opsets[DOMAIN] = VERSION
    attributes = {"sequence": int(layer.length > 1), "outputs": layer.outputs, "forward_group": layer.forward_group,
                  "backward_group": layer.backward_group}
    return graph.add_node("LUT", [x, *operands_of(graph, layer, name)], [y], name, DOMAIN, scope, attributes)


def write(layer, path=None, batch="N", name="lut"):
    """The graph of one layer, float32 [batch, S, I] → [batch, S, O] as spiky has it; the GraphWriter, and the file at
    `path`. layer: one of spiky, or a LutLayer."""
    layer = layer if isinstance(layer, LutLayer) else layer_of(layer)
    graph = GraphWriter(name)
    x = graph.add_input("x", "float32", (batch, layer.length, layer.inputs))
    y = graph.add_value("y", "float32", (batch, layer.length, layer.outputs))
    add(graph, layer, x, y, name)
    graph.set_outputs([y])
    if path:
        graph.write(path)
    return graph


def write_case(layer, x, path, outputs=None):
    """A LUT case: the layer with an input [B, I] or [B, S, I] and, where given, what the output should be."""
    layer = layer if isinstance(layer, LutLayer) else layer_of(layer)
    x = numpy.asarray(x.detach().cpu() if hasattr(x, "detach") else x, numpy.float32)
    mode = ("sparse" if layer.is_sparse else "fc") + ("_seq" if layer.length > 1 else "_nonseq")
    anchors = numpy.where(layer.anchors < 0, 0xFFFFFFFF, layer.anchors)
    case = {"name": mode, "mode": mode, "B": x.shape[0], "S": layer.length, "I": layer.inputs, "O": layer.outputs,
            "T": layer.anchors.shape[0], "C": layer.anchors.shape[1], "P": layer.code_bits, "anchors": anchors.tolist(),
            "x": x.reshape(-1).tolist(), "weights": layer.weights.reshape(-1).tolist()}
    if layer.code_bits:
        case["pe"] = layer.codes.reshape(-1).tolist()
    if layer.is_sparse:
        case.update({"row_ptr": layer.row_starts.tolist(), "col": layer.columns.tolist()})
    if outputs is not None:
        case["forward"] = {"output": numpy.asarray(outputs, float).reshape(-1).tolist()}
    write_text(path, json.dumps(case) + "\n")
    return case
