#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Language models of real shapes with random weights: makes them, and measures what explaining them costs.

    language.py --make llama-1b --dtype bf16 FOLDER           writes FOLDER/llama-1b-bf16.onnx and .onnx.data
    language.py --measure FOLDER/llama-1b-bf16.onnx --tokens 128 --cli PATH/retrograde-cli
    language.py --peer llama-1b --tokens 128 --dtype bf16
    language.py --peer llama-1b --tokens 128 --dtype int4 --plain

A model is written as PyTorch's exporter of operator set 23 writes it: MatMul by weights of in × out elements,
RMSNormalization, RotaryEmbedding, Attention with a causal mask, and a head that is the transposed table of the
embedding where the architecture ties the two. Nothing is computed: weights are slices of one block of normal numbers.
int4 is what ONNX Runtime's model builder writes for processors: MatMulNBits of 4 bits in blocks of 32 with float32
scales, activations in float32, and a table of the embedding that is a view of the packed head (GatherBlockQuantized).

--measure prints a line of JSON: processor seconds (user and system), wall seconds and the peak resident set of the
process in bytes, mapped pages included, and what `explain --estimate` says of them.
--peer measures LXT (package lxt, which needs transformers < 5) on the same architecture, with --plain the model of
transformers without it: forward and backward pass from the largest logit at the last position, two threads, without the
time that loading takes. float32 and bf16 are the types of weights and activations; int4 is what bitsandbytes makes
of the layers (NF4 in blocks of 64, computed in float32; its backward pass widens each weight), with the head in
float32.
Needs numpy and onnx; the peer also torch, transformers, lxt, and for int4 bitsandbytes. Figures are in
docs/benchmarks.md.
"""
import argparse
import json
import os
import pathlib
import resource
import subprocess
import sys
import tempfile
import time

import numpy as np

SHAPES = {
    # width, inner width, layers, query heads, key heads, head size, words, biases of q k v, tied head, theta
    "llama-1b": dict(width=2048, inner=8192, layers=16, heads=32, keys=8, size=64, words=128256, bias=False,
                     tied=True, theta=500000.0),
    "qwen-0.5b": dict(width=896, inner=4864, layers=24, heads=14, keys=2, size=64, words=151936, bias=True,
                      tied=True, theta=1000000.0),
    "llama-8b": dict(width=4096, inner=14336, layers=32, heads=32, keys=8, size=128, words=128256, bias=False,
                     tied=False, theta=500000.0),
    "tiny": dict(width=64, inner=160, layers=3, heads=4, keys=2, size=16, words=512, bias=True, tied=True,
                 theta=10000.0),
}
ALIGNMENT = 4096
BLOCK = 32  # columns that share a scale, in int4


class Weights:
    """External data: one file, each tensor at a multiple of 4,096 bytes."""

    def __init__(self, file, dtype):
        self.file = open(file, "wb")
        self.name = pathlib.Path(file).name
        self.is_bf16 = dtype == "bf16"
        block = np.random.default_rng(40).standard_normal((1 << 22) + 4099, dtype=np.float32)
        self.block = block
        self.draw = np.random.default_rng(41)

    def stored(self, numbers):
        if not self.is_bf16:
            return numbers
        bits = numbers.view(np.uint32)
        return ((bits + 0x7FFF + ((bits >> 16) & 1)) >> 16).astype(np.uint16)

    def bytes(self, count):
        """`count` bytes, each two numbers of four bits, 1 to 15: the mean is the zero point; piece by piece."""
        digits = np.random.default_rng(42).integers(1, 16, (2, (1 << 22) + 4099), np.uint8)
        block = digits[0] | digits[1] << 4
        while count > 0:
            begin = int(self.draw.integers(0, 4099))
            piece = block[begin:begin + min(count, 1 << 22)]
            count -= piece.size
            yield piece

    def normal(self, count, scale):
        """`count` numbers of this deviation, piece by piece."""
        scaled = self.stored(self.block * np.float32(scale))
        while count > 0:
            begin = int(self.draw.integers(0, 4099))
            piece = scaled[begin:begin + min(count, 1 << 22)]
            count -= piece.size
            yield piece

    def write(self, shape, scale, onnx, kind=None):
        """A tensor of normal numbers; scale None: of ones; kind "packed": bytes, "scales": of this number, nearly."""
        count = int(np.prod(shape))
        self.file.seek((self.file.tell() + ALIGNMENT - 1) // ALIGNMENT * ALIGNMENT)
        begin = self.file.tell()
        if kind == "packed":
            pieces = self.bytes(count)
        elif kind == "scales":
            pieces = [(scale * self.draw.uniform(0.8, 1.2, count)).astype(np.float32)]
        else:
            pieces = [self.stored(np.ones(count, np.float32))] if scale is None else self.normal(count, scale)
        for piece in pieces:
            piece.tofile(self.file)
        tensor = onnx.TensorProto()
        tensor.dims.extend(shape)
        types = onnx.TensorProto
        tensor.data_type = types.UINT8 if kind == "packed" else types.BFLOAT16 if self.is_bf16 else types.FLOAT
        tensor.data_location = onnx.TensorProto.EXTERNAL
        for key, value in (("location", self.name), ("offset", begin), ("length", self.file.tell() - begin)):
            entry = tensor.external_data.add()
            entry.key, entry.value = key, str(value)
        return tensor


def make(name, dtype, folder, layers=None):
    """Writes the model; gives its path."""
    import onnx
    from onnx import helper, numpy_helper

    shape = dict(SHAPES[name])
    shape["layers"] = layers or shape["layers"]
    path = pathlib.Path(folder) / f"{name}-{dtype}.onnx"
    path.parent.mkdir(parents=True, exist_ok=True)
    weights = Weights(str(path) + ".data", dtype)
    is_packed = dtype == "int4"
    floating = onnx.TensorProto.BFLOAT16 if dtype == "bf16" else onnx.TensorProto.FLOAT
    nodes, constants = [], []

    def node(op, inputs, output, **attributes):
        nodes.append(helper.make_node(op, inputs, [output], name="node_" + output, **attributes))
        return output

    def weight(label, extents, scale):
        tensor = weights.write(extents, scale, onnx)
        tensor.name = label
        constants.append(tensor)
        return label

    def integers(label, values):
        constants.append(numpy_helper.from_array(np.asarray(values, np.int64), label))
        return label

    def packed(label, rows, columns, deviation):
        """Names of a packed matrix (rows × columns, its inner extent last) and of its scales."""
        deviation_of_digits = 4.32  # of 1 to 15
        for suffix, extents, kind in (("_Q4", [rows, columns // BLOCK, BLOCK // 2], "packed"),
                                      ("_scales", [rows, columns // BLOCK], "scales")):
            tensor = weights.write(extents, deviation / deviation_of_digits, onnx, kind)
            tensor.name = label + suffix
            constants.append(tensor)
        return [label + "_Q4", label + "_scales"]

    def product(x, names, rows, columns, output):
        return node("MatMulNBits", [x, *names], output, domain="com.microsoft", K=rows, N=columns, bits=4,
                    block_size=BLOCK)

    def linear(x, label, rows, columns, output):
        if is_packed:
            return product(x, packed(label, columns, rows, rows ** -0.5), rows, columns, output)
        return node("MatMul", [x, weight(label, [rows, columns], rows ** -0.5)], output)

    width, inner, heads, keys, size = (shape[k] for k in ("width", "inner", "heads", "keys", "size"))
    for label, values in (("zero", 0), ("one", 1), ("axis0", [0]), ("axis1", [1]), ("axis2", [2]), ("axis01", [0, 1]),
                          ("q_shape", [1, -1, heads, size]), ("k_shape", [1, -1, keys, size]),
                          ("o_shape", [1, -1, heads * size]), ("one_by_one", [1]), ("size", [size]),
                          ("repeats", [heads // keys]), ("keys", [keys]), ("head_shape", [1, heads, -1, size])):
        integers(label, values)
    frequency = shape["theta"] ** (-np.arange(0, size, 2, dtype=np.float64) / size)
    constants.append(numpy_helper.from_array(frequency.astype(np.float32).reshape(1, 1, -1), "inv_freq"))

    node("Shape", ["input_ids"], "seq_axis", start=1, end=2)
    node("Squeeze", ["seq_axis"], "seq")
    if is_packed:
        table = packed("embed_tokens.weight", shape["words"], width, 0.02)
        rows = node("Reshape", [table[0], integers("table_shape", [shape["words"], width // 2])], "embed_rows")
        stream = node("GatherBlockQuantized", [rows, "input_ids", table[1]], "embedding", domain="com.microsoft",
                      bits=4, block_size=BLOCK, gather_axis=0, quantize_axis=1)
    else:
        table = weight("embed_tokens.weight", [shape["words"], width], 0.02)
        stream = node("Gather", [table, "input_ids"], "embedding", axis=0)
    node("Range", ["zero", "seq", "one"], "arange")
    node("Unsqueeze", ["arange", "axis1"], "rows")
    node("Unsqueeze", ["arange", "axis0"], "columns")
    node("LessOrEqual", ["columns", "rows"], "causal")
    node("Unsqueeze", ["causal", "axis01"], "mask")
    node("Cast", ["rows"], "positions_float", to=onnx.TensorProto.FLOAT)
    node("Unsqueeze", ["positions_float", "axis0"], "positions")
    node("Mul", ["positions", "inv_freq"], "angles")
    for function in ("Cos", "Sin"):
        raw = node(function, ["angles"], function.lower() + ("_wide" if dtype == "bf16" else ""))
        if dtype == "bf16":
            node("Cast", [raw], function.lower(), to=floating)
    node("Concat", ["one_by_one", "keys", "repeats", "seq_axis", "size"], "repeated", axis=0)

    def norm(x, label, output):
        scale = weight(label, [width], None)
        return node("RMSNormalization", [x, scale], output, axis=-1, epsilon=1e-5, stash_type=1)

    def projection(x, prefix, label, columns):
        y = linear(x, f"{prefix}.{label}_proj.weight", width, columns, f"{prefix}.{label}_linear")
        if shape["bias"]:
            y = node("Add", [y, weight(f"{prefix}.{label}_proj.bias", [columns], 0.1)], f"{prefix}.{label}_biased")
        kind = "q" if label == "q" else "k"
        y = node("Reshape", [y, f"{kind}_shape"], f"{prefix}.{label}_view", allowzero=1)
        return node("Transpose", [y], f"{prefix}.{label}_heads", perm=[0, 2, 1, 3])

    def repeated(x, label):
        x = node("Unsqueeze", [x, "axis2"], label + "_five")
        x = node("Expand", [x, "repeated"], label + "_expand")
        return node("Reshape", [x, "head_shape"], label + "_repeat", allowzero=1)

    for layer in range(shape["layers"]):
        p = f"layers.{layer}"
        x = norm(stream, f"{p}.input_layernorm.weight", f"{p}.normed")
        q = projection(x, p, "q", heads * size)
        k = projection(x, p, "k", keys * size)
        v = projection(x, p, "v", keys * size)
        q = node("RotaryEmbedding", [q, "cos", "sin"], f"{p}.q_turned", interleaved=0, num_heads=heads)
        k = node("RotaryEmbedding", [k, "cos", "sin"], f"{p}.k_turned", interleaved=0, num_heads=keys)
        k, v = repeated(k, f"{p}.k"), repeated(v, f"{p}.v")
        a = node("Attention", [q, k, v, "mask"], f"{p}.attention", is_causal=0, qk_matmul_output_mode=0,
                 scale=size ** -0.5, softcap=0.0)
        a = node("Transpose", [a], f"{p}.attention_tokens", perm=[0, 2, 1, 3])
        a = node("Reshape", [a, "o_shape"], f"{p}.attention_flat", allowzero=1)
        a = linear(a, f"{p}.o_proj.weight", heads * size, width, f"{p}.attention_out")
        stream = node("Add", [stream, a], f"{p}.middle")
        x = norm(stream, f"{p}.post_attention_layernorm.weight", f"{p}.middle_normed")
        gate = linear(x, f"{p}.gate_proj.weight", width, inner, f"{p}.gate")
        sigmoid = node("Sigmoid", [gate], f"{p}.sigmoid")
        gate = node("Mul", [gate, sigmoid], f"{p}.silu")
        up = linear(x, f"{p}.up_proj.weight", width, inner, f"{p}.up")
        x = node("Mul", [gate, up], f"{p}.gated")
        x = linear(x, f"{p}.down_proj.weight", inner, width, f"{p}.down")
        stream = node("Add", [stream, x], f"{p}.out")
    x = norm(stream, "norm.weight", "normed")
    if is_packed:
        head = table if shape["tied"] else packed("lm_head.weight", shape["words"], width, width ** -0.5)
        product(x, head, width, shape["words"], "logits")
    else:
        head = table if shape["tied"] else weight("lm_head.weight", [shape["words"], width], width ** -0.5)
        head = node("Transpose", [head], "lm_head_transposed", perm=[1, 0])
        node("MatMul", [x, head], "logits")
    weights.file.truncate(weights.file.tell())
    weights.file.close()
    graph = helper.make_graph(
        nodes, name, [helper.make_tensor_value_info("input_ids", onnx.TensorProto.INT64, [1, "seq"])],
        [helper.make_tensor_value_info("logits", floating, [1, "seq", shape["words"]])], constants)
    opsets = [helper.make_opsetid("", 23)] + ([helper.make_opsetid("com.microsoft", 1)] if is_packed else [])
    model = helper.make_model(graph, opset_imports=opsets, ir_version=10, producer_name="language.py")
    onnx.save(model, str(path))
    return path


def ids_file(words, tokens, folder):
    """A file of token numbers, the same for every model of so many words."""
    file = pathlib.Path(folder) / f"ids-{words}-{tokens}.npy"
    np.save(file, np.random.default_rng(7).integers(0, words, (1, tokens), dtype=np.int64))
    return file


def run(command, **options):
    """Runs it; processor seconds, wall seconds, peak resident set of the process itself (not of this one)."""
    begin = time.monotonic()
    process = subprocess.Popen(command, **options)
    _, status, usage = os.wait4(process.pid, 0)
    return dict(code=os.waitstatus_to_exitcode(status), cpu=round(usage.ru_utime + usage.ru_stime, 2),
                wall=round(time.monotonic() - begin, 2), peak=usage.ru_maxrss * 1024)


def explained(cli, model, tokens, extra, folder):
    """One call of `explain` for word 17 at the last position."""
    words = SHAPES[pathlib.Path(model).stem.rsplit("-", 1)[0]]["words"]
    folder = pathlib.Path(folder)
    command = [cli, "explain", model, "--input", str(ids_file(words, tokens, folder)),
               "--target", f"logits:0,{tokens - 1},17", "--inputs-only", "--output-dir", str(folder / "out"),
               "--threads", "2", *extra]
    with open(folder / "log.txt", "w", encoding="utf-8") as log:
        measured = run(command, stdout=log, stderr=log)
    measured["log"] = "" if measured["code"] == 0 else (folder / "log.txt").read_text(encoding="utf-8")[-500:]
    estimate = subprocess.run(command + ["--estimate", "--json"], capture_output=True, text=True, check=False)
    if estimate.returncode == 0:
        told = json.loads(estimate.stdout)
        measured["estimate"] = dict(peak=told["process_bytes"], seconds=round(told["seconds"], 2),
                                    cpu=round(told["seconds_processor"], 2))
    return measured


def packed_layers(model):
    """The layers of a model in four bits, by bitsandbytes; embedding and head stay."""
    import bitsandbytes
    import torch

    for layer in model.model.layers:
        for of in (layer.self_attn, layer.mlp):
            for label, linear in list(of.named_children()):
                if isinstance(linear, torch.nn.Linear):
                    made = bitsandbytes.nn.Linear4bit(linear.in_features, linear.out_features, linear.bias is not None,
                                                      compute_dtype=torch.float32, quant_type="nf4")
                    made.weight = bitsandbytes.nn.Params4bit(linear.weight.data, requires_grad=False, quant_type="nf4")
                    made.bias = linear.bias
                    setattr(of, label, made.to("cpu"))


def peer(name, tokens, dtype, plain):
    """Forward and backward pass of LXT, or of `transformers` alone; printed by the child process itself."""
    import torch
    import transformers

    torch.set_num_threads(2)
    shape = SHAPES[name]
    is_qwen = shape["bias"]
    kind = transformers.Qwen2Config if is_qwen else transformers.LlamaConfig
    config = kind(vocab_size=shape["words"], hidden_size=shape["width"], intermediate_size=shape["inner"],
                  num_hidden_layers=shape["layers"], num_attention_heads=shape["heads"],
                  num_key_value_heads=shape["keys"], tie_word_embeddings=shape["tied"], use_cache=False,
                  rope_theta=shape["theta"])
    model_class = transformers.Qwen2ForCausalLM if is_qwen else transformers.LlamaForCausalLM
    if not plain:
        from lxt.efficient import monkey_patch
        from transformers.models.llama import modeling_llama
        from transformers.models.qwen2 import modeling_qwen2
        monkey_patch(modeling_qwen2 if is_qwen else modeling_llama)
    with torch.device("meta"):
        model = model_class(config)
    model = model.to(torch.bfloat16 if dtype == "bf16" else torch.float32)
    model = model.to_empty(device="cpu").eval().requires_grad_(False)
    with torch.no_grad():
        for label, parameter in model.named_parameters():
            if "norm" in label:
                parameter.fill_(1)
            else:
                parameter.normal_(0, 0.02)
        for buffer in model.buffers():
            buffer.zero_()
    if dtype == "int4":
        packed_layers(model)
    ids = torch.from_numpy(np.random.default_rng(7).integers(0, shape["words"], (1, tokens)))
    embedded = model.get_input_embeddings()(ids).detach().requires_grad_(True)
    model(inputs_embeds=embedded[:, :2], use_cache=False).logits.sum().backward()  # what a first call sets up
    embedded.grad = None
    before = resource.getrusage(resource.RUSAGE_SELF)
    begin = time.monotonic()
    logits = model(inputs_embeds=embedded, use_cache=False).logits
    logits[0, -1].max().backward()
    relevance = (embedded * embedded.grad).float().sum(-1)
    after = resource.getrusage(resource.RUSAGE_SELF)
    print(json.dumps(dict(peer="transformers" if plain else "LXT", model=name, dtype=dtype, tokens=tokens,
                          torch=torch.__version__, finite=bool(torch.isfinite(relevance).all()),
                          cpu=round(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, 2),
                          wall=round(time.monotonic() - begin, 2), peak=after.ru_maxrss * 1024)))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--make", choices=SHAPES)
    parser.add_argument("--dtype", choices=("float32", "bf16", "int4"), default="float32")
    parser.add_argument("--layers", type=int, help="fewer than the architecture has")
    parser.add_argument("--measure", metavar="MODEL")
    parser.add_argument("--tokens", type=int, default=128)
    parser.add_argument("--cli", default="retrograde-cli")
    parser.add_argument("--peer", choices=SHAPES, help="measure LXT at this shape")
    parser.add_argument("--plain", action="store_true", help="with --peer: transformers without LXT")
    parser.add_argument("rest", nargs="*", help="FOLDER of --make; further options of `explain`")
    options, unknown = parser.parse_known_args()
    if options.make:
        print(make(options.make, options.dtype, options.rest[0] if options.rest else ".", options.layers))
    if options.peer:
        peer(options.peer, options.tokens, options.dtype, options.plain)
    if options.measure:
        weights = os.path.getsize(options.measure + ".data")
        with tempfile.TemporaryDirectory() as folder:
            measured = explained(options.cli, options.measure, options.tokens, options.rest + unknown, folder)
        measured.update(model=pathlib.Path(options.measure).stem, tokens=options.tokens, weights=weights,
                        ratio=round(measured["peak"] / weights, 3))
        print(json.dumps(measured))
    return 0


if __name__ == "__main__":
    sys.exit(main())
