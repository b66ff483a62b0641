# SPDX-License-Identifier: Apache-2.0
"""Makes the pictures beside it with Pillow 13: 3 × 2 blocks of 8 × 8 pixels, one of them coloured.

solid.* show the same pixels; clear.* have the first block transparent and the last one half so; turned.* say the
orientation 8; first.gif is an animation whose first picture is solid; bits.bmp, group4.tif and print.jpg have one bit a
pixel or colours of print; cube.gif says a picture of 65535 × 65535.
"""

import pathlib
import struct

import numpy as np
from PIL import Image

folder = pathlib.Path(__file__).parent
grey = 40 * np.add.outer(3 * (np.arange(16) // 8), np.arange(24) // 8).astype(np.uint8)
pixels = np.repeat(grey[:, :, None], 3, axis=2)
pixels[:8, 8:16] = (200, 40, 80)
solid = Image.fromarray(pixels)
alpha = np.full((16, 24, 1), 255, np.uint8)
alpha[:8, :8] = 0
alpha[8:, 16:] = 128
clear = Image.fromarray(np.concatenate([pixels, alpha], axis=2))


def save(picture, name, **options):
    picture.save(folder / name, **options)


for name in ("solid.png", "solid.bmp", "solid.gif"):
    save(solid, name)
save(solid, "solid.tif", compression="tiff_lzw")
save(solid, "solid.webp", lossless=True)
save(clear, "solid32.bmp")  # browsers do not show the fourth byte
for name in ("clear.png", "clear.tif", "clear.gif"):
    save(clear, name)
save(clear, "clear.webp", lossless=True, exact=True)
turned = Image.Exif()
turned[0x112] = 8
save(solid, "turned.tif", exif=turned)
save(solid, "turned.webp", exif=turned, lossless=True)
others = [solid.rotate(180), Image.new("RGB", (24, 16), (9, 9, 9))]
save(solid, "first.gif", save_all=True, append_images=others)
save(solid, "animated.webp", save_all=True, append_images=others, lossless=True)
save(solid.convert("1"), "bits.bmp")
save(solid.convert("1"), "group4.tif", compression="group4")
save(solid.convert("CMYK"), "print.jpg", quality=95)
save(Image.fromarray(grey.astype(np.float32)), "fractions.tif")
whole = (folder / "solid.gif").read_bytes()
(folder / "cube.gif").write_bytes(whole[:6] + struct.pack("<HH", 65535, 65535) + whole[10:])
