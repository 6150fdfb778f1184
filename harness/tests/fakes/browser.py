# SPDX-License-Identifier: BSD-2-Clause
"""A headless Chromium spoken to over its debugging pipe; no packages needed.

Protocol: Chrome DevTools Protocol, JSON messages that end in NUL, file descriptors 3 and 4.
"""

import base64
import json
import os
import select
import shutil
import subprocess
import tempfile
import time

OPTIONS = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
           "--disable-background-networking", "--disable-component-update", "--disable-sync",
           "--hide-scrollbars", "--remote-debugging-pipe"]
TIMEOUT = 600
# A page with a script of ours says so; one without is ready once it is loaded.
READY = """document.documentElement?.dataset.ready === "yes" || (document.URL === %s &&
    document.readyState === "complete" && document.scripts.length === 0)"""


def found():
    """The browser's path, or None."""
    return shutil.which("chromium") or shutil.which("chromium-browser")


class Browser:
    """One page.  Collects what the console and the network say."""

    def __init__(self):
        self.profile = tempfile.mkdtemp(prefix="wtr-browser-")
        to_child, self.writer = os.pipe()
        self.reader, from_child = os.pipe()
        self.process = subprocess.Popen(  # the shell puts the pipes where they are expected
            ["sh", "-c", 'exec "$@" 3<&%d 4>&%d' % (to_child, from_child), "sh", found(),
             *OPTIONS, "--user-data-dir=" + self.profile, "about:blank"],
            pass_fds=[to_child, from_child], stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        os.close(to_child)
        os.close(from_child)
        self.number = 0
        self.buffer = b""
        self.session = None
        self.complaints = []
        self.requests = []
        targets = self.call("Target.getTargets")["targetInfos"]
        page = next(one["targetId"] for one in targets if one["type"] == "page")
        self.session = self.call("Target.attachToTarget", targetId=page,
                                 flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Network", "Log"):
            self.call(domain + ".enable")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.terminate()
        try:
            self.process.wait(10)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        os.close(self.writer)
        os.close(self.reader)
        shutil.rmtree(self.profile, ignore_errors=True)

    def message(self, deadline):
        """The next message; what it complains about is kept."""
        while b"\0" not in self.buffer:
            if not select.select([self.reader], [], [], max(0, deadline - time.time()))[0]:
                raise OSError("the browser does not answer")
            data = os.read(self.reader, 1 << 20)
            if not data:
                raise OSError("the browser ended")
            self.buffer += data
        text, _, self.buffer = self.buffer.partition(b"\0")
        message = json.loads(text)
        method, params = message.get("method"), message.get("params", {})
        if method == "Runtime.exceptionThrown":
            self.complaints.append(params["exceptionDetails"].get("exception", {}).get(
                "description", params["exceptionDetails"]["text"]))
        elif method == "Log.entryAdded" and params["entry"]["level"] in ("error", "warning"):
            self.complaints.append(params["entry"]["text"])
        elif method == "Runtime.consoleAPICalled":
            self.complaints.append("console: %s" % params["args"])
        elif method == "Network.requestWillBeSent":
            self.requests.append(params["request"]["url"])
        return message

    def call(self, method, **params):
        """Call a method of the protocol; its result."""
        self.number += 1
        message = {"id": self.number, "method": method, "params": params}
        if self.session:
            message["sessionId"] = self.session
        os.write(self.writer, json.dumps(message).encode() + b"\0")
        deadline = time.time() + TIMEOUT
        while True:
            answer = self.message(deadline)
            if answer.get("id") == self.number:
                if "error" in answer:
                    raise OSError("%s: %s" % (method, answer["error"]["message"]))
                return answer["result"]

    def evaluate(self, expression):
        """The value of a JavaScript expression in the page; promises are waited for."""
        result = self.call("Runtime.evaluate", expression=expression, returnByValue=True,
                           awaitPromise=True)
        if "exceptionDetails" in result:
            raise AssertionError(result["exceptionDetails"]["exception"]["description"])
        return result["result"].get("value")

    def open(self, url, width, height, dark=False, mobile=False):
        """Load a page at a size and colour scheme, until it says that it is ready."""
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height,
                  deviceScaleFactor=2 if mobile else 1, mobile=mobile)
        self.call("Emulation.setEmulatedMedia", features=[
            {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}])
        self.call("Page.navigate", url=url)
        deadline = time.time() + TIMEOUT
        while not self.evaluate(READY % json.dumps(url)):
            if time.time() > deadline or self.complaints:
                raise AssertionError("the page does not get ready: %s" % self.complaints)
            time.sleep(0.05)
        self.settle()

    def settle(self):
        """Wait until two frames are drawn."""
        self.evaluate("new Promise(done => requestAnimationFrame("
                      "() => requestAnimationFrame(() => done(1))))")

    def key(self, key, text=None):
        """Press and release a key."""
        codes = {"Enter": 13, "ArrowLeft": 37, "ArrowUp": 38, "ArrowRight": 39, "ArrowDown": 40,
                 "Tab": 9, "Home": 36, "End": 35, " ": 32}
        common = {"key": key, "windowsVirtualKeyCode": codes.get(key, ord(key[0]))}
        if text:
            common["text"] = text
        self.call("Input.dispatchKeyEvent", type="keyDown", **common)
        self.call("Input.dispatchKeyEvent", type="keyUp", **common)
        self.settle()

    def click(self, x, y):
        for kind in ("mousePressed", "mouseReleased"):
            self.call("Input.dispatchMouseEvent", type=kind, x=x, y=y, button="left",
                      clickCount=1)
        self.settle()

    def screenshot(self, path, full=False):
        data = self.call("Page.captureScreenshot", format="png", captureBeyondViewport=full)
        path.write_bytes(base64.b64decode(data["data"]))
