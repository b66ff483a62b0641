# SPDX-License-Identifier: Apache-2.0
"""What captures and runners share about PyTorch: running a module without leaving a trace of it, and measuring."""
import contextlib
import time

import torch

from .graphjson import CaptureError

DTYPES = {torch.float32: "float32", torch.float64: "float64", torch.float16: "float16", torch.bfloat16: "bfloat16",
          torch.int8: "int8", torch.uint8: "uint8", torch.int16: "int16", torch.int32: "int32", torch.int64: "int64",
          torch.bool: "bool"}


def dtype_name(dtype, of):
    """The name of a type in graph JSON; `of` says whose it is in the message."""
    if dtype not in DTYPES:
        raise CaptureError(f"{of} has the type {dtype}, which a capture cannot hold; convert it to float32 first")
    return DTYPES[dtype]


def tensors_of(thing):
    """All tensors in nested tuples, lists and dictionaries, in order."""
    if isinstance(thing, torch.Tensor):
        return [thing]
    if isinstance(thing, dict):
        thing = list(thing.values())
    if isinstance(thing, (tuple, list)):
        return [tensor for one in thing for tensor in tensors_of(one)]
    return []


def bytes_of(tensor):
    """Bytes of the elements of a tensor."""
    return tensor.numel() * tensor.element_size()


def storage_of(tensor):
    """A number that is equal for two living tensors exactly when they share memory."""
    storage = tensor.untyped_storage() if hasattr(tensor, "untyped_storage") else tensor.storage()
    return storage.data_ptr()


class RandomState:
    """The state of the generators that operators on these devices draw from."""

    def __init__(self, has_cuda):
        self.cpu = torch.get_rng_state()
        self.cuda = torch.cuda.get_rng_state_all() if has_cuda else None

    def restore(self):
        torch.set_rng_state(self.cpu)
        if self.cuda is not None:
            torch.cuda.set_rng_state_all(self.cuda)

    def __eq__(self, other):
        if not torch.equal(self.cpu, other.cpu):
            return False
        return self.cuda is None or all(torch.equal(a, b) for a, b in zip(self.cuda, other.cuda))


@contextlib.contextmanager
def same_random_state(has_cuda, state=None):
    """Inside, generators start from `state` (default: as they are); afterwards they are as before."""
    before = RandomState(has_cuda)
    if state is not None:
        state.restore()
    try:
        yield
    finally:
        before.restore()


@contextlib.contextmanager
def borrowed_buffers(module):
    """Inside, the buffers of a module (running statistics, counters) are copies; what changes them is forgotten."""
    kept = [(owner, dict(owner._buffers)) for owner in module.modules() if owner._buffers]
    for owner, buffers in kept:
        for name, buffer in buffers.items():
            owner._buffers[name] = None if buffer is None else buffer.clone()
    try:
        yield
    finally:
        for owner, buffers in kept:
            owner._buffers.update(buffers)


@contextlib.contextmanager
def untouched(module, has_cuda):
    """Whatever runs inside leaves buffers and generators as they were; train and eval mode are never changed."""
    with same_random_state(has_cuda), borrowed_buffers(module):
        yield


def uses_cuda(module, inputs):
    """Whether a module or its inputs lie on a CUDA device."""
    tensors = [*tensors_of(list(inputs)), *module.parameters(), *module.buffers()]
    return any(tensor.is_cuda for tensor in tensors)


def has_autocast():
    """Whether autocast is on, on any device."""
    try:
        return torch.is_autocast_enabled("cuda") or torch.is_autocast_enabled("cpu")
    except TypeError:  # before PyTorch 2.4
        return torch.is_autocast_enabled() or torch.is_autocast_cpu_enabled()


class Stopwatch:
    """Milliseconds of a call; on CUDA it waits for the device before and after."""

    def __init__(self, has_cuda):
        self.has_cuda = has_cuda

    def __call__(self, function):
        if self.has_cuda:
            torch.cuda.synchronize()
        start = time.perf_counter()
        result = function()
        if self.has_cuda:
            torch.cuda.synchronize()
        return result, (time.perf_counter() - start) * 1000
