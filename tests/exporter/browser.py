# SPDX-License-Identifier: LGPL-2.1-or-later
"""A headless Chromium, by chromedriver's own protocol: pages are opened, acted
on and looked at. What breaks a page's policy, and every error of its scripts,
is kept for the test.
"""

import base64
import http.client
import json
import os
import re
import subprocess
import threading

import kftest


class Browser:
    """One window; the world ends it."""

    def __init__(self, world):
        driver = kftest.need("chromedriver")
        chromium = kftest.need("chromium")
        self.port = None
        self.process = world.run(
            driver, "--port=0", stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT, env=dict(os.environ, HOME=world.dir))
        threading.Thread(target=self.read_port, daemon=True).start()
        kftest.until("chromedriver listens", lambda: self.port)
        self.session = ""
        self.session = "/session/" + self.call("POST", "/session", {
            "capabilities": {"alwaysMatch": {
                "goog:loggingPrefs": {"browser": "ALL"},
                "goog:chromeOptions": {"binary": chromium, "args": [
                    "--headless=new", "--no-sandbox", "--disable-gpu",
                    "--disable-dev-shm-usage", "--hide-scrollbars",
                    "--user-data-dir=" + world.path("browser")]}}}},
        )["sessionId"]
        # chromedriver ends the browser only where its session is ended
        self.process.terminate, self.terminate = \
            self.end, self.process.terminate

    def read_port(self):
        for line in self.process.stdout:
            match = re.search(rb"successfully on port (\d+)", line)
            if match:
                self.port = int(match[1])

    def end(self):
        try:
            self.call("DELETE", "")
        finally:
            self.terminate()

    def call(self, method, path, body=None):
        c = http.client.HTTPConnection("127.0.0.1", self.port,
                                       timeout=2 * kftest.PATIENCE)
        try:
            c.request(method, self.session + path,
                      None if body is None else json.dumps(body))
            value = json.loads(c.getresponse().read())["value"]
        finally:
            c.close()
        assert not isinstance(value, dict) or "error" not in value, value
        return value

    def devtools(self, command, **arguments):
        return self.call("POST", "/goog/cdp/execute",
                         {"cmd": command, "params": arguments})

    def show(self, url, width=1280, height=900, dark=False, scripts=True):
        """Open a page, as wide as is said, in light or dark."""
        self.devtools("Emulation.setDeviceMetricsOverride", width=width,
                      height=height, deviceScaleFactor=1, mobile=False)
        self.devtools("Emulation.setEmulatedMedia", features=[
            {"name": "prefers-color-scheme",
             "value": "dark" if dark else "light"}])
        self.devtools("Emulation.setScriptExecutionDisabled",
                      value=not scripts)
        self.call("POST", "/url", {"url": url})

    def run(self, script, *args):
        return self.call("POST", "/execute/sync",
                         {"script": script, "args": list(args)})

    def until(self, what, script, *args):
        return kftest.until(what, lambda: self.run(script, *args))

    def drag(self, selector, start, end):
        """Drag over an element, from one share of its width to another."""
        box = self.run("const b = document.querySelector(arguments[0])"
                       ".getBoundingClientRect();"
                       "return [b.x, b.y, b.width, b.height]", selector)
        y = box[1] + box[3] / 2
        for kind, share in (("mouseMoved", start), ("mousePressed", start),
                            ("mouseMoved", (start + end) / 2),
                            ("mouseMoved", end), ("mouseReleased", end)):
            self.devtools("Input.dispatchMouseEvent", type=kind,
                          x=box[0] + box[2] * share, y=y, clickCount=1,
                          button="none" if kind == "mouseMoved" else "left",
                          buttons=1)

    def complaints(self):
        """What the console has since the last time, but for advice."""
        return [e["message"] for e in self.call(
            "POST", "/se/log", {"type": "browser"})
            if e["source"] != "rendering"]

    def picture(self, name):
        """Keep the whole page, as far as it goes down, where asked for."""
        keep = os.environ.get("KF_KEEP_PICTURES")
        if not keep:
            return
        size = self.devtools("Page.getLayoutMetrics")["cssContentSize"]
        png = base64.b64decode(self.devtools(
            "Page.captureScreenshot", captureBeyondViewport=True,
            clip={"x": 0, "y": 0, "width": size["width"],
                  "height": size["height"], "scale": 1})["data"])
        with open(os.path.join(keep, name + ".png"), "wb") as f:
            f.write(png)
