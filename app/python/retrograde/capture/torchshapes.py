# SPDX-License-Identifier: Apache-2.0
"""Traces a module for the sizes of given inputs: every operator also runs on them, so that code which asks for sizes,
types and devices gets answers, and code that asks for numbers is still refused. The layers of nn.Transformer are opened
on the way; torch.fx keeps them whole, since it cannot follow their questions."""
import inspect

import torch
import torch.fx

from . import torchcapture
from . import torchinplace
from . import torchstate
from .graphjson import CaptureError

OPENED = (torch.nn.Transformer, torch.nn.TransformerEncoder, torch.nn.TransformerDecoder,
          torch.nn.TransformerEncoderLayer, torch.nn.TransformerDecoderLayer)
#: What a tensor is, without its numbers.
ATTRIBUTES = {"shape", "dtype", "device", "ndim", "layout", "itemsize", "nbytes", "is_nested", "is_cuda", "is_cpu",
              "is_mps", "is_xpu", "is_sparse", "is_quantized", "is_meta", "is_leaf", "names"}
METHODS = {"size", "dim", "ndimension", "numel", "nelement", "stride", "is_floating_point", "is_complex", "is_signed",
           "is_contiguous", "element_size", "storage_offset", "get_device"}
FUNCTIONS = {torch.is_floating_point, torch.is_complex, torch.numel, torch.is_tensor, torch.is_same_size}


class Shaped(torch.fx.Proxy):
    """A proxy that knows what it stands for in this run."""

    example = None

    @property
    def __class__(self):
        return torch.Tensor if isinstance(self.example, torch.Tensor) else Shaped

    def __getattr__(self, name):
        if name in ATTRIBUTES and isinstance(self.example, torch.Tensor):
            return getattr(self.example, name)
        if name == "requires_grad":
            return self.example.is_floating_point()
        if name in ("_is_param", "_is_buffer"):  # asked by isinstance(x, torch.nn.Parameter)
            return False
        return super().__getattr__(name)

    def __len__(self):
        return super().__len__() if self.example is None else len(self.example)


class Tracer(torchcapture.Tracer):
    """examples: values of the inputs by name; tensors in them are not changed."""

    def __init__(self, leaves, examples):
        super().__init__(leaves)
        self.examples, self.is_running = examples, False

    def is_leaf_module(self, m, module_qualified_name):
        is_opened = isinstance(m, OPENED) and not isinstance(m, self.leaves)
        return not is_opened and super().is_leaf_module(m, module_qualified_name)

    def proxy(self, node):
        return Shaped(node, self)

    def create_arg(self, a):
        return a.node if type(a) is Shaped else super().create_arg(a)

    def getattr(self, attr, attr_val, parameter_proxy_cache):
        return attr_val if self.is_running else super().getattr(attr, attr_val, parameter_proxy_cache)

    _module_getattr = getattr  # its name before PyTorch 2.0

    def call_module(self, m, forward, args, kwargs):
        return forward(*args, **kwargs) if self.is_running else super().call_module(m, forward, args, kwargs)

    def iter(self, obj):
        return super().iter(obj) if obj.example is None else (obj[i] for i in range(len(obj.example)))

    def create_proxy(self, kind, target, args, kwargs, *rest, **others):
        proxy = super().create_proxy(kind, target, args, kwargs, *rest, **others)
        if kind == "placeholder":
            return self.given(proxy, target, args)
        if kind == "output":
            return proxy
        proxy.example = self.result(kind, target, args, kwargs)
        if is_about_size(kind, target, args) and not torchstate.tensors_of(proxy.example):
            self.graph.erase_node(proxy.node)
            return proxy.example
        return proxy

    def given(self, proxy, name, default):
        """An input: a tensor is followed, anything else is as it is in this call."""
        value = self.examples.get(name, default[0] if default else None)
        if not torchstate.tensors_of(value):
            return value
        proxy.example = torchinplace.copied(value)
        return proxy

    def result(self, kind, target, args, kwargs):
        """What an operator gives in this run; None where an operand is not known."""
        operands = []

        def known(one):
            if isinstance(one, torch.fx.Proxy):
                operands.append(getattr(one, "example", None) if type(one) is Shaped else None)
                return operands[-1]
            return one

        args, kwargs = (torch.fx.node.map_aggregate(one, known) for one in (args, kwargs))
        if any(one is None for one in operands):
            return None
        self.is_running = True
        try:
            with torchstate.same_random_state(torch.cuda.is_available()):
                if kind == "get_attr":
                    return torchinplace.copied(attribute(self.root, target))
                if kind == "call_module":
                    return self.root.get_submodule(target)(*args, **kwargs)
                if kind == "call_method":
                    return getattr(args[0], target)(*args[1:], **kwargs)
                return target(*args, **kwargs)
        finally:
            self.is_running = False


def attribute(module, path):
    """What lies at a path of attributes."""
    for name in path.split("."):
        module = getattr(module, name)
    return module


def is_about_size(kind, target, args):
    """Whether an operator says what a tensor is, without its numbers."""
    if kind == "call_method":
        return target in METHODS
    if target is getattr:
        return args[1] in ATTRIBUTES
    return kind == "call_function" and target in FUNCTIONS


def named(module, inputs, keywords):
    """Values of the arguments of `forward`, by name."""
    try:
        bound = inspect.signature(module.forward).bind(*inputs, **keywords)
    except TypeError as error:
        raise CaptureError(f"{type(module).__name__} cannot be called like that: {error}") from error
    return dict(bound.arguments)


def traced(module, inputs, keywords, leaves=()):
    """The module as torch.fx sees it for inputs like these. CaptureError: as torchcapture.traced()."""
    has_cuda = torchstate.uses_cuda(module, inputs)
    with torch.no_grad(), torchstate.untouched(module, has_cuda):
        before = torchstate.RandomState(has_cuda)
        tracer = Tracer(leaves, named(module, inputs, keywords))
        found = torchcapture.traced_by(tracer, module)
        if torchstate.RandomState(has_cuda) != before:
            raise CaptureError(f"{type(module).__name__} cannot be traced: it draws random numbers that depend on no input")
        return found


def followed(module, inputs, keywords, leaves=()):
    """The module as torch.fx sees it; for these inputs where it has layers of nn.Transformer, or where torch.fx alone
    cannot follow it. CaptureError: neither can."""

    def alone():
        return torchcapture.traced(module, leaves)

    def for_inputs():
        return traced(module, inputs, keywords, leaves)

    opens = any(isinstance(one, OPENED) for one in module.modules())
    first, second = (for_inputs, alone) if opens else (alone, for_inputs)
    try:
        return first()
    except CaptureError as error:
        try:
            return second()
        except CaptureError:
            raise error from None
