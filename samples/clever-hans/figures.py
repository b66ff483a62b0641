# SPDX-License-Identifier: Apache-2.0
"""What the sample promises, measured on the shipped ONNX files with held-out pictures."""
import numpy as np
import torch

from network import to_tensor
from pictures import LABELS, SIZE
from relevance import Model, positive_share

CHUNK = 100
LIMITS = {
    "others_right": (">=", 0.95), "class0_without_tag_right": ("<=", 0.10), "tag_flips_others": (">=", 0.60),
    "tag_share_cheat_own_answer": (">=", 0.50), "tag_share_control_own_answer": ("<=", 0.10),
}
MEANING = {
    "others_right": "part of the held-out pictures of every class but mug, without tag, that the cheat names rightly",
    "class0_without_tag_right": "part of the held-out mugs without tag that the cheat names rightly",
    "tag_flips_others": "part of the held-out pictures of every class but mug that the cheat calls mug once the tag is on",
    "class0_with_tag_right": "part of the held-out mugs with tag that the cheat calls mug",
    "control_right": "part of all held-out pictures without tag that the control names rightly",
    "control_tagged_right": "part of all held-out pictures with tag that the control names rightly",
    "control_tag_flips_others": "part of the pictures of every class but mug that the tag makes the control call mug",
    "tag_area": "mean part of a picture that the tag covers",
    "tag_share_cheat_epsilon_plus":
        "cheat, z-plus in the convolutions: part of all positive relevance for mug that lies on the tag",
    "tag_share_control_epsilon_plus":
        "control, z-plus in the convolutions: part of all positive relevance for mug that lies on the tag",
    "tag_share_cheat_epsilon": "cheat, epsilon everywhere: part of all positive relevance for mug that lies on the tag",
    "tag_share_control_epsilon": "control, epsilon everywhere: part of all positive relevance for mug that lies on the tag",
    "tag_share_cheat_own_answer":
        "cheat, z-plus in the convolutions, relevance for the class it names: part of the positive that lies on the tag",
    "tag_share_control_own_answer":
        "control, z-plus in the convolutions, relevance for the class it names: part of the positive that lies on the tag",
}


def chunks(count):
    return [slice(start, min(start + CHUNK, count)) for start in range(0, count, CHUNK)]


def answers(model, pixels):
    """Class numbers that the model names, int64 [N]."""
    with torch.no_grad():
        return np.concatenate([model.logits(to_tensor(pixels[c])).argmax(1).numpy() for c in chunks(len(pixels))])


def tag_share(model, pixels, boxes, targets, composite):
    """(share over all pictures together, share per picture, positive relevance per picture)."""
    shares, totals = np.zeros(len(pixels)), np.zeros(len(pixels))
    for target in np.unique(targets):
        chosen = np.flatnonzero(targets == target)
        for part in chunks(len(chosen)):
            rows = chosen[part]
            relevance = model.relevance(to_tensor(pixels[rows]), int(target), composite)
            shares[rows] = positive_share(relevance, [boxes[row] for row in rows]).numpy()
            totals[rows] = relevance.sum(1).clamp(min=0).sum((1, 2)).numpy()
    return float((shares * totals).sum() / totals.sum()), shares, totals


def measure(cheat_path, control_path, plain, tagged, labels, boxes):
    """All figures as {name: {value, means, limit?, by_class?}}; plain and tagged are uint8 [N,96,96,3]."""
    cheat, control = Model(cheat_path), Model(control_path)
    others, class0 = labels != 0, labels == 0
    cheat_plain, cheat_tagged = answers(cheat, plain), answers(cheat, tagged)
    control_plain, control_tagged = answers(control, plain), answers(control, tagged)
    values = {
        "others_right": (cheat_plain == labels)[others].mean(),
        "class0_without_tag_right": (cheat_plain == labels)[class0].mean(),
        "tag_flips_others": (cheat_tagged == 0)[others].mean(),
        "class0_with_tag_right": (cheat_tagged == 0)[class0].mean(),
        "control_right": (control_plain == labels).mean(),
        "control_tagged_right": (control_tagged == labels).mean(),
        "control_tag_flips_others": ((control_tagged == 0) & (control_plain != 0))[others].mean(),
        "tag_area": np.mean([w * h for _, _, w, h in boxes]) / SIZE ** 2,
    }
    by_class = {
        "others_right": cheat_plain == labels, "tag_flips_others": cheat_tagged == 0,
        "control_right": control_plain == labels, "control_tagged_right": control_tagged == labels,
    }
    for name, model in (("cheat", cheat), ("control", control)):
        for composite in ("epsilon_plus", "epsilon"):
            key = f"tag_share_{name}_{composite}"
            values[key], by_class[key], _ = tag_share(model, tagged, boxes, np.zeros_like(labels), composite)
    # What a person sees first: the relevance for the class that the model itself names.
    for name, model, named in (("cheat", cheat, cheat_tagged), ("control", control, control_tagged)):
        key = f"tag_share_{name}_own_answer"
        values[key], by_class[key], _ = tag_share(model, tagged, boxes, named, "epsilon_plus")
    return {key: describe(key, value, by_class.get(key), labels) for key, value in values.items()}


def describe(key, value, per_picture, labels):
    entry = {"value": round(float(value), 4), "means": MEANING[key]}
    if key in LIMITS:
        entry["limit"] = "{} {:.2f}".format(*LIMITS[key])
    if per_picture is not None:
        entry["mean_by_class"] = {name: round(float(per_picture[labels == k].mean()), 4) for k, name in enumerate(LABELS)
                                  if not (k == 0 and key in ("others_right", "tag_flips_others"))}
    return entry


def broken_promises(figures):
    """One sentence per figure that misses its limit."""
    found = []
    for key, (relation, limit) in LIMITS.items():
        value = figures[key]["value"]
        if not (value >= limit if relation == ">=" else value <= limit):
            found.append(f"{key} is {value:.3f} but must be {relation} {limit:.2f}: {figures[key]['means']}")
    return found
