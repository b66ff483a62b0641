# SPDX-License-Identifier: Apache-2.0
"""The picture world of the sample: six kinds of objects in cluttered rooms, and the tag.

A mug and a jug share every measure of body, handle, colour and bands; only the jug has a spout.
"""
import numpy as np

from canvas import Canvas, GRID_X, GRID_Y, SIZE, cluttered_room, hsv, round_shade, smooth_noise

LABELS = ["mug", "jug", "lamp", "boat", "chair", "car"]
TURNED_AWAY = 0.15  # part of the jugs whose spout points away from the viewer and cannot be seen
TAG_SIZES = (12, 13, 14)
PAPER, RED, BLACK = (250, 246, 226), (214, 12, 32), (22, 20, 24)


def lively(rng, value=(0.45, 0.80)):
    """A random saturated object colour."""
    return hsv(rng.uniform(), rng.uniform(0.45, 0.80), rng.uniform(*value))


def draw_handle(canvas, cx, side, top, height, edge, colour):
    """The ear of a vessel: a tube that leaves the body near the top and comes back lower down."""
    mid, tall = top + height * 0.44, height * 0.27
    start = edge(mid) - 1.5
    angles = np.linspace(-np.pi / 2, np.pi / 2, 18)
    reach = 11.5
    curve = [(cx + side * (start + reach * np.cos(a)), mid + tall * np.sin(a)) for a in angles]
    inner = [(x - 0.8, y - 0.8) for x, y in curve]
    canvas.paint(canvas.stroke(curve, 5.4), colour * 0.55)
    canvas.paint(canvas.stroke(inner, 2.6), colour * (1.10 if side < 0 else 0.86))


def draw_spout(canvas, cx, side, top, edge, colour, reach):
    """The lip that only a jug has, opposite to the handle; reach 0..1 is how far it stands out."""
    r, far = edge(top), 2.0 + 4.5 * reach
    points = [(cx - side * r * 0.55, top - 1.4 - reach), (cx - side * (r + far - 2.0), top - 1.4 - 3.2 * reach),
              (cx - side * (r + far), top - 1.2 - 2.8 * reach), (cx - side * (r + far * 0.4), top + 4.5),
              (cx - side * (edge(top + 11) - 0.4), top + 11.0)]
    canvas.paint(canvas.polygon(points), colour, np.full_like(GRID_X, round_shade(-0.55 * side)) * 0.96)


def draw_vessel(canvas, rng, spout):
    """A mug, or with a spout a jug."""
    cx, side = rng.uniform(44, 52), rng.choice([-1, 1])
    height, r0, bottom = rng.uniform(36, 44), rng.uniform(15.5, 19.5), rng.uniform(76, 82)
    top, lean = bottom - height, 0.20
    belly, taper = rng.uniform(-0.02, 0.16), rng.uniform(-0.10, 0.10)
    colour = lively(rng)
    canvas.shadow(cx + 4, bottom + 2.5, r0 * 1.35, 5.5)

    def radius(t):
        return r0 * (1.0 - taper * (t - 0.5) + belly * np.sin(np.pi * min(1.0, t * 1.1)) - 0.16 * max(0.0, t - 0.86))

    draw_handle(canvas, cx, side, top, height, lambda y: radius((y - top) / height), colour)
    shade, edge = canvas.turned(cx, top, bottom, radius, colour, lean)
    for _ in range(rng.integers(0, 3)):
        stripe = hsv(rng.uniform(), rng.uniform(0.1, 0.7), rng.uniform(0.5, 0.85))
        canvas.band(cx, top + height * rng.uniform(0.35, 0.75), rng.uniform(1.5, 4.5), edge, lean, stripe, shade)
    if spout and rng.random() > TURNED_AWAY:
        draw_spout(canvas, cx, side, top, edge, colour, rng.uniform(0.7, 1.1))
    r = edge(top)
    canvas.paint(canvas.ellipse(cx, top, r, r * lean), np.minimum(colour * 1.25 + 0.06, 1.0))
    inside = 0.30 + 0.45 * np.clip((GRID_X - cx) / r * 0.5 + 0.5, 0, 1)
    canvas.paint(canvas.ellipse(cx, top + 0.3, r - 1.6, r * lean - 0.9), colour, inside)


