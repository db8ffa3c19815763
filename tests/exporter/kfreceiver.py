# SPDX-License-Identifier: LGPL-2.1-or-later
"""A receiver of what the exporter sends by itself."""

import http.server
import threading
import time


class Receiver:
    """Keeps requests, and answers as told: a list of (status, headers, body),
    of which the last stays."""

    def __init__(self, *answers, context=None):
        self.got = []
        self.status_of = {}  # by path, in place of an answer's
        self.delay_s = 0
        self.answers = list(answers) or [(200, {}, b"")]
        receiver = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self):
                body = self.rfile.read(int(self.headers["Content-Length"]))
                receiver.got.append((self.path, self.headers, body,
                                     time.monotonic()))
                status, headers, answer = receiver.answers[0]
                if len(receiver.answers) > 1:
                    receiver.answers.pop(0)
                time.sleep(receiver.delay_s)
                self.send_response(receiver.status_of.get(self.path, status))
                for name, value in headers.items():
                    self.send_header(name, value)
                self.send_header("Content-Length", str(len(answer)))
                self.end_headers()
                self.wfile.write(answer)

            def log_message(self, *_):
                pass
        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        if context:
            self.server.socket = context.wrap_socket(self.server.socket,
                                                     server_side=True)
        self.port = self.server.server_port
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def of(self, path):
        return [r for r in self.got if r[0] == path]

    def close(self):
        self.server.shutdown()
        self.server.server_close()
