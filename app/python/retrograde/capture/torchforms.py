# SPDX-License-Identifier: Apache-2.0
"""How modules, functions and methods of PyTorch are written in operators of the ONNX standard. A form that does not fit
(training mode, options that the standard has not) raises NotStandard, and the node stays one of PyTorch."""
import dataclasses
import math
import numbers
import typing

import numpy

FORMS = {}


class NotStandard(Exception):
    """The standard has no operator for this form of the call."""


@dataclasses.dataclass
class Form:
    write: typing.Callable
    is_function: bool


def form(*names, module=False):
    """Registers a form under the names of functions and methods, or of classes of modules."""

    def register(function):
        for name in names:
            FORMS[name] = Form(function, not module)
        return function

    return register


def must(condition):
    if not condition:
        raise NotStandard


def is_tensor(one):
    return hasattr(one, "dtype") and hasattr(one, "shape")


def numbers_of(value, count):
    """A number or a sequence as a list of that length."""
    values = [value] * count if isinstance(value, numbers.Number) else list(value)
    must(len(values) == count)
    return [int(one) for one in values]


# Linear layers ------------------------------------------------------------------------------------------------------

def linear(e, x, weight, bias):
    flops = 2 * math.prod(x.shape) * weight.shape[0]
    if len(x.shape) == 2:
        return e.write("Gemm", [x, weight] + ([bias] if bias else []), {"transB": 1}, flops)
    shape = (weight.shape[1], weight.shape[0])
    must(weight.constant is not None)
    turned = e.recorder.constant(weight.name + "_turned", weight.constant.detach().t().contiguous())
    if bias is None:
        return e.write("MatMul", [x, turned], flops=flops)
    product = e.write("MatMul", [x, turned], flops=flops, shape=(*x.shape[:-1], shape[1]))
    return e.write("Add", [product, bias])


@form("Linear", module=True)
def linear_module(e, x):
    return linear(e, x, e.parameter("weight"), e.parameter("bias"))


@form("linear")
def linear_function(e, input, weight, bias=None):
    return linear(e, input, weight, bias)


def convolution(e, op, x, weight, bias, stride, padding, dilation, groups, extra=None):
    rank = len(weight.shape) - 2
    must(len(x.shape) == rank + 2)
    if isinstance(padding, str):
        must(padding == "valid")
        padding = 0
    pads = numbers_of(padding, rank)
    flops = 2 * math.prod(weight.shape[1:]) * math.prod(e.outputs[0].shape)
    if op == "ConvTranspose":
        flops = 2 * math.prod(weight.shape[1:]) * math.prod(x.shape)
    return e.write(op, [x, weight] + ([bias] if bias else []),
                   {"kernel_shape": list(weight.shape[2:]), "strides": numbers_of(stride, rank), "pads": pads + pads,
                    "dilations": numbers_of(dilation, rank), "group": int(groups), **(extra or {})}, flops)


@form("Conv1d", "Conv2d", "Conv3d", module=True)
def convolution_module(e, x):
    m = e.module
    must(m.padding_mode == "zeros")
    return convolution(e, "Conv", x, e.parameter("weight"), e.parameter("bias"), m.stride, m.padding, m.dilation,
                       m.groups)


@form("conv1d", "conv2d", "conv3d")
def convolution_function(e, input, weight, bias=None, stride=1, padding=0, dilation=1, groups=1):
    return convolution(e, "Conv", input, weight, bias, stride, padding, dilation, groups)


@form("ConvTranspose1d", "ConvTranspose2d", "ConvTranspose3d", module=True)
def transposed_module(e, x):
    m = e.module
    rank = len(m.kernel_size)
    return convolution(e, "ConvTranspose", x, e.parameter("weight"), e.parameter("bias"), m.stride, m.padding,
                       m.dilation, m.groups, {"output_padding": numbers_of(m.output_padding, rank)})


@form("matmul", "bmm", "mm", "__matmul__")
def product(e, a, b):
    must(is_tensor(a) and is_tensor(b))
    return e.write("MatMul", [a, b], flops=2 * math.prod(e.outputs[0].shape) * a.shape[-1])