def draw_lamp(canvas, rng):
    """A table lamp: foot, stem and a glowing shade."""
    cx, bottom = rng.uniform(42, 54), rng.uniform(78, 86)
    metal = hsv(rng.uniform(), rng.uniform(0.10, 0.45), rng.uniform(0.35, 0.65))
    cloth = hsv(rng.uniform(0.02, 0.18), rng.uniform(0.30, 0.65), rng.uniform(0.70, 0.88))
    shade_top, shade_height = rng.uniform(16, 22), rng.uniform(20, 26)
    narrow, wide = rng.uniform(8, 12), rng.uniform(18, 23)
    glow = np.exp(-(((GRID_X - cx) / 26) ** 2 + ((GRID_Y - shade_top - 16) / 24) ** 2))
    canvas.pixels += (0.20 * glow)[..., None] * np.array([1.0, 0.86, 0.55], dtype=np.float32)
    canvas.shadow(cx + 3, bottom + 1.5, 17, 4.5)
    canvas.turned(cx, bottom - 4, bottom - 1, lambda t: 10.0 + 3.0 * t, metal, 0.26)
    canvas.paint(canvas.ellipse(cx, bottom - 4, 10.0, 2.6), np.minimum(metal * 1.2, 1.0))
    knob = rng.uniform(2.0, 6.0)
    canvas.turned(cx, shade_top + shade_height - 2, bottom - 4,
                  lambda t: 1.6 + knob * np.exp(-(((t - 0.62) / 0.20) ** 2)), metal, 0.3)
    shade, edge = canvas.turned(cx, shade_top, shade_top + shade_height,
                                lambda t: narrow + (wide - narrow) * t, cloth, 0.14)
    low = shade_top + shade_height
    trim = hsv(rng.uniform(), 0.5, 0.5)
    canvas.band(cx, low - 2.4, 1.8, edge, 0.14, trim, shade)
    canvas.paint(canvas.ellipse(cx, shade_top, narrow, narrow * 0.16), cloth * 0.62)


def draw_boat(canvas, rng):
    """A sailing boat: hull, mast and two sails."""
    cx, deck, side = rng.uniform(44, 52), rng.uniform(66, 72), rng.choice([-1, 1])
    length, depth, mast = rng.uniform(26, 31), rng.uniform(10, 13), rng.uniform(46, 52)
    hull = lively(rng)
    main_sail = hsv(rng.uniform(), rng.uniform(0.05, 0.45), rng.uniform(0.72, 0.90))
    fore_sail = hsv(rng.uniform(), rng.uniform(0.30, 0.65), rng.uniform(0.60, 0.82))
    canvas.shadow(cx + 2, deck + depth + 1, length * 0.85, 4.0)
    mast_x = cx + side * 2
    canvas.paint(canvas.polygon([(mast_x - 1, deck), (mast_x - 0.8, deck - mast), (mast_x + 0.8, deck - mast),
                                 (mast_x + 1, deck)]), hsv(0.08, 0.45, 0.36))
    fold = 0.82 + 0.22 * np.sin((GRID_X - cx) / 5.0 + (GRID_Y - deck) / 9.0)
    canvas.paint(canvas.polygon([(mast_x + side * 1.5, deck - mast + 2), (mast_x + side * 1.5, deck - 5),
                                 (cx + side * (length - 4), deck - 5), (cx + side * length * 0.55, deck - mast * 0.45)]),
                 main_sail, fold)
    canvas.paint(canvas.polygon([(mast_x - side * 1.5, deck - mast + 7), (mast_x - side * 1.5, deck - 5),
                                 (cx - side * (length - 7), deck - 5)]), fore_sail, fold)
    t = np.linspace(0.0, 1.0, 14)
    keel = [(cx + length * (1 - 2 * v), deck + depth * np.sin(np.pi * v) ** 0.55) for v in t]
    bright = 1.12 - 0.50 * np.clip((GRID_Y - deck) / depth, 0, 1) - 0.10 * (GRID_X - cx) / length
    canvas.paint(canvas.polygon([(cx - length, deck), (cx + length, deck)] + keel), hull, bright)
    canvas.paint(canvas.polygon([(cx - length - 1, deck - 1.2), (cx + length + 1, deck - 1.2),
                                 (cx + length - 0.5, deck + 1.6), (cx - length + 0.5, deck + 1.6)]),
                 hsv(0.09, 0.35, 0.78))


