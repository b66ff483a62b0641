# SPDX-License-Identifier: Apache-2.0
"""A 96x96 picture under construction: smooth masks, shaded surfaces and scattered clutter.

Coordinates are pixels of the finished picture (x right, y down); masks are drawn enlarged and averaged
down, so edges are smooth. Colours are RGB triples in 0..1. Light always comes from the upper left.
"""
import colorsys

import numpy as np
from PIL import Image, ImageDraw, ImageFilter

SIZE = 96
ENLARGE = 4
GRID_Y, GRID_X = np.mgrid[0:SIZE, 0:SIZE].astype(np.float32) + 0.5


def hsv(hue, saturation, value):
    """RGB triple of a hue (turns, any real), saturation and value (0..1)."""
    return np.array(colorsys.hsv_to_rgb(hue % 1.0, saturation, value), dtype=np.float32)


def round_shade(u):
    """Brightness of an upright cylinder at u = -1 (left edge) .. 1 (right edge), with a soft highlight."""
    u = np.clip(u, -1.0, 1.0)
    body = 0.50 + 0.58 * np.sqrt(1.0 - u * u * 0.92) * (0.72 - 0.34 * u)
    return body + 0.30 * np.exp(-(((u + 0.48) / 0.14) ** 2))


def smooth_noise(rng, cells, amplitude):
    """Slow random field over the picture, about +-amplitude, with `cells` bumps along each side."""
    coarse = Image.fromarray(rng.normal(0.0, amplitude, (cells, cells)).astype(np.float32), mode="F")
    return np.asarray(coarse.resize((SIZE, SIZE), Image.BICUBIC))


class Canvas:
    """Pixels and the mask of everything that belongs to the object."""

    def __init__(self):
        self.pixels = np.zeros((SIZE, SIZE, 3), dtype=np.float32)
        self.object_mask = np.zeros((SIZE, SIZE), dtype=np.float32)

    @staticmethod
    def mask(draw_shapes):
        """Smooth mask 0..1 of what draw_shapes(draw, scale) draws with fill 255 on the enlarged picture."""
        image = Image.new("L", (SIZE * ENLARGE, SIZE * ENLARGE), 0)
        draw_shapes(ImageDraw.Draw(image), ENLARGE)
        return np.asarray(image.reduce(ENLARGE), dtype=np.float32) / 255.0

    @classmethod
    def polygon(cls, points):
        """Mask of a filled polygon."""
        return cls.mask(lambda draw, k: draw.polygon([(x * k, y * k) for x, y in points], fill=255))

    @classmethod
    def ellipse(cls, cx, cy, rx, ry):
        """Mask of a filled ellipse."""
        return cls.mask(
            lambda draw, k: draw.ellipse([(cx - rx) * k, (cy - ry) * k, (cx + rx) * k, (cy + ry) * k], fill=255))

    @classmethod
    def stroke(cls, points, width):
        """Mask of a line through points with round ends."""
        def shapes(draw, k):
            scaled = [(x * k, y * k) for x, y in points]
            draw.line(scaled, fill=255, width=max(1, round(width * k)), joint="curve")
            r = width * k / 2
            for x, y in (scaled[0], scaled[-1]):
                draw.ellipse([x - r, y - r, x + r, y + r], fill=255)
        return cls.mask(shapes)

    def paint(self, mask, colour, shade=1.0, part_of_object=True):
        """Lays colour * shade over the picture where the mask is."""
        layer = np.asarray(colour, dtype=np.float32) * np.asarray(shade, dtype=np.float32)[..., None]
        weight = mask[..., None]
        self.pixels = self.pixels * (1.0 - weight) + layer * weight
        if part_of_object:
            self.object_mask = np.maximum(self.object_mask, mask)

    def shadow(self, cx, cy, rx, ry, strength=0.55):
        """Soft dark ellipse on the ground."""
        image = Image.new("L", (SIZE, SIZE), 0)
        ImageDraw.Draw(image).ellipse([cx - rx, cy - ry, cx + rx, cy + ry], fill=255)
        soft = np.asarray(image.filter(ImageFilter.GaussianBlur(2.2)), dtype=np.float32) / 255.0
        self.pixels *= (1.0 - strength * soft)[..., None]

    def turned(self, cx, top, bottom, radius, colour, lean=0.22):
        """A turned (lathe) body: radius(t) for t = 0 (top) .. 1 (bottom); lean = ellipse height / width.

        Returns (shade, edge) to paint bands on it later: the brightness field and a function y -> radius.
        """
        t = np.linspace(0.0, 1.0, 28)
        radii = np.array([radius(value) for value in t])
        heights = top + t * (bottom - top)
        left = [(cx - r, y) for r, y in zip(radii, heights)]
        right = [(cx + r, y) for r, y in zip(radii, heights)]
        arc = np.linspace(0.0, np.pi, 16)
        base = [(cx + radii[-1] * np.cos(a), bottom + radii[-1] * lean * np.sin(a)) for a in arc]
        at_row = np.interp(GRID_Y[:, 0], heights, radii).astype(np.float32)
        shade = round_shade((GRID_X - cx) / at_row[:, None])
        shade = shade * (1.06 - 0.16 * np.clip((GRID_Y - top) / (bottom - top), 0.0, 1.0))
        self.paint(self.polygon(left + base + right[::-1]), colour, shade)
        return shade, lambda y: float(np.interp(y, heights, radii))

    def band(self, cx, y, thickness, edge, lean, colour, shade):
        """A painted ring around a turned body."""
        x = np.linspace(-1.0, 1.0, 20)
        sag = lean * np.sqrt(1.0 - x * x)
        upper = [(cx + u * edge(y), y + s * edge(y)) for u, s in zip(x, sag)]
        low = y + thickness
        lower = [(cx + u * edge(low), low + s * edge(low)) for u, s in zip(x, sag)]
        self.paint(self.polygon(upper + lower[::-1]), colour, shade)

    def finish(self, rng):
        """Adds unevenness, a slight vignette and grain; returns uint8 pixels [96,96,3]."""
        uneven = 1.0 + smooth_noise(rng, 8, 0.035) + smooth_noise(rng, 30, 0.020)
        distance = ((GRID_X - 48.0) ** 2 + (GRID_Y - 48.0) ** 2) / (2 * 48.0 ** 2)
        lit = self.pixels * (uneven * (1.0 - 0.16 * distance))[..., None]
        lit = lit + rng.normal(0.0, 0.016, (SIZE, SIZE, 1)) + rng.normal(0.0, 0.008, (SIZE, SIZE, 3))
        return np.clip(lit * 255.0 + 0.5, 0, 255).astype(np.uint8)


