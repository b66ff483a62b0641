# SPDX-License-Identifier: Apache-2.0
"""Heatmaps, tokens and series for notebooks: numpy and zlib only. Colours are those of the map "relevance"."""
from __future__ import annotations

import base64
import html
import struct
import zlib
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy

if TYPE_CHECKING:
    from .run import Run

LEAST_SIDE = 224  # pixels; smaller heatmaps are enlarged
MOST_TOKENS = 2000
MOST_SERIES = 4
MOST_SAMPLES = 8  # of a batch of pictures


def colours(values: numpy.ndarray) -> numpy.ndarray:
    """sRGB (uint8, shape + 3) of numbers from −1 to 1: light at 0, red above, blue below, even steps of lightness."""
    values = numpy.clip(numpy.nan_to_num(values.astype(numpy.float64)), -1, 1)
    magnitude = numpy.abs(values)
    hue = numpy.deg2rad(numpy.where(values < 0, 252.0, 27.0))
    chroma = numpy.where(values < 0, 0.17, 0.19) * magnitude ** 0.85
    light = 0.965 - 0.515 * magnitude
    a, b = chroma * numpy.cos(hue), chroma * numpy.sin(hue)
    # Oklab to linear sRGB (B. Ottosson, 2020).
    roots = [light + 0.3963377774 * a + 0.2158037573 * b, light - 0.1055613458 * a - 0.0638541728 * b,
             light - 0.0894841775 * a - 1.2914855480 * b]
    long, middle, short = (root ** 3 for root in roots)
    linear = numpy.stack([4.0767416621 * long - 3.3077115913 * middle + 0.2309699292 * short,
                          -1.2684380046 * long + 2.6097574011 * middle - 0.3413193965 * short,
                          -0.0041960863 * long - 0.7034186147 * middle + 1.7076147010 * short], axis=-1)
    linear = numpy.clip(linear, 0, 1)
    curved = numpy.where(linear <= 0.0031308, 12.92 * linear, 1.055 * linear ** (1 / 2.4) - 0.055)
    return numpy.round(curved * 255).astype(numpy.uint8)