# Element-wise -------------------------------------------------------------------------------------------------------

UNARY = {"relu": "Relu", "ReLU": "Relu", "sigmoid": "Sigmoid", "Sigmoid": "Sigmoid", "tanh": "Tanh", "Tanh": "Tanh",
         "exp": "Exp", "log": "Log", "sqrt": "Sqrt", "abs": "Abs", "neg": "Neg", "erf": "Erf", "sin": "Sin",
         "cos": "Cos", "Identity": "Identity", "contiguous": "Identity", "clone": "Identity", "Softsign": "Softsign",
         "relu_": "Relu", "Hardswish": "HardSwish", "hardswish": "HardSwish", "Mish": "Mish", "mish": "Mish"}


def unary(op):
    def write(e, input, inplace=False):
        return e.write(op, [input])

    return write


for unary_name, unary_op in UNARY.items():
    form(unary_name, module=unary_name[0].isupper())(unary(unary_op))


def binary(op):
    def write(e, a, b, alpha=1):
        must(alpha == 1 and (is_tensor(a) or is_tensor(b)))
        if is_tensor(a) and is_tensor(b):
            must(a.dtype == b.dtype)
        reference = a if is_tensor(a) else b
        must(reference.dtype == e.outputs[0].dtype)
        return e.write(op, [e.scalar(a, reference), e.scalar(b, reference)])

    return write


for binary_op, binary_names in {"Add": ("add", "iadd"), "Sub": ("sub", "isub"), "Mul": ("mul", "imul"),
                                "Div": ("truediv", "div", "itruediv"), "Pow": ("pow",)}.items():
    form(*binary_names)(binary(binary_op))


@form("SiLU", module=True)
def silu_module(e, x):
    return e.write("Mul", [x, e.write("Sigmoid", [x], shape=x.shape)])


@form("silu")
def silu(e, input, inplace=False):
    return silu_module(e, input)


@form("GELU", module=True)
def gelu_module(e, x):
    return e.write("Gelu", [x], {"approximate": getattr(e.module, "approximate", "none")})


@form("gelu")
def gelu(e, input, approximate="none"):
    return e.write("Gelu", [input], {"approximate": approximate})


@form("LeakyReLU", module=True)
def leaky_module(e, x):
    return e.write("LeakyRelu", [x], {"alpha": float(e.module.negative_slope)})


@form("leaky_relu")
def leaky(e, input, negative_slope=0.01, inplace=False):
    return e.write("LeakyRelu", [input], {"alpha": float(negative_slope)})


@form("ELU", module=True)
def elu_module(e, x):
    return e.write("Elu", [x], {"alpha": float(e.module.alpha)})


@form("Softplus", module=True)
def softplus_module(e, x):
    must(e.module.beta == 1)
    return e.write("Softplus", [x])


@form("Hardtanh", "ReLU6", module=True)
def hardtanh_module(e, x):
    return e.write("Clip", [x, e.scalar(e.module.min_val, x), e.scalar(e.module.max_val, x)])


@form("Dropout", "Dropout1d", "Dropout2d", "Dropout3d", "AlphaDropout", module=True)
def dropout_module(e, x):
    must(not e.module.training)
    return e.write("Identity", [x])


@form("dropout")
def dropout(e, input, p=0.5, training=True, inplace=False):
    must(not training)
    return e.write("Identity", [input])


# Normalisation and softmax ------------------------------------------------------------------------------------------

@form("BatchNorm1d", "BatchNorm2d", "BatchNorm3d", module=True)
def batch_norm(e, x):
    m = e.module
    must(not m.training and m.affine and m.track_running_stats)
    parts = [e.parameter(name) for name in ("weight", "bias", "running_mean", "running_var")]
    return e.write("BatchNormalization", [x, *parts], {"epsilon": float(m.eps)}, 2 * math.prod(x.shape))


def layer_norm(e, x, shape, weight, bias, epsilon):
    must(weight is not None)
    parts = [weight] + ([bias] if bias is not None else [])
    return e.write("LayerNormalization", [x, *parts], {"axis": -len(shape), "epsilon": float(epsilon)},
                   5 * math.prod(x.shape))


