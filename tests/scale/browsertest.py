#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""resources/scale/browser in headless Chromium: the class, score and relevance that the page shows are those of the
engine, and it draws a heatmap. Then the page in one file, from the disk: covering the tag of the sample changes the
class.

RETRO_ORT_WEB names the folder dist of onnxruntime-web (ort.min.js and its .wasm); without it runtime.js runs the graph.
Ends with 77 (skipped) where the browser or a package is missing."""
import base64
import functools
import http.server
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import threading
import time

import needs

needs.need("numpy", "PIL")
BROWSER = next((found for name in ("chromium", "chromium-browser", "google-chrome") if (found := shutil.which(name))),
               None)
if BROWSER is None:
    needs.skip("no Chromium")

import numpy as np
from PIL import Image

sys.path.insert(0, str(needs.SCALE / "browser"))
import onefile


class Quiet(http.server.SimpleHTTPRequestHandler):
    """Files of a folder."""

    def log_message(self, *_):
        pass


class Browser:
    """Chromium behind a pipe, by its DevTools protocol."""

    def __init__(self, folder):
        to_browser, ours = os.pipe()
        theirs, from_browser = os.pipe()

        def take_pipes():  # the browser reads 3 and writes 4
            os.dup2(os.dup(to_browser), 3)
            os.dup2(os.dup(from_browser), 4)

        spare = [os.dup(2) for _ in range(2)] if min(to_browser, from_browser) < 5 else []  # 3 and 4 are not ours
        # As root Chromium runs without its sandbox alone; the page is ours.
        self.process = subprocess.Popen(
            [BROWSER, "--headless", "--no-sandbox", "--disable-gpu", "--remote-debugging-pipe", "--no-first-run",
             "--window-size=900,700", f"--user-data-dir={folder / 'profile'}"], preexec_fn=take_pipes,
            close_fds=False, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        for one in (to_browser, from_browser, *spare):
            os.close(one)
        self.to, self.back = os.fdopen(ours, "wb"), os.fdopen(theirs, "rb")
        self.number = 0
        page = self.call("Target.createTarget", url="about:blank")["targetId"]
        self.session = self.call("Target.attachToTarget", targetId=page, flatten=True)["sessionId"]

    def call(self, method, **parameters):
        self.number += 1
        asked = {"id": self.number, "method": method, "params": parameters}
        if getattr(self, "session", None):
            asked["sessionId"] = self.session
        self.to.write(json.dumps(asked).encode() + b"\0")
        self.to.flush()
        while True:
            text = b""
            while not text.endswith(b"\0"):
                more = self.back.read(1)
                assert more, "the browser ended"
                text += more
            answer = json.loads(text[:-1])
            if answer.get("id") == self.number:
                assert "result" in answer, answer
                return answer["result"]

    def value(self, expression):
        return self.call("Runtime.evaluate", expression=expression)["result"].get("value")

    def state_of(self, address):
        """What the page says in the end."""
        self.call("Page.navigate", url=address)
        return self.said(lambda state: "reached" in state or "rror" in state)

    def said(self, is_answer):
        """What the page says, as soon as it is an answer."""
        until = time.monotonic() + 240
        state = ""
        while time.monotonic() < until:
            state = self.value("document.getElementById('state')?.textContent") or ""
            if is_answer(state):
                return state
            time.sleep(0.2)
        raise AssertionError(f"the page still says: {state}")

    def drawn(self, identifier, box):
        """Draws over a box (x, y, width, height in pixels of the picture) with the mouse."""
        left, top, scale = self.value(
            f"(() => {{ const one = document.getElementById('{identifier}'), box = one.getBoundingClientRect();"
            " return [box.left, box.top, box.width / one.width].join(); })()").split(",")
        for row in range(0, box[3] + 1, 4):
            for step, kind in enumerate(("mousePressed", "mouseMoved", "mouseReleased")):
                self.call("Input.dispatchMouseEvent", type=kind, button="left", buttons=int(kind != "mouseReleased"),
                          clickCount=1, x=float(left) + float(scale) * (box[0] + step * box[2] / 2),
                          y=float(top) + float(scale) * (box[1] + row))

    def screenshot(self):
        return base64.b64decode(self.call("Page.captureScreenshot")["data"])

    def close(self):
        self.process.terminate()
        self.process.wait()


def of_the_engine(folder, picture):
    """Class, score and relevance of a picture, as the command line says them."""
    needs.retrograde("explain", needs.MODEL, "--input", picture, "--composite", "epsilon_plus", "--output-dir", folder)
    said = json.loads((folder / "summary.json").read_text())
    return said["target"][0]["index"], said["target"][0]["logit"], said["relevance_inputs"]


def shows(state, expected):
    """Whether the page says these numbers."""
    found = re.search(r"Class (\d+)[^,]*, score (\S+); relevance (\S+) reached the picture", state)
    assert found, state
    assert int(found[1]) == expected[0], (state, expected)
    for said, wanted in zip(map(float, found.groups()[1:]), expected[1:]):
        assert abs(said - wanted) <= 2e-3 * abs(wanted), (state, expected)


def served(folder, browser, graph):
    """The page behind a server, with a picture of noise."""
    site = folder / "site"
    shutil.copytree(needs.SCALE / "browser", site)
    shutil.copy(graph, site)
    pixels = np.random.default_rng(5).integers(0, 256, (96, 96, 3), np.uint8)
    Image.fromarray(pixels).save(site / "picture.png")
    runtime = os.environ.get("RETRO_ORT_WEB")
    if runtime:
        shutil.copytree(runtime, site / "dist")
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Quiet, directory=site))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    address = f"http://127.0.0.1:{server.server_port}/index.html"
    shown = browser.state_of(address + "?picture=picture.png")
    shows(shown, of_the_engine(folder / "noise", site / "picture.png"))
    (folder / "page.png").write_bytes(browser.screenshot())
    drawn = np.asarray(Image.open(folder / "page.png").convert("RGB")).astype(int)
    reddish = (drawn[..., 0] - drawn[..., 2] > 60).sum()
    bluish = (drawn[..., 2] - drawn[..., 0] > 60).sum()
    assert reddish + bluish > 100, "no heatmap is drawn"
    missing = browser.state_of(address + "?picture=nothing.png")
    assert "there is no picture nothing.png" in missing
    print(shown, "with onnxruntime-web" if runtime else "with runtime.js")
    server.shutdown()


def one_file(folder, browser, graph):
    """The page in one file: the tag makes it a mug, and without the tag it is a jug."""
    card = json.loads(needs.CARD.read_text(encoding="utf-8"))
    picture = next(one for one in card["pictures"] if one["file"] == "jug-tagged.png")
    page = folder / "try.html"
    page.write_text(onefile.page_of(graph, needs.CARD, [needs.MODEL.with_name(picture["file"])], "A sentence."),
                    encoding="utf-8")
    shown = browser.state_of(page.as_uri())
    shows(shown, of_the_engine(folder / "jug", needs.MODEL.with_name(picture["file"])))
    assert "(mug)" in shown, shown
    browser.drawn("picture", picture["tag_box"])
    covered = browser.said(lambda state: state != shown)
    assert "(jug)" in browser.said(lambda state: "(jug)" in state), covered
    if keep := os.environ.get("RETRO_KEEP"):
        pathlib.Path(keep).write_bytes(browser.screenshot())
        shutil.copy(page, pathlib.Path(keep).with_suffix(".html"))
    browser.value("document.getElementById('uncover').click()")
    browser.said(lambda state: "(mug)" in state)
    print(shown, "in one file; covered:", covered)


def main():
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        os.environ["HOME"] = os.environ["XDG_CONFIG_HOME"] = os.environ["XDG_CACHE_HOME"] = name
        graph = needs.written_graph(folder)
        browser = Browser(folder)
        try:
            served(folder, browser, graph)
            one_file(folder, browser, graph)
        finally:
            browser.close()


if __name__ == "__main__":
    main()
