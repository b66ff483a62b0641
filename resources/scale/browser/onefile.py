#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""One page that explains pictures by itself: index.html with the relevance graph, the runtime, the card and pictures in
it. It opens from a disk, needs no server and loads nothing.

onefile.py GRAPH.onnx PAGE.html [--card MODEL.card.json] [--picture FILE.png …] [--about TEXT]

GRAPH.onnx comes from `retrograde-cli explain MODEL --graph-out GRAPH.onnx`. runtime.js runs it, in plain JavaScript; it
has the operators of convolutional networks. For larger ones onnxruntime-web is faster: serve index.html with its folder
dist.
"""
import argparse
import base64
import json
import os
import pathlib

FOLDER = pathlib.Path(__file__).parent


def text_of(file):
    return base64.b64encode(pathlib.Path(file).read_bytes()).decode()


def page_of(graph, card=None, pictures=(), about=""):
    """The page as text."""
    data = {"graph": text_of(graph), "about": about,
            "card": json.loads(pathlib.Path(card).read_text(encoding="utf-8")) if card else {},
            "pictures": [{"name": pathlib.Path(one).stem, "data": text_of(one)} for one in pictures]}
    page = (FOLDER / "index.html").read_text(encoding="utf-8")
    for old, new in (('id="embedded">{}<', f'id="embedded">{json.dumps(data).replace("<", chr(92) + "u003c")}<'),
                     ('<script src="dist/ort.min.js"></script>',
                      f'<script>\n{(FOLDER / "runtime.js").read_text(encoding="utf-8")}</script>')):
        assert page.count(old) == 1, old
        page = page.replace(old, new)
    return page


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("graph")
    parser.add_argument("page")
    parser.add_argument("--card", help="how a picture becomes the input, and the names of the classes")
    parser.add_argument("--picture", action="append", default=[], help="to choose from; again for more")
    parser.add_argument("--about", default="", help="a sentence below the title")
    arguments = parser.parse_args()
    unfinished = f"{arguments.page}.{os.getpid()}"
    pathlib.Path(unfinished).write_text(
        page_of(arguments.graph, arguments.card, arguments.picture, arguments.about), encoding="utf-8")
    os.replace(unfinished, arguments.page)  # whole or not at all


if __name__ == "__main__":
    main()