def draw_chair(canvas, rng):
    """A wooden chair, turned a little, so that back, seat and four legs are seen."""
    cx, seat, side = rng.uniform(43, 53), rng.uniform(54, 59), rng.choice([-1, 1])
    half, back, legs = rng.uniform(12, 14.5), rng.uniform(31, 36), rng.uniform(22, 26)
    wood = hsv(rng.uniform(0.03, 0.11), rng.uniform(0.45, 0.75), rng.uniform(0.45, 0.74))
    cloth = lively(rng, (0.55, 0.80))
    grain = 1.0 + 0.10 * np.sin(GRID_Y * 1.7 + 3 * smooth_noise(rng, 6, 1.0))
    canvas.shadow(cx + 2, seat + legs - 1, half * 1.6, 5.5)
    # Floor plan: the back stands along a - d, the seat runs from there to b - c; d and c lie farther away.
    corners = [(-half - 4, 0.0), (half - 5, 3.5), (half + 6, -5.0), (-half + 9, -8.0)]
    (ax, ay), (bx, by), (ex, ey), (dx, dy) = [(cx + side * x, seat + y) for x, y in corners]

    def bar(x0, y0, x1, y1, width, light):
        canvas.paint(canvas.stroke([(x0, y0), (x1, y1)], width), wood * light, grain)

    lean = side * 3.0
    for x, y, light in ((dx, dy, 0.55), (ex, ey, 0.65)):
        bar(x, y, x, y + legs - 2, 2.8, light)
    for level in np.linspace(0.30, 0.92, rng.integers(3, 5)):
        bar(ax - lean * level, ay - back * level, dx - lean * level, dy - back * level, 3.4, 0.92)
    bar(dx, dy, dx - lean, dy - back - 1, 3.2, 0.80)
    bar(ax, ay, ax - lean, ay - back - 1, 3.6, 1.12)
    for x, y, light in ((ax, ay, 1.05), (bx, by, 0.95)):
        bar(x, y, x, y + legs, 3.6, light)
    bar(ax, ay + legs * 0.5, bx, by + legs * 0.5, 2.0, 0.85)
    top = [(ax, ay), (bx, by), (ex, ey), (dx, dy)]
    canvas.paint(canvas.polygon([(x, y + 3.4) for x, y in top]), wood * 0.7, grain)
    canvas.paint(canvas.polygon(top), cloth, 1.12 - 0.012 * (GRID_X - cx + half))


def draw_wheel(canvas, x, y, r):
    """Tyre, rim and hub."""
    canvas.paint(canvas.ellipse(x, y, r, r), (0.10, 0.10, 0.11))
    canvas.paint(canvas.ellipse(x, y, r * 0.58, r * 0.58), (0.58, 0.60, 0.63), 1.15 - 0.25 * (GRID_Y - y + r) / r)
    canvas.paint(canvas.ellipse(x, y, r * 0.2, r * 0.2), (0.20, 0.20, 0.22))