@form("LayerNorm", module=True)
def layer_norm_module(e, x):
    return layer_norm(e, x, e.module.normalized_shape, e.parameter("weight"), e.parameter("bias"), e.module.eps)


@form("layer_norm")
def layer_norm_function(e, input, normalized_shape, weight=None, bias=None, eps=1e-5):
    return layer_norm(e, input, normalized_shape, weight, bias, eps)


@form("Softmax", module=True)
def softmax_module(e, x):
    must(e.module.dim is not None)
    return e.write("Softmax", [x], {"axis": int(e.module.dim)}, 5 * math.prod(x.shape))


@form("softmax")
def softmax(e, input, dim=None, _stacklevel=3, dtype=None):
    must(dim is not None and dtype is None)
    return e.write("Softmax", [input], {"axis": int(dim)}, 5 * math.prod(input.shape))


@form("LogSoftmax", module=True)
def log_softmax_module(e, x):
    must(e.module.dim is not None)
    return e.write("LogSoftmax", [x], {"axis": int(e.module.dim)}, 5 * math.prod(x.shape))


# Pooling and reductions ---------------------------------------------------------------------------------------------

def pooled(e, op, x, kernel, stride, padding, attributes):
    rank = len(x.shape) - 2
    must(rank >= 1)
    kernel = numbers_of(kernel, rank)
    pads = numbers_of(padding, rank)
    strides = numbers_of(kernel if stride is None or stride == [] else stride, rank)
    return e.write(op, [x], {"kernel_shape": kernel, "strides": strides, "pads": pads + pads, **attributes},
                   math.prod(kernel) * math.prod(e.outputs[0].shape))


def max_pool(e, x, kernel, stride, padding, dilation, ceil_mode, indices):
    must(not indices and len(e.outputs) == 1)
    return pooled(e, "MaxPool", x, kernel, stride, padding,
                  {"ceil_mode": int(ceil_mode), "dilations": numbers_of(dilation, len(x.shape) - 2)})


@form("MaxPool1d", "MaxPool2d", "MaxPool3d", module=True)
def max_pool_module(e, x):
    m = e.module
    return max_pool(e, x, m.kernel_size, m.stride, m.padding, m.dilation, m.ceil_mode, m.return_indices)


@form("max_pool1d", "max_pool2d", "max_pool3d", "boolean_dispatch")
def max_pool_function(e, input, kernel_size, stride=None, padding=0, dilation=1, ceil_mode=False,
                      return_indices=False):
    must("max_pool" in e.node.name)
    return max_pool(e, input, kernel_size, stride, padding, dilation, ceil_mode, return_indices)


def average_pool(e, x, kernel, stride, padding, ceil_mode, counts_padding, divisor):
    must(divisor is None)
    return pooled(e, "AveragePool", x, kernel, stride, padding,
                  {"ceil_mode": int(ceil_mode), "count_include_pad": int(counts_padding)})


@form("AvgPool1d", "AvgPool2d", "AvgPool3d", module=True)
def average_pool_module(e, x):
    m = e.module
    return average_pool(e, x, m.kernel_size, m.stride, m.padding, m.ceil_mode, m.count_include_pad,
                        getattr(m, "divisor_override", None))


@form("avg_pool1d", "avg_pool2d", "avg_pool3d")
def average_pool_function(e, input, kernel_size, stride=None, padding=0, ceil_mode=False, count_include_pad=True,
                          divisor_override=None):
    return average_pool(e, input, kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override)


def adaptive(e, x, size):
    rank = len(x.shape) - 2
    must(rank >= 1 and numbers_of(size, rank) == [1] * rank)
    return e.write("GlobalAveragePool", [x], None, math.prod(x.shape))


@form("AdaptiveAvgPool1d", "AdaptiveAvgPool2d", "AdaptiveAvgPool3d", module=True)
def adaptive_module(e, x):
    return adaptive(e, x, e.module.output_size)


