#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""resources/scale/browser/index.html in headless Chromium: the class, score and relevance that it shows are those of
the engine, and it draws a heatmap.

RETRO_ORT_WEB names the folder dist of onnxruntime-web (ort.min.js and its .wasm). Without it a stand-in takes the place
of the runtime: it sends the tensors to this test, which runs the graph in onnxruntime; the page is the same. Ends with
77 (skipped) where the browser or a package is missing."""
import base64
import functools
import http.server
import json
import os
import pathlib
import re
import shutil
import subprocess
import tempfile
import threading
import time

import needs

needs.need("onnxruntime", "numpy", "PIL")
BROWSER = next((found for name in ("chromium", "chromium-browser", "google-chrome") if (found := shutil.which(name))),
               None)
if BROWSER is None:
    needs.skip("no Chromium")

import numpy as np
import onnxruntime
from PIL import Image

STAND_IN = """
globalThis.ort = {
  Tensor: class { constructor(type, data, dims) { Object.assign(this, {type, data, dims}); } },
  InferenceSession: { async create(file) {
    const about = await (await fetch("/about")).json();
    return {...about, async run(feed) {
      const given = Object.fromEntries(Object.entries(feed).map(([name, one]) =>
          [name, {type: one.type, dims: one.dims, data: Array.from(one.data, Number)}]));
      const made = await (await fetch("/run", {method: "POST", body: JSON.stringify(given)})).json();
      return Object.fromEntries(Object.entries(made).map(([name, data]) => [name, {data: Float32Array.from(data)}]));
    }};
  } }
};
"""


class Page(http.server.SimpleHTTPRequestHandler):
    """Files of a folder; /about and /run are the stand-in's."""

    session = None

    def log_message(self, *_):
        pass

    def answer(self, value):
        text = json.dumps(value).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)

    def do_GET(self):
        if self.path != "/about":
            super().do_GET()
            return
        inputs = self.session.get_inputs()
        self.answer({"inputNames": [one.name for one in inputs],
                     "outputNames": [one.name for one in self.session.get_outputs()],
                     "inputMetadata": [{"name": one.name, "shape": one.shape} for one in inputs]})

    def do_POST(self):
        given = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        types = {"float32": np.float32, "int64": np.int64}
        feed = {name: np.array(one["data"], types[one["type"]]).reshape(one["dims"]) for name, one in given.items()}
        names = [one.name for one in self.session.get_outputs()]
        self.answer({name: value.ravel().tolist() for name, value in zip(names, self.session.run(names, feed))})


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
        until = time.monotonic() + 240
        state = ""
        while time.monotonic() < until:
            state = self.value("document.getElementById('state')?.textContent") or ""
            if "reached" in state or "rror" in state:
                return state
            time.sleep(0.2)
        raise AssertionError(f"the page still says: {state}")

    def screenshot(self):
        return base64.b64decode(self.call("Page.captureScreenshot")["data"])

    def close(self):
        self.process.terminate()
        self.process.wait()


def main():
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        os.environ["HOME"] = os.environ["XDG_CONFIG_HOME"] = os.environ["XDG_CACHE_HOME"] = name
        site = folder / "site"
        shutil.copytree(needs.SCALE / "browser", site)
        graph = needs.written_graph(site)
        Page.session = onnxruntime.InferenceSession(str(graph), providers=["CPUExecutionProvider"])
        value = Page.session.get_inputs()[0]
        height, width = value.shape[2:]
        pixels = np.random.default_rng(5).integers(0, 256, (height, width, 3), np.uint8)
        Image.fromarray(pixels).save(site / "picture.png")
        runtime = os.environ.get("RETRO_ORT_WEB")
        if runtime:
            shutil.copytree(runtime, site / "dist")
        else:
            (site / "dist").mkdir()
            (site / "dist/ort.min.js").write_text(STAND_IN)
        server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Page, directory=site))
        threading.Thread(target=server.serve_forever, daemon=True).start()
        address = f"http://127.0.0.1:{server.server_port}/index.html"
        browser = Browser(folder)
        shown = browser.state_of(address + "?picture=picture.png")
        found = re.search(r"Class (\d+), score (\S+); relevance (\S+) reached the picture", shown)
        assert found, shown
        (folder / "page.png").write_bytes(browser.screenshot())

        feed = (pixels.transpose(2, 0, 1)[None] / 255).astype(np.float32)
        np.save(folder / "picture.npy", feed)
        needs.retrograde("explain", needs.MODEL, "--input", f"{value.name}={folder / 'picture.npy'}", "--composite",
                         "epsilon_plus", "--output-dir", folder / "results")
        said = json.loads((folder / "results/summary.json").read_text())
        assert int(found[1]) == said["target"][0]["index"], (found[0], said["target"])
        assert abs(float(found[2]) - said["target"][0]["logit"]) <= 2e-3 * abs(said["target"][0]["logit"])
        assert abs(float(found[3]) - said["relevance_inputs"]) <= 2e-3 * abs(said["relevance_inputs"])

        drawn = np.asarray(Image.open(folder / "page.png").convert("RGB")).astype(int)
        reddish = (drawn[..., 0] - drawn[..., 2] > 60).sum()
        bluish = (drawn[..., 2] - drawn[..., 0] > 60).sum()
        assert reddish + bluish > 100, "no heatmap is drawn"
        missing = browser.state_of(address + "?picture=nothing.png")
        assert "there is no picture nothing.png" in missing
        print(found[0], "with onnxruntime-web" if runtime else "with a stand-in for onnxruntime-web")
        if keep := os.environ.get("RETRO_KEEP"):
            shutil.copy(folder / "page.png", keep)
        browser.close()
        server.shutdown()


if __name__ == "__main__":
    main()