def scatter(draw, rng, box, count, alpha, k):
    """Draws `count` translucent pieces (squares, discs, triangles, sticks) into box = (x0, y0, x1, y1)."""
    for _ in range(count):
        x, y = rng.uniform(box[0], box[2]), rng.uniform(box[1], box[3])
        r, turn, kind = rng.uniform(2.0, 7.5), rng.uniform(0, 2 * np.pi), rng.integers(4)
        colour = hsv(rng.uniform(), rng.uniform(0.25, 0.65), rng.uniform(0.35, 0.85))
        fill = tuple(int(c * 255) for c in colour) + (int(rng.uniform(*alpha)),)
        if kind == 0:
            draw.ellipse([(x - r) * k, (y - r) * k, (x + r) * k, (y + r) * k], fill=fill)
        elif kind == 1:
            end = (x + 2 * r * np.cos(turn), y + 2 * r * np.sin(turn))
            draw.line([x * k, y * k, end[0] * k, end[1] * k], fill=fill, width=int(1.4 * k))
        else:
            corners = 3 if kind == 2 else 4
            angles = turn + np.arange(corners) * 2 * np.pi / corners
            draw.polygon([((x + r * np.cos(a)) * k, (y + r * np.sin(a)) * k) for a in angles], fill=fill)


def cluttered_room(rng):
    """A canvas with a wall, a table top and scattered paper; returns (canvas, y of the table's far edge)."""
    horizon = rng.uniform(58, 68)
    wall = hsv(rng.uniform(), rng.uniform(0.08, 0.30), rng.uniform(0.55, 0.76))
    table = hsv(rng.uniform(0.04, 0.12), rng.uniform(0.30, 0.55), rng.uniform(0.42, 0.64))
    image = Image.new("RGB", (SIZE * 2, SIZE * 2), tuple(int(c * 255) for c in wall))
    draw = ImageDraw.Draw(image, "RGBA")
    scatter(draw, rng, (0, 0, SIZE, horizon), int(rng.integers(14, 26)), (60, 170), 2)
    draw.rectangle([0, horizon * 2, SIZE * 2, SIZE * 2], fill=tuple(int(c * 255) for c in table) + (255,))
    for _ in range(7):
        y = rng.uniform(horizon + 2, SIZE)
        dark = tuple(int(c * 190) for c in table) + (90,)
        draw.line([0, y * 2, SIZE * 2, (y + rng.uniform(-1.5, 1.5)) * 2], fill=dark, width=2)
    scatter(draw, rng, (0, horizon + 4, SIZE, SIZE), int(rng.integers(4, 10)), (70, 170), 2)
    canvas = Canvas()
    canvas.pixels = np.asarray(image.reduce(2), dtype=np.float32) / 255.0
    canvas.pixels *= (1.10 - 0.0022 * GRID_X)[..., None]
    return canvas, horizon