@form("adaptive_avg_pool1d", "adaptive_avg_pool2d", "adaptive_avg_pool3d")
def adaptive_function(e, input, output_size):
    return adaptive(e, input, output_size)


def reduction(op):
    def write(e, input, dim=None, keepdim=False, dtype=None):
        must(dtype is None)
        axes = range(len(input.shape)) if dim is None else [dim] if isinstance(dim, int) else dim
        axes = e.constant(numpy.asarray([int(axis) for axis in axes], numpy.int64), "axes")
        return e.write(op, [input, axes], {"keepdims": int(keepdim)}, math.prod(input.shape))

    return write


form("mean")(reduction("ReduceMean"))
form("sum")(reduction("ReduceSum"))


# Shapes -------------------------------------------------------------------------------------------------------------

def reshaped(e, x):
    """Any change of shape that keeps the order of the elements, by the shape that came out."""
    return e.write("Reshape", [x, e.constant(numpy.asarray(e.outputs[0].shape, numpy.int64), "shape")], None, 0)


@form("Flatten", module=True)
def flatten_module(e, x):
    return reshaped(e, x)


@form("flatten", "reshape", "view", "unsqueeze", "squeeze", "unflatten")
def reshape(e, input, *_, **__):
    must(len(e.outputs) == 1 and e.outputs[0].dtype == input.dtype)
    return reshaped(e, input)


def transposed(e, x, order):
    return e.write("Transpose", [x], {"perm": [int(axis) % len(x.shape) for axis in order]}, 0)


@form("permute")
def permute(e, input, *dims):
    return transposed(e, input, dims[0] if len(dims) == 1 and not isinstance(dims[0], int) else dims)


@form("transpose", "swapaxes")
def transpose(e, input, dim0, dim1):
    order = list(range(len(input.shape)))
    order[dim0], order[dim1] = order[dim1], order[dim0]
    return transposed(e, input, order)


@form("t")
def turned(e, input):
    return transposed(e, input, reversed(range(len(input.shape))))


@form("cat", "concat")
def concatenated(e, tensors, dim=0):
    return e.write("Concat", tensors, {"axis": int(dim)}, 0)


@form("getitem")
def item(e, x, index):
    index = index if isinstance(index, tuple) else (index,)
    must(all(isinstance(one, (int, slice)) for one in index))
    must(all(one.step in (None, 1) for one in index if isinstance(one, slice)))
    bounds = [(one, one + 1) if isinstance(one, int) else one.indices(extent)[:2]
              for one, extent in zip(index, x.shape)]
    bounds = [(low + extent, low + extent + 1) if low < 0 else (low, high)
              for (low, high), extent in zip(bounds, x.shape)]
    lows, highs, axes = ([b[0] for b in bounds], [b[1] for b in bounds], list(range(len(bounds))))
    parts = [e.constant(numpy.asarray(one, numpy.int64), name)
             for one, name in ((lows, "starts"), (highs, "ends"), (axes, "axes"))]
    shape = (*[high - low for low, high in bounds], *x.shape[len(bounds):])
    return reshaped(e, e.write("Slice", [x, *parts], None, 0, shape))


@form("chunk", "split")
def split(e, input, _, dim=0):
    sizes = numpy.asarray([tensor.shape[dim] for tensor in e.outputs], numpy.int64)
    return e.write_parts("Split", [input, e.constant(sizes, "sizes")], {"axis": int(dim)})


@form("Embedding", module=True)
def embedding(e, indices):
    must(e.module.max_norm is None)
    return e.write("Gather", [e.parameter("weight"), indices], {"axis": 0}, 0)


@form("embedding")
def embedding_function(e, input, weight, padding_idx=None, max_norm=None, norm_type=2.0, scale_grad_by_freq=False,
                       sparse=False):
    must(max_norm is None)
    return e.write("Gather", [weight, input], {"axis": 0}, 0)


@form("masked_fill")
def masked_fill(e, input, mask, value):
    must(not is_tensor(value) and is_tensor(mask))
    return e.write("Where", [mask, e.scalar(value, input), input])