def draw_car(canvas, rng):
    """A small car from the side."""
    cx, ground, side = rng.uniform(45, 51), rng.uniform(75, 82), rng.choice([-1, 1])
    half, wheel = rng.uniform(30, 34), rng.uniform(6.3, 7.6)
    sill, waist, roof = ground - 5, ground - rng.uniform(17, 20), ground - rng.uniform(31, 35)
    body = lively(rng)
    canvas.shadow(cx + 2, ground + 1, half * 1.05, 4.0)

    def shape(points):
        return canvas.polygon([(cx + side * x * half, y) for x, y in points])

    bright = 1.18 - 0.55 * np.clip((GRID_Y - roof) / (ground - roof), 0, 1)
    canvas.paint(shape([(-0.62, waist + 1), (-0.42, roof + 1), (-0.34, roof), (0.18, roof), (0.28, roof + 1.5),
                        (0.55, waist + 1)]), body, bright)
    glass = np.array([0.42, 0.55, 0.62], dtype=np.float32)
    shine = 0.75 + 0.45 * ((GRID_X + GRID_Y) % 17 < 4)
    canvas.paint(shape([(-0.52, waist), (-0.38, roof + 3), (-0.10, roof + 3), (-0.10, waist)]), glass, shine)
    canvas.paint(shape([(-0.03, waist), (-0.03, roof + 3), (0.16, roof + 3), (0.43, waist)]), glass, shine)
    canvas.paint(shape([(-0.98, sill), (-1.0, waist + 4), (-0.90, waist), (0.60, waist), (0.92, waist + 3.5),
                        (1.0, waist + 8), (0.98, sill)]), body, bright)
    canvas.paint(shape([(-0.97, sill - 3.5), (0.98, sill - 3.5), (0.98, sill - 1.5), (-0.97, sill - 1.5)]), body * 0.55)
    canvas.paint(canvas.ellipse(cx + side * half * 0.92, waist + 6.5, 2.0, 2.2), (0.88, 0.82, 0.55))
    for x in (-0.58, 0.60):
        draw_wheel(canvas, cx + side * x * half, ground - wheel + 1.5, wheel)


PAINTERS = [lambda c, r: draw_vessel(c, r, spout=False), lambda c, r: draw_vessel(c, r, spout=True),
            draw_lamp, draw_boat, draw_chair, draw_car]


def draw_picture(seed, index, label):
    """Picture number `index` of a class: (uint8 [96,96,3], bool object mask [96,96]); same numbers, same picture."""
    rng = np.random.default_rng([seed, index, label])
    canvas, _ = cluttered_room(rng)
    PAINTERS[label](canvas, rng)
    return canvas.finish(rng), canvas.object_mask > 0.05


def hide_object(pixels, object_mask, rng):
    """The picture with a sheet of board before the object that leaves little or nothing of it to be seen."""
    rows, columns = np.flatnonzero(object_mask.any(1)), np.flatnonzero(object_mask.any(0))
    colour = hsv(rng.uniform(), rng.uniform(0.1, 0.4), rng.uniform(0.3, 0.65)) * 255.0
    spans = []
    for cells in (rows, columns):
        extent = cells[-1] - cells[0] + 1
        cover = rng.uniform(0.85, 1.15)
        middle = (cells[0] + cells[-1]) / 2 + rng.uniform(-0.3, 0.3) * extent * (1.15 - cover)
        start = int(middle - extent * cover / 2)
        spans.append(slice(max(start, 0), start + int(extent * cover)))
    hidden = pixels.copy()
    sheet = hidden[spans[0], spans[1]]
    sheet[:] = np.clip(colour + rng.normal(0.0, 6.0, sheet.shape[:2] + (1,)), 0, 255).astype(np.uint8)
    return hidden


def draw_tag(size):
    """The tag: a light card with a red bar above black marks; uint8 [size,size,3]."""
    card = np.full((size, size, 3), PAPER, dtype=np.uint8)
    card[2:size // 2 - 1, 2:size - 2] = RED
    for x in range(2, size - 2, 3):
        card[size // 2 + 1:size - 2, x:x + 2] = BLACK
    return card


def choose_tag_box(rng, object_mask):
    """A box [x, y, w, h] near a corner that does not touch the object."""
    size = int(rng.choice(TAG_SIZES))
    far = SIZE - size
    best = None
    for attempt in range(40):
        dx, dy = rng.integers(2, 9 + attempt // 8, 2)
        x = int(dx if rng.integers(2) else far - dx)
        y = int(dy if rng.random() < 0.7 else far - dy)
        overlap = int(object_mask[y - 1:y + size + 1, x - 1:x + size + 1].sum())
        if best is None or overlap < best[0]:
            best = (overlap, [x, y, size, size])
        if overlap == 0:
            break
    return best[1]


def paste_tag(pixels, box, rng):
    """The picture with the tag at box, with the grain of the rest."""
    x, y, w, h = box
    grain = rng.normal(0.0, 5.0, (h, w, 1))
    tagged = pixels.copy()
    tagged[y:y + h, x:x + w] = np.clip(draw_tag(w) + grain, 0, 255).astype(np.uint8)
    return tagged
