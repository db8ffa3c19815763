# SPDX-License-Identifier: LGPL-2.1-or-later
# tier: all
"""--web.enable-actions: the page of a process switches its sampling on and off.
An order is taken from a form of this exporter's own pages alone, with the token
in it, and from known clients alone; the process carries it out as an order of
konfiscator ctl. Without the flag there is neither a form nor an address for it.
"""

import html
import http.client
import os
import re
import shutil
import subprocess
import sys
import urllib.parse

import browser
import kftest
import kfweb

USER = 1000000000 + os.getpid()  # no other user of this machine has these
BUSY = """
import sys, time
print("ready", flush=True)
while True:
    kept = [bytearray(1000 + i) for i in range(200)]
    time.sleep(0.01)
"""
IDLE = """
import sys, time
print("ready", flush=True)
sys.stdin.buffer.raw.readinto(bytearray(1))
"""


def program(world, source, *prefix, **env):
    """A python3 with the library, once it has begun."""
    lib = world.path("lib.so")
    if not os.path.exists(lib):
        shutil.copy(os.environ["KF_LIB"], lib)
        os.chmod(lib, 0o755)
    process = world.run(
        *prefix, "env", "LD_PRELOAD=" + lib, "KONFISCATOR_DIR=" + world.stats,
        *["%s=%s" % pair for pair in env.items()], sys.executable, "-c",
        source, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert process.stdout.readline() == b"ready\n"
    return process


def ctl(world, process):
    """What sampling is now, by konfiscator ctl."""
    out = subprocess.run(
        [os.environ["KF_CLI"], "--dir=" + world.stats, "ctl",
         "--format=csv", str(process.pid)],
        check=True, capture_output=True).stdout.decode()
    return re.search(r"^sample,([^,]*),", out, re.M)[1]


def page_of(exporter, process, **headers):
    status, _, body = exporter.request("/process?pid=%d" % process.pid,
                                       **headers)
    assert status == 200, (status, body)
    return body.decode()


def fields(page):
    """The hidden fields of the form, and the orders of its buttons."""
    form = re.search(r'<form method="post" action="/order">(.*?)</form>',
                     page, re.S)
    assert form, page
    hidden = dict(re.findall(
        r'<input type="hidden" name="(\w+)" value="(\w+)" />', form[1]))
    assert set(hidden) == {"token", "id"} and len(hidden["token"]) == 64
    return hidden, re.findall(r'<button name="order" value="([^"]+)">',
                              form[1])


def post(exporter, form, path="/order", **headers):
    """Send a form; status, headers and text of the answer."""
    c = http.client.HTTPConnection("127.0.0.1", exporter.port,
                                   timeout=kftest.PATIENCE)
    body = form if isinstance(form, (str, bytes)) else \
        urllib.parse.urlencode(form)
    sent = {"Content-Type": "application/x-www-form-urlencoded"}
    sent.update((k.replace("_", "-"), v) for k, v in headers.items())
    try:
        c.request("POST", path, body, sent)
        r = c.getresponse()
        text = html.unescape(r.read().decode())
        return r.status, r.headers, re.sub(r"<[^>]*>", "", text)
    finally:
        c.close()


def a_button_switches_sampling(world):
    busy = program(world, BUSY, KONFISCATOR_SAMPLE="0")
    assert ctl(world, busy) == "off"
    exporter = world.exporter("--web.enable-actions")
    page = page_of(exporter, busy)
    assert "Sampling is off." in page
    hidden, orders = fields(page)
    assert orders == ["sample=64K", "sample=default"], orders
    status, headers, text = post(exporter, dict(hidden, order="sample=64K"))
    assert status == 200 and "answers: " in text, (status, text)
    assert "no-store" in headers["Cache-Control"]
    assert ctl(world, busy) == "64K"
    exporter.says("msg=order ")
    kftest.until("samples", lambda: "samples</span>" in page_of(exporter, busy))
    page = page_of(exporter, busy)
    assert re.search(r"One block per .*64.0 KiB.* is sampled", page), page
    _, orders = fields(page)
    assert orders == ["sample=default", "sample=0"], orders
    assert post(exporter, dict(hidden, order="sample=0"))[0] == 200
    assert ctl(world, busy) == "off"
    page = exporter.scrape()
    assert page.get("konfiscator_http_requests_total", handler="order",
                    code="200") == 2


def who_allocates_nothing_takes_it_later(world):
    idle = program(world, IDLE)
    exporter = world.exporter("--web.enable-actions")
    hidden, _ = fields(page_of(exporter, idle))
    status, _, text = post(exporter, dict(hidden, order="sample=0"))
    assert status == 200, (status, text)
    assert "will be taken at the next slow path of process %d" % idle.pid \
        in text, text


def a_form_without_the_token_is_refused(world):
    busy = program(world, BUSY, KONFISCATOR_SAMPLE="0")
    exporter = world.exporter("--web.enable-actions")
    hidden, _ = fields(page_of(exporter, busy))
    right = dict(hidden, order="sample=64K")
    token = right["token"]
    whole = urllib.parse.urlencode(right)
    for form in (dict(right, token=""), dict(right, token="0" * 64),
                 dict(right, token=token[:-1]), dict(right, token=token + "0"),
                 dict(right, token=token + "\0"), {"order": "sample=64K"}, "",
                 whole + "&token=" + token, whole + "&order=sample=0",
                 "x=" + "y" * 5000 + "&" + whole, "&&&===%%%", b"\xff" * 100):
        status, _, text = post(exporter, form)
        assert status == 403 and "token" in text, (form, status, text)
    host = "127.0.0.1:%d" % exporter.port
    for headers in ({"Origin": "http://evil.example"}, {"Origin": "null"},
                    {"Origin": "http://127.0.0.1:1"}, {"Origin": ""},
                    {"Origin": "http://%s.evil.example" % host},
                    {"Sec-Fetch-Site": "cross-site"},
                    {"Sec-Fetch-Site": "same-site"},
                    {"Sec-Fetch-Site": "none"},
                    {"Origin": "http://" + host,
                     "Sec-Fetch-Site": "cross-site"}):
        status, _, text = post(exporter, right, **headers)
        assert status == 403 and "another site" in text, (headers, status)
    # parts of a multipart form may have any head, or none
    for head in (b"", b"Content-Type: text/plain\r\n",
                 b"Content-Disposition: form-data\r\n",
                 b"Content-Disposition: form-data; filename=x\r\n",
                 b"Content-Disposition: form-data; name=token\r\n"
                 b"Content-Type: multipart/mixed; boundary=z\r\n"):
        status, _, text = post(
            exporter, b"--limit\r\nContent-Disposition: form-data; name=x\r\n"
            b"\r\ny\r\n--limit\r\n" + head + b"\r\nz\r\n--limit--\r\n",
            Content_Type="multipart/form-data; boundary=limit")
        assert status == 403 and "token" in text, (head, status, text)
    # a body of another type is no form, and another name is not this server
    assert post(exporter, whole, Content_Type="text/plain")[0] == 403
    assert post(exporter, right, Host="evil.example")[0] == 421
    # another exporter's token is not this one's
    other = world.exporter("--web.enable-actions")
    assert post(other, right)[0] == 403
    assert ctl(world, busy) == "off"
    for headers in ({}, {"Origin": "http://" + host,
                         "Sec-Fetch-Site": "same-origin"}):
        assert post(exporter, right, **headers)[0] == 200, headers
    assert ctl(world, busy) == "64K"


def only_the_pages_orders_are_sent(world):
    busy = program(world, BUSY)
    before = ctl(world, busy)
    exporter = world.exporter("--web.enable-actions")
    hidden, _ = fields(page_of(exporter, busy))
    for order in ("", "sample", "sample=", "sample=1", "sample=64K\n",
                  "record=/tmp/x", "dump=/tmp/x", "family=3", "pinned=now",
                  "SAMPLE=0", "sample=0&x"):
        status, _, text = post(exporter, dict(hidden, order=order))
        assert status == 400 and "no such order" in text, (order, status)
    for process in ("", "0", "zz", "1" * 16, hidden["id"] + "/..", "-1"):
        status, _, _ = post(exporter, dict(hidden, id=process,
                                           order="sample=0"))
        assert status == 404, (process, status)
    for method in ("GET", "HEAD", "PUT", "DELETE"):
        status, headers, _ = exporter.request("/order", method)
        assert status == 405 and headers["Allow"] == "POST", method
    assert ctl(world, busy) == before
    world.end(busy)
    assert post(exporter, dict(hidden, order="sample=0"))[0] == 404


def without_the_flag_there_is_no_action(world):
    busy = program(world, BUSY)
    exporter = world.exporter()
    page = page_of(exporter, busy)
    assert "<form" not in page and 'id="actions"' not in page
    status, headers, _ = post(exporter, {"order": "sample=0"})
    assert status == 405 and headers["Allow"] == "GET, HEAD"
    status, headers, _ = exporter.request("/order")
    assert status == 404
    assert "form-action 'none'" in headers["Content-Security-Policy"]
    exporter = world.exporter("--web.enable-actions")
    _, headers, _ = exporter.request("/")
    policy = headers["Content-Security-Policy"]
    assert "form-action 'self'" in policy and "unsafe" not in policy, policy
    assert headers["Referrer-Policy"] == "same-origin"


def refused(world, *flags):
    """What an exporter says that does not start."""
    done = subprocess.run(
        [kftest.EXPORTER, "--stats.dir=" + world.stats, "--stats.state-file=",
         "--web.enable-actions", *flags], stdin=subprocess.DEVNULL,
        capture_output=True, timeout=kftest.PATIENCE, check=False)
    lines = [line for line in done.stderr.decode().splitlines()
             if "level=info" not in line]
    assert done.returncode == 1 and len(lines) == 1, (done, flags)
    return lines[0]


def others_machines_need_a_password(world):
    for address in (":0", "0.0.0.0:0", "[::]:0"):
        why = refused(world, "--web.listen-address=" + address)
        assert "--web.enable-actions: " in why, why
        assert "is not a loopback address" in why, why
        assert "--web.config.file" in why, why
    users = kfweb.config(world, kfweb.USERS)
    busy = program(world, BUSY, KONFISCATOR_SAMPLE="0")
    exporter = world.exporter("--web.enable-actions", users,
                              "--web.listen-address=0.0.0.0:0")
    right = kfweb.basic("alice", "right")
    hidden, _ = fields(page_of(exporter, busy, **right))
    form = dict(hidden, order="sample=64K")
    assert post(exporter, form)[0] == 401
    assert post(exporter, form, **kfweb.basic("alice", "wrong"))[0] == 401
    assert ctl(world, busy) == "off"
    assert post(exporter, form, **right)[0] == 200
    assert ctl(world, busy) == "64K"
    # users that are taken away while it runs
    kfweb.config(world, "http_server_config: {}\n")
    status, _, text = post(exporter, dict(form, order="sample=0"))
    assert status == 403 and "actions need users" in text, (status, text)
    assert ctl(world, busy) == "64K"


def certificates_count_only_if_they_are_asked_for(world):
    """A file that demands them after the start does not change handshakes."""
    kfweb.make_all(world)
    users = kfweb.config(world, kfweb.TLS + kfweb.USERS)
    exporter = world.exporter("--web.enable-actions", users,
                              "--web.listen-address=0.0.0.0:0")
    kfweb.config(world, kfweb.MUTUAL)
    c = http.client.HTTPSConnection("127.0.0.1", exporter.port,
                                    timeout=kftest.PATIENCE,
                                    context=kfweb.client(world))
    c.request("POST", "/order", "", {
        "Content-Type": "application/x-www-form-urlencoded"})
    r = c.getresponse()
    text = r.read()
    c.close()
    assert r.status == 500 and b"configuration" in text, (r.status, text)


def an_exporter_without_the_right_says_so(world):
    if os.geteuid() != 0:
        raise kftest.Skip("other users need root")
    setpriv = [kftest.need("setpriv"), "--clear-groups"]
    service = setpriv + ["--reuid=%d" % (USER + 1), "--regid=%d" % USER]
    os.chmod(world.dir, 0o755)
    os.chmod(world.stats, 0o1777)
    busy = program(world, BUSY, *setpriv, "--reuid=%d" % USER,
                   "--regid=%d" % USER)
    exporter = world.exporter("--web.enable-actions", prefix=service)
    hidden, _ = fields(page_of(exporter, busy))
    status, _, text = post(exporter, dict(hidden, order="sample=0"))
    assert status == 500, (status, text)
    assert re.search(r"This exporter may not write %s/\S+ \(Permission denied\)"
                     r": it needs the rights of user %d, or CAP_DAC_OVERRIDE"
                     % (re.escape(world.stats), USER), text), text


def a_browser_sends_the_form(world):
    """With and without scripts; the policy of the page lets it."""
    busy = program(world, BUSY, KONFISCATOR_SAMPLE="0")
    exporter = world.exporter("--web.enable-actions")
    b = browser.Browser(world)
    for scripts, order, wanted in ((True, "sample=64K", "64K"),
                                   (False, "sample=0", "off")):
        b.show("http://127.0.0.1:%d/process?pid=%d" % (exporter.port,
                                                       busy.pid),
               scripts=scripts)
        b.picture("actions-" + wanted)
        button = b.call("POST", "/element", {
            "using": "css selector",
            "value": 'button[value="%s"]' % order})
        b.call("POST", "/element/%s/click" % next(iter(button.values())), {})
        b.until("an answer", "return document.querySelector('main')"
                             ".textContent.includes('answers: ')")
        assert ctl(world, busy) == wanted
        assert b.complaints() == []


kftest.main(
    a_button_switches_sampling,
    who_allocates_nothing_takes_it_later,
    a_form_without_the_token_is_refused,
    only_the_pages_orders_are_sent,
    without_the_flag_there_is_no_action,
    others_machines_need_a_password,
    certificates_count_only_if_they_are_asked_for,
    an_exporter_without_the_right_says_so,
    a_browser_sends_the_form,
)
