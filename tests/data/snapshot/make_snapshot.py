#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes training-step.pickle: what torch.cuda.memory._dump_snapshot() would tell of a training step of a small network.

The numbers are made up: eight layers whose activations are kept and freed again, weights with their gradients and the
state of Adam. The form is that of PyTorch 2. Run it without arguments; it needs Python alone.
"""
import pickle

MB = 1 << 20
WEIGHTS = [1, 2, 4, 4, 8, 8, 12, 6]
ACTIVATIONS = [24, 24, 12, 12, 6, 6, 3, 1]


def main():
    events, live, address, now = [], {}, 0x7F0000000000, 1_700_000_000_000_000

    def event(action, at, size, line, function):
        nonlocal now
        now += 150
        frame = {"filename": "train.py", "line": line, "name": function}
        events.append({"action": action, "addr": at, "size": size, "stream": 0, "time_us": now, "frames": [frame]})

    def take(name, size, line, function):
        nonlocal address
        event("alloc", address, size, line, function)
        live[name] = (address, size, line, function)
        address += (size + 511) // 512 * 512

    def free(name):
        at, size, line, function = live.pop(name)
        event("free_requested", at, size, line, function)
        event("free_completed", at, size, line, function)

    event("segment_alloc", address, 256 * MB, 12, "main")
    for i, size in enumerate(WEIGHTS):
        take(f"weight {i}", size * MB, 14, "build")
    for i, size in enumerate(ACTIVATIONS):
        take(f"activation {i}", size * MB, 31 + i, "forward")
    for i in reversed(range(len(WEIGHTS))):
        take(f"gradient {i}", WEIGHTS[i] * MB, 52, "backward")
        free(f"activation {i}")
    for i, size in enumerate(WEIGHTS):
        take(f"moments {i}", 2 * size * MB, 60, "step")
        free(f"gradient {i}")
    blocks, at = [], 0x7F0000000000
    for start, size, line, function in sorted(live.values()):
        frame = {"filename": "train.py", "line": line, "name": function}
        if start > at:
            blocks.append({"address": at, "size": start - at, "requested_size": 0, "state": "inactive", "frames": []})
        blocks.append({"address": start, "size": size, "requested_size": size, "state": "active_allocated",
                       "frames": [frame]})
        at = start + size
    segment = {"device": 0, "address": 0x7F0000000000, "total_size": 256 * MB, "allocated_size": sum(
        size for _, size, _, _ in live.values()), "active_size": 0, "stream": 0, "segment_type": "large",
        "blocks": blocks, "frames": []}
    with open("training-step.pickle", "wb") as file:
        pickle.dump({"segments": [segment], "device_traces": [events]}, file, protocol=4)


if __name__ == "__main__":
    main()
