#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes stored.npz and deflated.npz here, as numpy.savez and numpy.savez_compressed do, without needing NumPy.

Both hold block/x (float32, 2 by 3: 0 to 5) and y:0 (float64, 2: -1.5 and 2)."""
import pathlib
import struct
import zipfile

ARRAYS = {"block/x": ("<f4", (2, 3), struct.pack("<6f", *range(6))), "y:0": ("<f8", (2,), struct.pack("<2d", -1.5, 2))}


def npy(code, shape, data):
    text = "{'descr': '%s', 'fortran_order': False, 'shape': %s, }" % (code, shape)
    text += " " * (-(10 + len(text) + 1) % 64) + "\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(text)) + text.encode() + data


for file, method in (("stored.npz", zipfile.ZIP_STORED), ("deflated.npz", zipfile.ZIP_DEFLATED)):
    with zipfile.ZipFile(pathlib.Path(__file__).parent / file, "w", method) as archive:
        for name, array in ARRAYS.items():
            info = zipfile.ZipInfo(name + ".npy", (2020, 1, 1, 0, 0, 0))
            info.compress_type = method
            with archive.open(info, "w", force_zip64=True) as member:
                member.write(npy(*array))
