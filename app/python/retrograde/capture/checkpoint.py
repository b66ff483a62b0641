# SPDX-License-Identifier: Apache-2.0
"""A folder of a checkpoint (config.json and .safetensors) as a model that Retrograde reads.

    python3 -m retrograde.capture.checkpoint FOLDER [model.onnx]

A checkpoint has weights and no graph. This writes a small ONNX file of standard operators (opset 23) into the folder;
its weights are places in the .safetensors files, which are neither copied nor changed. What a configuration asks for
and is not known here is refused by its name. Needs the package onnx.
"""
from __future__ import annotations

import json
import math
import os
import pathlib
import struct
import sys
from collections.abc import Mapping, Sequence
from typing import Any

import numpy

from ..errors import InputError

LONGEST_HEADER = 64 << 20  # bytes of the list of tensors of one file
TYPES = {"F64": "DOUBLE", "F32": "FLOAT", "F16": "FLOAT16", "BF16": "BFLOAT16"}
BYTES = {"F64": 8, "F32": 4, "F16": 2, "BF16": 2}
#: What config.json may say of model_type.
FAMILIES = ("llama", "mistral", "qwen2", "qwen3", "gemma2", "gemma3_text", "phi3", "gpt2", "mixtral", "qwen3_moe")
ACTIVATIONS = {"silu": "silu", "swish": "silu", "gelu": "gelu", "gelu_new": "tanh", "gelu_pytorch_tanh": "tanh",
               "relu": "relu"}


class Weights:
    """What lies where in the .safetensors files of a folder."""

    def __init__(self, folder: pathlib.Path) -> None:
        self.folder = folder
        self.tensors: dict[str, tuple[str, str, list[int], int, int]] = {}  # name → file, type, shape, offset, bytes
        index = folder / "model.safetensors.index.json"
        names = set(json.loads(index.read_text(encoding="utf-8"))["weight_map"].values()) if index.is_file() else set()
        for name in sorted(names) or [path.name for path in sorted(folder.glob("*.safetensors"))]:
            self._read(name)
        if not self.tensors:
            raise InputError("the folder has no .safetensors file with weights", str(folder))

    def _read(self, name: str) -> None:
        path = self.folder / name
        if not path.is_file():
            raise InputError("a file that the index names is missing", str(path))
        if path.resolve().parent != self.folder.resolve():
            raise InputError("the file is a link to another folder, which an ONNX file may not name; fetch the "
                             "checkpoint into one folder (hf download … --local-dir)", str(path))
        size = path.stat().st_size
        with open(path, "rb") as file:
            head = file.read(8)
            length = struct.unpack("<Q", head)[0] if len(head) == 8 else size
            if length > min(size - 8, LONGEST_HEADER):
                raise InputError("this is no .safetensors file: its list of tensors does not fit into it", str(path))
            try:
                listed = json.loads(file.read(length))
            except ValueError as error:
                raise InputError(f"this is no .safetensors file: {error}", str(path)) from error
        for tensor, said in listed.items():
            if tensor == "__metadata__":
                continue
            try:
                (begin, end), kind, shape = map(int, said["data_offsets"]), said["dtype"], [*map(int, said["shape"])]
            except (KeyError, TypeError, ValueError) as error:
                raise InputError(f"type, shape or place of '{tensor}' is missing", str(path)) from error
            fits = kind not in BYTES or end - begin == math.prod(shape) * BYTES[kind]
            if not fits or begin < 0 or 8 + length + end > size:
                raise InputError(f"the place of '{tensor}' does not fit its shape or its file", str(path))
            self.tensors[tensor] = (name, kind, shape, 8 + length + begin, end - begin)


