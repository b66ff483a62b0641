# SPDX-License-Identifier: Apache-2.0
"""Heatmaps, tokens and series for notebooks: numpy and zlib only. Colours are those of the map "relevance"."""
from __future__ import annotations

import base64
import html
import struct
import zlib
from typing import TYPE_CHECKING

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


def picture(plane: numpy.ndarray) -> bytes:
    """The heatmap of a plane as a PNG file."""
    times = max(1, -(-LEAST_SIDE // max(plane.shape)))
    return png(numpy.repeat(numpy.repeat(colours(scaled(plane)), times, axis=0), times, axis=1))


def png_of(run: Run) -> bytes | None:
    """The heatmap of the first input of a run that is a picture."""
    layout = run._native.preparation()[0]
    for name in run._native.input_names():
        plane = plane_of(run[name], layout) if name in run.relevance else None
        if plane is not None:
            return picture(plane)
    return None


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


def drawn(run: Run, name: str, layout: str) -> str:
    """One input of a run."""
    relevance = run[name]
    if plane_of(relevance, layout) is not None:
        shown = min(relevance.shape[0], MOST_SAMPLES)
        drawings = [picture(plane_of(relevance, layout, sample)) for sample in range(shown)]
        rest = f" and {relevance.shape[0] - shown} more" if relevance.shape[0] > shown else ""
        return " ".join(f'<img alt="relevance of {html.escape(name)}" '
                        f'src="data:image/png;base64,{base64.b64encode(data).decode()}"/>' for data in drawings) + rest
    words = run._native.words(name)
    if words and len(words) == relevance.size:
        return tokens(words, relevance)
    if relevance.ndim >= 2 and layout.startswith("NT") and relevance.shape[1] > 1:
        return series(run.inputs[name], relevance, layout)
    shape = " × ".join(str(extent) for extent in relevance.shape)
    return f"<div>{shape}, Σ {relevance.sum(dtype=numpy.float64):.6g}</div>"


def html_of(run: Run) -> str:
    """A run for a notebook."""
    layout = run._native.preparation()[0]
    parts = [f"<div><b>{html.escape(run.model_name)}</b> · {html.escape(run.composite)} · "
             f"{html.escape(run.aim())}</div>"]
    for name in run._native.input_names():
        if name in run.relevance:
            parts.append(f"<div>{html.escape(name)}</div>{drawn(run, name, layout)}")
    if run.is_recorded:
        ledger = run.audit()
        rows = [("started", ledger["start"]), *((cause, -amount) for cause, amount in ledger["causes"].items()),
                ("reached the inputs", ledger["leaves"]), ("rest", ledger["rest"])]
        cells = "".join(f'<tr><td>{html.escape(text)}</td><td style="text-align:right">{amount:.6g}</td></tr>'
                        for text, amount in rows)
        parts.append(f"<table>{cells}</table>")
    return "".join(parts)
