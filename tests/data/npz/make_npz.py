#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes stored.npz, deflated.npz and zennit.npz here, as numpy.savez and numpy.savez_compressed do, without NumPy.

The first two hold block/x (float32, 2 by 3: 0 to 5) and y:0 (float64, 2: -1.5 and 2). The third is what an export of
another tool looks like: zennit's EpsilonPlus relevance of the input of golden/lrp/dwconv without its batch axis, an
array whose name no value has, and a text, labels and a file that are no relevance."""
import pathlib
import struct
import zipfile

ARRAYS = {"block/x": ("<f4", (2, 3), struct.pack("<6f", *range(6))), "y:0": ("<f8", (2,), struct.pack("<2d", -1.5, 2))}


def npy(code, shape, data):
    text = "{'descr': '%s', 'fortran_order': False, 'shape': %s, }" % (code, shape)
    text += " " * (-(10 + len(text) + 1) % 64) + "\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(text)) + text.encode() + data


golden = pathlib.Path(__file__).parent.parent / "golden/lrp/dwconv/epsilon_plus/R00.npy"
EXPORT = {"input": ("<f4", (4, 11, 11), golden.read_bytes()[-4 * 4 * 11 * 11:]),
          "features.0": ("<f4", (2,), struct.pack("<2f", 1, 2)),
          "notes": ("<U4", (1,), "mine".encode("utf-32-le")),
          "labels": ("<i8", (1,), struct.pack("<q", 3))}

with zipfile.ZipFile(pathlib.Path(__file__).parent / "zennit.npz", "w", zipfile.ZIP_STORED) as archive:
    for name, array in EXPORT.items():
        archive.writestr(zipfile.ZipInfo(name + ".npy", (2020, 1, 1, 0, 0, 0)), npy(*array))
    archive.writestr(zipfile.ZipInfo("readme.txt", (2020, 1, 1, 0, 0, 0)), "what this is")

for file, method in (("stored.npz", zipfile.ZIP_STORED), ("deflated.npz", zipfile.ZIP_DEFLATED)):
    with zipfile.ZipFile(pathlib.Path(__file__).parent / file, "w", method) as archive:
        for name, array in ARRAYS.items():
            info = zipfile.ZipInfo(name + ".npy", (2020, 1, 1, 0, 0, 0))
            info.compress_type = method
            with archive.open(info, "w", force_zip64=True) as member:
                member.write(npy(*array))