class Writer:
    """An ONNX graph that grows; every method gives the name of a value."""

    def __init__(self, weights: Weights) -> None:
        import onnx
        self.onnx, self.weights = onnx, weights
        self.nodes: list[Any] = []
        self.initializers: dict[str, Any] = {}
        self.used: set[str] = set()
        self.scope = ""

    def node(self, op: str, inputs: Sequence[str], name: str, outputs: int = 1, **attributes: Any) -> Any:
        """A node of the current scope; its result, or a list of them."""
        name = f"{self.scope}/{name}" if self.scope else name
        while name in self.used:
            name += "_"
        self.used.add(name)
        names = [name] if outputs == 1 else [f"{name}/{i}" for i in range(outputs)]
        self.nodes.append(self.onnx.helper.make_node(op, list(inputs), names, name=name + "/node", **attributes))
        return names[0] if outputs == 1 else names

    def weight(self, name: str) -> str:
        """A tensor of the checkpoint, as it lies there."""
        if name not in self.initializers:
            if name not in self.weights.tensors:
                raise InputError(f"the checkpoint has no tensor '{name}'", str(self.weights.folder))
            file, kind, shape, offset, length = self.weights.tensors[name]
            if kind not in TYPES:
                raise InputError(f"the tensor '{name}' is {kind}; known are {', '.join(TYPES)}", file)
            tensor = self.onnx.TensorProto(name=name, dims=shape, data_type=getattr(self.onnx.TensorProto, TYPES[kind]))
            tensor.data_location = self.onnx.TensorProto.EXTERNAL
            for key, value in (("location", file), ("offset", offset), ("length", length)):
                tensor.external_data.add(key=key, value=str(value))
            self.initializers[name] = tensor
        return name

    def has(self, name: str) -> bool:
        """Whether the checkpoint has such a tensor."""
        return name in self.weights.tensors

    def constant(self, name: str, value: Any, like: str | None = None) -> str:
        """Numbers of the graph's own; `like`: of the type of that tensor of the checkpoint."""
        if name not in self.initializers:
            made = self.onnx.numpy_helper.from_array(numpy.asarray(value), name)
            if like is not None:
                kind = getattr(self.onnx.TensorProto, TYPES[self.weights.tensors[like][1]])
                made = self.onnx.helper.make_tensor(name, kind, made.dims, numpy.asarray(value, numpy.float32).ravel())
            self.initializers[name] = made
        return name

    def linear(self, x: str, name: str, out: str, turned: bool = True) -> str:
        """x · Wᵀ + b (turned), or x · W + b."""
        weight = self.weight(f"{name}.weight")
        if turned:
            weight = self.node("Transpose", [weight], f"{out}/weight", perm=[1, 0])
        y = self.node("MatMul", [x, weight], out if not self.has(f"{name}.bias") else f"{out}/product")
        return self.node("Add", [y, self.weight(f"{name}.bias")], out) if self.has(f"{name}.bias") else y

    def reshaped(self, x: str, shape: Sequence[int], out: str) -> str:
        """x in another shape; 0 keeps an extent, -1 is the rest."""
        label = "shape_" + "_".join(map(str, shape)).replace("-", "m")
        return self.node("Reshape", [x, self.constant(label, numpy.array(shape, numpy.int64))], out)