def png(rgb: numpy.ndarray) -> bytes:
    """A PNG file of height × width × 3 uint8."""
    height, width = rgb.shape[:2]
    rows = numpy.concatenate([numpy.zeros((height, 1), numpy.uint8), rgb.reshape(height, width * 3)], axis=1)

    def part(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
    head = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    parts = part(b"IHDR", head) + part(b"IDAT", zlib.compress(rows.tobytes())) + part(b"IEND", b"")
    return b"\x89PNG\r\n\x1a\n" + parts


def scaled(values: numpy.ndarray) -> numpy.ndarray:
    """Divided by the largest finite magnitude."""
    finite = numpy.abs(values[numpy.isfinite(values)])
    return values / finite.max() if finite.size and finite.max() > 0 else numpy.zeros_like(values, dtype=numpy.float64)


def plane_of(relevance: numpy.ndarray, layout: str, sample: int = 0) -> numpy.ndarray | None:
    """Relevance of a sample per pixel, channels added up; None where it is no picture."""
    if relevance.ndim != 4 or layout not in ("NCHW", "NHWC") or relevance.shape[0] == 0:
        return None
    return relevance[sample].sum(axis=0 if layout == "NCHW" else 2, dtype=numpy.float64)


def enlarged(pixels: numpy.ndarray, size: int) -> numpy.ndarray:
    """Each pixel as often as it takes to have at least that many along the longer side."""
    times = max(1, -(-size // max(pixels.shape[:2])))
    return numpy.repeat(numpy.repeat(pixels, times, axis=0), times, axis=1)


def picture(plane: numpy.ndarray) -> bytes:
    """The heatmap of a plane as a PNG file."""
    return png(enlarged(colours(scaled(plane)), LEAST_SIDE))


def photo_of(x: numpy.ndarray, preparation: Sequence[Any]) -> numpy.ndarray | None:
    """What one sample of an input shows, height × width × 3 uint8: its preparation undone; numbers that then are none of
    a picture are stretched from the least to the largest. None where it has not 1 or 3 channels."""
    layout, mean, deviation, low, high = preparation
    shown = (x if layout == "NHWC" else numpy.moveaxis(x, 0, -1)).astype(numpy.float64)
    if shown.shape[-1] not in (1, 3):
        return None
    amounts = (shown * (deviation or 1) + (mean or 0) - low) / ((high - low) or 1)
    if amounts.min() < -0.05 or amounts.max() > 1.05:
        amounts = (shown - shown.min()) / ((shown.max() - shown.min()) or 1)
    pixels = numpy.round(numpy.clip(numpy.nan_to_num(amounts), 0, 1) * 255).astype(numpy.uint8)
    return numpy.broadcast_to(pixels, (*pixels.shape[:2], 3))


def over(photo: numpy.ndarray, plane: numpy.ndarray) -> numpy.ndarray:
    """The heatmap over a picture in grey: the stronger, the less is seen of the picture."""
    amounts = scaled(plane)
    grey = 255 - (255 - photo.mean(axis=2, keepdims=True)) * 0.55
    share = numpy.clip(numpy.abs(amounts) * 1.6, 0, 1)[..., None]
    return numpy.round(grey * (1 - share) + colours(amounts) * share).astype(numpy.uint8)


def panel(run: Run, name: str, sample: int, overlay: bool) -> list[numpy.ndarray]:
    """A sample as pictures: what was explained, where that can be shown, and its heatmap. Empty: it is no picture."""
    preparation = run._native.preparation()
    plane = plane_of(run[name], preparation[0], sample) if name in run.relevance else None
    if plane is None:
        return []
    photo = photo_of(run.inputs[name][sample], preparation)
    if photo is None or photo.shape[:2] != plane.shape:
        return [colours(scaled(plane))]
    return [photo, over(photo, plane) if overlay else colours(scaled(plane))]


def png_of(run: Run) -> bytes | None:
    """The first input of a run that is a picture, beside its heatmap and the colour bar."""
    for name in run._native.input_names():
        pictures = panel(run, name, 0, True)
        if pictures:
            shown = [enlarged(one, LEAST_SIDE) for one in pictures]
            height = shown[0].shape[0]
            gap = numpy.full((height, 8, 3), 255, numpy.uint8)
            bar = numpy.broadcast_to(colours(numpy.linspace(1, -1, height))[:, None], (height, 12, 3))
            return png(numpy.concatenate([part for one in (*shown, bar) for part in (one, gap)][:-1], axis=1))
    return None


def colour_bar(largest: float, height: int) -> str:
    """From the largest magnitude down to its negative."""
    stops = ",".join("rgb({},{},{})".format(*one) for one in colours(numpy.linspace(1, -1, 9)))
    marks = "".join(f"<span>{mark:+.2g}</span>" for mark in (largest, 0.0, -largest))
    return (f'<div style="display:inline-flex;height:{height}px;vertical-align:top;font-size:11px;margin:0 1em 0 .3em">'
            f'<div style="width:12px;background:linear-gradient({stops})"></div><div style="display:flex;'
            f'flex-direction:column;justify-content:space-between;margin-left:3px">{marks}</div></div>')


def tokens(words: list[str], relevance: numpy.ndarray) -> str:
    """Words on the colours of their relevance."""
    amounts = scaled(relevance.reshape(-1)[:MOST_TOKENS])
    spans = []
    for word, amount, (red, green, blue) in zip(words, amounts, colours(amounts)):
        ink = "#fff" if abs(amount) > 0.6 else "#111"
        spans.append(f'<span style="background:rgb({red},{green},{blue});color:{ink};padding:1px 3px">'
                     f"{html.escape(word)}</span>")
    return f'<div style="line-height:1.9">{" ".join(spans)}</div>'


def series(values: numpy.ndarray, relevance: numpy.ndarray, layout: str) -> str:
    """Curves of the first channels over time, above the colours of relevance at each step."""
    values, relevance = (one[0].reshape(one.shape[1], -1).astype(numpy.float64) for one in (values, relevance))
    width, height, steps = 560, 70, len(values)
    strip = colours(scaled(relevance.sum(axis=1)))
    bars = "".join(f'<rect x="{i * width / steps:.2f}" y="0" width="{width / steps + 0.5:.2f}" height="{height}" '
                   f'fill="rgb({r},{g},{b})"/>' for i, (r, g, b) in enumerate(strip))
    lines = ""
    for channel in range(min(values.shape[1], MOST_SERIES)):
        curve = scaled(values[:, channel])
        points = " ".join(f"{(i + 0.5) * width / steps:.2f},{height / 2 - y * (height / 2 - 4):.2f}"
                          for i, y in enumerate(curve))
        lines += f'<polyline points="{points}" fill="none" stroke="#111" stroke-width="1.2"/>'
    return f'<svg width="{width}" height="{height}" xmlns="http://www.w3.org/2000/svg">{bars}{lines}</svg>'


def image(pixels: numpy.ndarray, size: int, what: str) -> str:
    """A picture whose longer side has that size on the page."""
    side = "width" if pixels.shape[1] >= pixels.shape[0] else "height"
    data = base64.b64encode(png(pixels)).decode()
    return (f'<img alt="{html.escape(what)}" style="{side}:{size}px;image-rendering:pixelated" '
            f'src="data:image/png;base64,{data}"/>')


def drawn(run: Run, name: str, size: int, overlay: bool) -> str:
    """One input of a run."""
    relevance, layout = run[name], run._native.preparation()[0]
    if plane_of(relevance, layout) is not None:
        shown = min(relevance.shape[0], MOST_SAMPLES)
        samples = []
        for sample in range(shown):
            *photo, heatmap = panel(run, name, sample, overlay)
            plane = plane_of(relevance, layout, sample)
            largest = 0.0 if plane is None else numpy.abs(numpy.nan_to_num(plane)).max()
            height = round(size * min(1, heatmap.shape[0] / heatmap.shape[1]))
            samples += [image(one, size, name) for one in photo]
            samples += [image(heatmap, size, f"relevance of {name}"), colour_bar(float(largest), height)]
        rest = f" and {relevance.shape[0] - shown} more" if relevance.shape[0] > shown else ""
        return " ".join(samples) + rest
    words = run._native.words(name)
    if words and len(words) == relevance.size:
        return tokens(words, relevance)
    if relevance.ndim >= 2 and layout.startswith("NT") and relevance.shape[1] > 1:
        return series(run.inputs[name], relevance, layout)
    shape = " × ".join(str(extent) for extent in relevance.shape)
    return f"<div>{shape}, Σ {relevance.sum(dtype=numpy.float64):.6g}</div>"


class View:
    """A run as a notebook draws it; `Run.view` makes it."""

    def __init__(self, run: Run, size: int, overlay: bool) -> None:
        self.run, self.size, self.overlay = run, size, overlay

    def __repr__(self) -> str:
        return f"<retrograde view of {self.run!r}, {self.size} pixels>"

    def _repr_html_(self) -> str:
        return html_of(self.run, self.size, self.overlay)


def html_of(run: Run, size: int = LEAST_SIDE, overlay: bool = True) -> str:
    """A run for a notebook."""
    parts = [f"<div><b>{html.escape(run.model_name)}</b> · {html.escape(run.composite)} · "
             f"{html.escape(run.aim())}</div>"]
    for name in run._native.input_names():
        if name in run.relevance:
            parts.append(f"<div>{html.escape(name)}</div>{drawn(run, name, size, overlay)}")
    if run.is_recorded:
        ledger = run.audit()
        rows = [("started", ledger["start"]), *((cause, -amount) for cause, amount in ledger["causes"].items()),
                ("reached the inputs", ledger["leaves"]), ("rest", ledger["rest"])]
        cells = "".join(f'<tr><td>{html.escape(text)}</td><td style="text-align:right">{amount:.6g}</td></tr>'
                        for text, amount in rows)
        parts.append(f"<table>{cells}</table>")
    return "".join(parts)