class Decoder:
    """A model that predicts the next word, of the families below."""

    def __init__(self, config: Mapping[str, Any], writer: Writer) -> None:
        self.config, self.w = config, writer
        self.kind = config["model_type"]
        self.hidden = self.whole("hidden_size", "n_embd")
        self.heads = self.whole("num_attention_heads", "n_head")
        is_old = self.kind == "gpt2"  # which knows neither, whatever stands there
        self.kv = (not is_old and config.get("num_key_value_heads")) or self.heads
        self.width = (not is_old and config.get("head_dim")) or self.hidden // self.heads
        self.layers = self.whole("num_hidden_layers", "n_layer")
        self.is_gemma = self.kind.startswith("gemma")
        self._made: dict[str, Any] = {}  # what all layers share
        prefixes = ("model.", "transformer.", "language_model.model.", "model.language_model.", "")
        self.prefix = next((one for one in prefixes if writer.has(one + self.embedding_name())), "model.")

    def whole(self, *names: str) -> int:
        """A count of the configuration."""
        found = next((self.config[name] for name in names if isinstance(self.config.get(name), int)), 0)
        if found < 1:
            raise InputError(f"config.json has no {names[0]}", self.kind)
        return found

    def embedding_name(self) -> str:
        """The table of words."""
        return "wte.weight" if self.kind == "gpt2" else "embed_tokens.weight"

    def refuse(self, what: str) -> InputError:
        """What config.json asks for and is not known here."""
        return InputError(f"config.json asks for {what}, which is not known here; export the model with "
                          "onnxruntime-genai or optimum instead", self.kind)

    def activated(self, x: str, out: str) -> str:
        """The function of elements between two linear maps."""
        asked = self.config.get("hidden_activation") or self.config.get("hidden_act") or self.config.get(
            "activation_function") or "silu"
        kind = ACTIVATIONS.get(asked)
        if kind is None:
            raise self.refuse(f"the activation '{asked}'")
        if kind == "silu":
            return self.w.node("Mul", [x, self.w.node("Sigmoid", [x], f"{out}/sigmoid")], out)
        if kind == "relu":
            return self.w.node("Relu", [x], out)
        return self.w.node("Gelu", [x], out, approximate="tanh" if kind == "tanh" else "none")

    def norm(self, x: str, name: str, out: str) -> str:
        """RMSNorm or LayerNorm by a tensor of the checkpoint. Gemma stores its scales less one."""
        scale = self.w.weight(f"{name}.weight")
        if self.kind == "gpt2":
            return self.w.node("LayerNormalization", [x, scale, self.w.weight(f"{name}.bias")], out, axis=-1,
                               epsilon=self.config.get("layer_norm_epsilon", 1e-5))
        if self.is_gemma:
            scale = self.w.node("Add", [scale, self.w.constant("one", 1.0, scale)], f"{out}/scale")
        return self.w.node("RMSNormalization", [x, scale], out, axis=-1, epsilon=self.config.get("rms_norm_eps", 1e-6))

    def frequencies(self, is_local: bool) -> tuple[numpy.ndarray, float]:
        """Turns per position of each pair of features, and how many features turn. Raises InputError."""
        said = self.config.get("rope_parameters") or {}
        of_kind = said.get("sliding_attention" if is_local else "full_attention")
        said = of_kind if isinstance(of_kind, Mapping) else said
        scaling = dict(self.config.get("rope_scaling") or {}, **said)
        theta = scaling.get("rope_theta") or self.config.get("rope_theta") or 10000.0
        if is_local and not of_kind and self.config.get("rope_local_base_freq"):
            theta, scaling = self.config["rope_local_base_freq"], {}
        share = scaling.get("partial_rotary_factor") or self.config.get("partial_rotary_factor") or 1.0
        turned = int(self.width * share)
        turns = 1.0 / theta ** (numpy.arange(0, turned, 2) / turned)
        kind = scaling.get("rope_type") or scaling.get("type") or "default"
        if kind == "linear":
            turns = turns / scaling["factor"]
        elif kind == "llama3":
            length = 2 * math.pi / turns
            old = scaling["original_max_position_embeddings"]
            low, high = old / scaling["low_freq_factor"], old / scaling["high_freq_factor"]
            gap = scaling["high_freq_factor"] - scaling["low_freq_factor"]
            part = (old / length - scaling["low_freq_factor"]) / gap
            between = (1 - part) * turns / scaling["factor"] + part * turns
            turns = numpy.where(length > low, turns / scaling["factor"], numpy.where(length < high, turns, between))
        elif kind != "default":
            raise self.refuse(f"the rotary scaling '{kind}'")
        return turns.astype(numpy.float32), turned

    def rotary(self, is_local: bool) -> tuple[str, str, int]:
        """Cosines and sines (1 × tokens × pairs) by the position, in the type of the model."""
        turns, turned = self.frequencies(is_local)
        tag = "local" if is_local else "rotary"
        scope, self.w.scope = self.w.scope, ""
        if tag not in self._made:
            factors = self.w.constant(f"{tag}_turns", turns)
            angles = self.w.node("Mul", [self.positions("column"), factors], f"{tag}/angles")
            kind = getattr(self.w.onnx.TensorProto, TYPES[self.w.weights.tensors[self.table][1]])
            self._made[tag] = [self.w.node("Cast", [self.w.node(op, [angles], f"{tag}/{op.lower()}_wide")],
                                           f"{tag}/{op.lower()}", to=kind) for op in ("Cos", "Sin")]
        self.w.scope = scope
        return (*self._made[tag], turned)

    def positions(self, form: str) -> str:
        """0, 1, … as whole numbers ("row": tokens), or as float32 (1 × tokens × 1)."""
        if "row" not in self._made:
            listed = self.w.node("Shape", ["input_ids"], "length_list", start=1, end=2)
            length = self.w.node("Squeeze", [listed], "length")
            row = self.w.node("Range", [self.w.constant("zero", numpy.int64(0)), length,
                                        self.w.constant("step", numpy.int64(1))], "positions")
            wide = self.w.node("Cast", [row], "positions_wide", to=self.w.onnx.TensorProto.FLOAT)
            self._made |= {"row": row, "column": self.w.reshaped(wide, (1, -1, 1), "positions_column")}
        return self._made[form]

    def mask(self, window: int | None, is_causal: bool) -> str:
        """0 where a token may look, else very low; tokens × tokens. Without `is_causal` a window alone."""
        scope, self.w.scope = self.w.scope, ""
        tag = f"mask_{window or 'all'}_{int(is_causal)}"
        if tag not in self._made:
            row = self.positions("row")
            back = self.w.node("Sub", [self.w.reshaped(row, (-1, 1), f"{tag}/to"), self.w.reshaped(row, (1, -1),
                                                                                                  f"{tag}/from")],
                               f"{tag}/back")
            hidden = []
            if is_causal:
                hidden.append(self.w.node("Less", [back, self.w.constant("zero", numpy.int64(0))], f"{tag}/later"))
            if window:
                far = self.w.constant(f"window_{window}", numpy.int64(window))
                hidden.append(self.w.node("GreaterOrEqual", [back, far], f"{tag}/far"))
            all_hidden = hidden[0] if len(hidden) == 1 else self.w.node("Or", hidden, f"{tag}/hidden")
            low, none = (self.w.constant(name, value, self.table) for name, value in (("low", -1e9), ("none", 0.0)))
            self._made[tag] = self.w.node("Where", [all_hidden, low, none], tag)
        self.w.scope = scope
        return self._made[tag]

    def window(self, layer: int) -> int | None:
        """How far back a layer looks; None: to the beginning."""
        kinds = self.config.get("layer_types")
        size = self.config.get("sliding_window")
        if kinds:
            return size if kinds[layer] == "sliding_attention" else None
        if self.kind == "gemma2":
            return size if layer % 2 == 0 else None
        if self.kind == "gemma3_text":
            return size if (layer + 1) % self.config.get("sliding_window_pattern", 6) else None
        if self.kind.startswith("qwen"):
            return size if self.config.get("use_sliding_window") else None
        return size

    def heads_of(self, x: str, name: str, layer: str, heads: int, is_local: bool) -> str:
        """Queries or keys: normed head by head where the model has that, and turned by their position."""
        if self.w.has(f"{layer}.self_attn.{name}_norm.weight"):
            x = self.w.reshaped(x, (0, 0, heads, self.width), f"{name}/heads")
            x = self.norm(x, f"{layer}.self_attn.{name}_norm", f"{name}/normed")
            x = self.w.reshaped(x, (0, 0, heads * self.width), f"{name}/joined")
        cos, sin, turned = self.rotary(is_local)
        return self.w.node("RotaryEmbedding", [x, cos, sin], f"{name}/turned", num_heads=heads,
                           rotary_embedding_dim=turned if turned != self.width else 0)

    def split(self, x: str, sizes: Sequence[int], out: str) -> list[str]:
        """Parts of the last axis."""
        label = "parts_" + "_".join(map(str, sizes))
        lengths = self.w.constant(label, numpy.array(sizes, numpy.int64))
        return self.w.node("Split", [x, lengths], out, outputs=len(sizes), axis=-1)

    def attention(self, x: str, layer: str, index: int) -> str:
        """The mixing of tokens of one layer."""
        window = self.window(index)
        q_size, kv_size = self.heads * self.width, self.kv * self.width
        if self.kind == "gpt2":
            q, k, v = self.split(self.w.linear(x, f"{layer}.attn.c_attn", "qkv", False), (q_size,) * 3, "qkv_parts")
        elif self.w.has(f"{layer}.self_attn.qkv_proj.weight"):
            q, k, v = self.split(self.w.linear(x, f"{layer}.self_attn.qkv_proj", "qkv"), (q_size, kv_size, kv_size),
                                 "qkv_parts")
        else:
            q, k, v = (self.w.linear(x, f"{layer}.self_attn.{one}_proj", one) for one in "qkv")
        if self.kind != "gpt2":
            is_local = self.kind == "gemma3_text" and window is not None
            q = self.heads_of(q, "q", layer, self.heads, is_local)
            k = self.heads_of(k, "k", layer, self.kv, is_local)
        scalar = self.config.get("query_pre_attn_scalar")
        scale = float(scalar) ** -0.5 if scalar else self.width ** -0.5
        softcap = self.config.get("attn_logit_softcapping")
        if softcap:
            mixed = self.capped(q, k, v, scale, softcap, self.mask(window, True))
        else:
            mask = [self.mask(window, False)] if window else []
            mixed = self.w.node("Attention", [q, k, v, *mask], "mixed", q_num_heads=self.heads, kv_num_heads=self.kv,
                                is_causal=1, scale=scale)
        if self.kind == "gpt2":
            return self.w.linear(mixed, f"{layer}.attn.c_proj", "attention", False)
        return self.w.linear(mixed, f"{layer}.self_attn.o_proj", "attention")

    def capped(self, q: str, k: str, v: str, scale: float, cap: float, mask: str) -> str:
        """Attention whose scores are bent before they are masked: the standard operator bends them afterwards."""
        def by_head(x: str, heads: int, name: str) -> str:
            x = self.w.node("Transpose", [self.w.reshaped(x, (0, 0, heads, self.width), f"{name}/split")],
                            f"{name}/by_head", perm=[0, 2, 1, 3])
            if heads == self.heads:
                return x
            group = self.heads // heads
            x = self.w.node("Unsqueeze", [x, self.w.constant("two", numpy.array([2]))], f"{name}/group")
            sizes = self.w.constant(f"groups_{group}", numpy.array([1, 1, group, 1, 1]))
            return self.w.reshaped(self.w.node("Expand", [x, sizes], f"{name}/groups"), (0, self.heads, -1, self.width),
                                   f"{name}/repeated")
        def times(x: str, factor: float, name: str) -> str:
            return self.w.node("Mul", [x, self.w.constant(f"factor_{factor!r}", factor, self.table)], name)
        q, k, v = by_head(q, self.heads, "q"), by_head(k, self.kv, "k"), by_head(v, self.kv, "v")
        scores = self.w.node("MatMul", [q, self.w.node("Transpose", [k], "k/columns", perm=[0, 1, 3, 2])], "scores")
        bent = self.w.node("Tanh", [times(scores, scale / cap, "scores/scaled")], "scores/bent")
        bent = times(bent, cap, "scores/capped")
        weights = self.w.node("Softmax", [self.w.node("Add", [bent, mask], "scores/masked")], "weights", axis=-1)
        mixed = self.w.node("Transpose", [self.w.node("MatMul", [weights, v], "mixed/by_head")], "mixed/turned",
                            perm=[0, 2, 1, 3])
        return self.w.reshaped(mixed, (0, 0, self.heads * self.width), "mixed")

    def gated(self, x: str, name: str, parts: tuple[str, str, str], out: str) -> str:
        """down(act(gate(x)) · up(x)); gate and up may be one tensor."""
        gate, up, down = (f"{name}.{part}" for part in parts)
        if self.w.has(f"{name}.gate_up_proj.weight"):
            both = self.w.linear(x, f"{name}.gate_up_proj", f"{out}/both")
            size = self.w.weights.tensors[f"{name}.gate_up_proj.weight"][2][0] // 2
            first, second = self.split(both, (size, size), f"{out}/parts")
        else:
            first, second = self.w.linear(x, gate, f"{out}/gate"), self.w.linear(x, up, f"{out}/up")
        product = self.w.node("Mul", [self.activated(first, f"{out}/act"), second], f"{out}/product")
        return self.w.linear(product, down, out)

    def experts(self, x: str, name: str, parts: tuple[str, str, str]) -> str:
        """The sum of the chosen experts, each times its share. All are computed: the choice differs per token."""
        count = self.config.get("num_local_experts") or self.config.get("num_experts") or 0
        most = self.whole("num_experts_per_tok")
        shares = self.w.node("Softmax", [self.w.linear(x, f"{name}.gate", "router")], "router/shares", axis=-1)
        largest, places = self.w.node("TopK", [shares, self.w.constant(f"most_{most}", numpy.array([most]))],
                                      "router/top", outputs=2, axis=-1)
        if self.kind == "mixtral" or self.config.get("norm_topk_prob"):
            total = self.w.node("ReduceSum", [largest, self.w.constant("last", numpy.array([-1]))], "router/total")
            largest = self.w.node("Div", [largest, total], "router/normed")
        nothing = self.w.node("Mul", [shares, self.w.constant("none", 0.0, self.table)], "router/nothing")
        chosen = self.w.node("ScatterElements", [nothing, places, largest], "router/chosen", axis=-1)
        columns = self.split(chosen, (1,) * count, "router/columns")
        mixed = ""
        for i, share in enumerate(columns):
            own = self.gated(x, f"{name}.experts.{i}", parts, f"expert{i}")
            own = self.w.node("Mul", [own, share], f"expert{i}/share")
            mixed = own if not mixed else self.w.node("Add", [mixed, own], f"experts{i}")
        return mixed

    def feed_forward(self, x: str, layer: str) -> str:
        """What each token does by itself."""
        if self.kind == "gpt2":
            inner = self.activated(self.w.linear(x, f"{layer}.mlp.c_fc", "mlp/inner", False), "mlp/act")
            return self.w.linear(inner, f"{layer}.mlp.c_proj", "mlp", False)
        if self.w.has(f"{layer}.block_sparse_moe.gate.weight"):
            return self.experts(x, f"{layer}.block_sparse_moe", ("w1", "w3", "w2"))
        names = ("gate_proj", "up_proj", "down_proj")
        if self.w.has(f"{layer}.mlp.gate.weight"):
            return self.experts(x, f"{layer}.mlp", names)
        return self.gated(x, f"{layer}.mlp", names, "mlp")

    def layer(self, x: str, index: int) -> str:
        """One layer; norms lie where the family has them."""
        block = f"{self.prefix}{'h' if self.kind == 'gpt2' else 'layers'}.{index}"
        before, between = ("ln_1", "ln_2") if self.kind == "gpt2" else ("input_layernorm", "post_attention_layernorm")
        self.w.scope = f"layer{index}"
        mixed = self.attention(self.norm(x, f"{block}.{before}", "attention_norm"), block, index)
        if self.is_gemma:
            mixed = self.norm(mixed, f"{block}.{between}", "attention_after")
            between = "pre_feedforward_layernorm"
        x = self.w.node("Add", [x, mixed], "attention_sum")
        own = self.feed_forward(self.norm(x, f"{block}.{between}", "mlp_norm"), block)
        if self.is_gemma:
            own = self.norm(own, f"{block}.post_feedforward_layernorm", "mlp_after")
        return self.w.node("Add", [x, own], "out")

    def build(self) -> str:
        """input_ids (1 × tokens) to logits (1 × tokens × words); the name of the logits."""
        w = self.w
        self.table = w.weight(self.prefix + self.embedding_name())
        x = w.node("Gather", [self.table, "input_ids"], "embedding")
        if self.kind == "gpt2":
            x = w.node("Add", [x, w.node("Gather", [w.weight(f"{self.prefix}wpe.weight"), self.positions("row")],
                                         "places")], "embedding_sum")
        if self.is_gemma:
            x = w.node("Mul", [x, w.constant("root", self.hidden ** 0.5, self.table)], "embedding_scaled")
        for index in range(self.layers):
            x = self.layer(x, index)
        w.scope = ""
        x = self.norm(x, f"{self.prefix}{'ln_f' if self.kind == 'gpt2' else 'norm'}", "last_norm")
        head = "lm_head" if w.has("lm_head.weight") else (self.prefix + self.embedding_name()).removesuffix(".weight")
        cap = self.config.get("final_logit_softcapping")
        if not cap:
            return w.linear(x, head, "logits")
        factors = [w.constant(f"factor_{one!r}", one, self.table) for one in (1 / cap, cap)]
        scaled = w.node("Mul", [w.linear(x, head, "logits_plain"), factors[0]], "logits_scaled")
        return w.node("Mul", [w.node("Tanh", [scaled], "logits_bent"), factors[1]], "logits")


def write(folder: str | os.PathLike, out: str = "model.onnx") -> str:
    """Writes the graph of a checkpoint into its folder.

    folder: holds config.json and .safetensors files (one, or several with an index). out: name of the file in it.
    Returns its path. The graph has input_ids (int64, 1 × tokens) and logits (1 × tokens × words), in the types of the
    checkpoint. Raises InputError: a family, a setting or a type that is not known, a tensor that is missing.
    """
    import onnx
    folder = pathlib.Path(folder)
    if pathlib.Path(out).name != out:
        raise InputError("the file lies in the folder of the checkpoint; give its name without a folder", out)
    if not out.endswith(".onnx"):
        raise InputError("other files of the folder are of the checkpoint; give a name that ends in .onnx", out)
    try:
        config = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise InputError(f"config.json cannot be read: {error}", str(folder)) from error
    if config.get("model_type") == "gemma3":
        config = {**config["text_config"], "model_type": "gemma3_text"}
    kind = config.get("model_type")
    if kind not in FAMILIES:
        raise InputError(f"models of the type '{kind}' are not known here; known are {', '.join(FAMILIES)}",
                         str(folder))
    writer = Writer(Weights(folder))
    logits = Decoder(config, writer).build()
    types = {tensor.data_type for tensor in writer.initializers.values() if tensor.external_data}
    element = max(types, key=lambda one: onnx.helper.tensor_dtype_to_np_dtype(one).itemsize)
    graph = onnx.helper.make_graph(
        writer.nodes, kind,
        [onnx.helper.make_tensor_value_info("input_ids", onnx.TensorProto.INT64, [1, "tokens"])],
        [onnx.helper.make_tensor_value_info(logits, element, [1, "tokens", None])],
        [*writer.initializers.values()])
    model = onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 23)], ir_version=10,
                                   producer_name="retrograde")
    path = folder / out
    part = folder / (out + ".part")
    part.write_bytes(model.SerializeToString())
    part.replace(path)
    return str(path)


def main() -> None:
    """`python3 -m retrograde.capture.checkpoint FOLDER [NAME]`: prints the path; 2 or 3 where it is refused."""
    if len(sys.argv) not in (2, 3):
        print("checkpoint: give the folder of a checkpoint, and a file name if it is not model.onnx", file=sys.stderr)
        sys.exit(2)
    try:
        print(write(*sys.argv[1:]))
    except InputError as error:
        print(f"checkpoint: {error}", file=sys.stderr)
        sys.exit(error.code)


if __name__ == "__main__":
    main()
