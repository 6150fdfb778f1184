# SPDX-License-Identifier: BSD-2-Clause
"""The server for HTTP boot: what it hands out, what it keeps, and what it refuses."""

import argparse
import http.client
import socket
import tempfile
import threading
import unittest
from pathlib import Path

from harness import serve

NAME = "waymark-020000abcdef-0123ABCD-report.json"


class Quiet(serve.Handler):
    def log_message(self, format, *args):
        pass


class Serve(unittest.TestCase):
    def setUp(self):
        self.place = tempfile.TemporaryDirectory()
        image = Path(self.place.name, "image")
        image.write_bytes(b"MZ")
        self.folder = serve.prepare(Path(self.place.name, "netboot"), image, ["run=hw.*"])
        self.server = serve.server(self.folder, "127.0.0.1", 0, Quiet)
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def tearDown(self):
        self.server.shutdown()
        self.server.server_close()
        self.place.cleanup()

    def ask(self, method, path, body=None, headers=None):
        line = http.client.HTTPConnection("127.0.0.1", self.server.server_port, timeout=120)
        line.request(method, path, body, headers or {})
        answer = line.getresponse()
        found = answer.status, answer.read()
        line.close()
        return found

    def kept(self):
        return sorted(path.name for path in self.folder.iterdir())

    def test_hands_out_image_and_options(self):
        self.assertEqual(self.ask("GET", "/BOOTX64.EFI"), (200, b"MZ"))
        self.assertEqual(self.ask("GET", "/waymark.cfg"), (200, b"run=hw.*\n"))
        self.assertEqual(self.ask("GET", "/other")[0], 404)

    def test_keeps_documents_of_a_run(self):
        self.assertEqual(self.ask("PUT", "/" + NAME, b"{}")[0], 201)
        self.assertEqual(self.ask("PUT", "/" + NAME, b"[]")[0], 204)
        self.assertEqual((self.folder / NAME).read_bytes(), b"[]")
        self.assertEqual(len(self.kept()), 3)

    def test_refuses_everything_else(self):
        before = self.kept()
        for path in ("/BOOTX64.EFI", "/waymark.cfg", "/../" + NAME, "/x/" + NAME,
                     "/" + NAME + ".part", "/" + NAME.replace("report", "secret"),
                     "/" + NAME.replace("020000abcdef", "%2e%2e%2fabcd"), "/" + NAME + "?x"):
            self.assertEqual(self.ask("PUT", path, b"x")[0], 403, path)
        self.assertEqual(self.kept(), before)
        self.assertEqual(self.ask("GET", "/BOOTX64.EFI"), (200, b"MZ"))

    def test_half_a_document_replaces_nothing(self):
        self.ask("PUT", "/" + NAME, b"{}")
        with socket.create_connection(("127.0.0.1", self.server.server_port), 10) as line:
            line.sendall(b"PUT /%s HTTP/1.1\r\nContent-Length: 9\r\n\r\nhalf" % NAME.encode())
            line.shutdown(socket.SHUT_WR)
            self.assertEqual(line.recv(1), b"")
        self.assertEqual((self.folder / NAME).read_bytes(), b"{}")

    def test_wants_a_length(self):
        for length in ("", "-1", "x", str(serve.BYTES_MAX + 1)):
            self.assertEqual(self.ask("PUT", "/" + NAME, None, {"Content-Length": length})[0],
                             411, length)
        self.assertNotIn(NAME, self.kept())

    def test_judges_its_words(self):
        for made, bad in ((serve.port_number, ("-1", "65536", "x", "")),
                          (serve.option, ("bogus", "=", "", "a\nb=1", "\xe9=1"))):
            for word in bad:
                with self.assertRaises(argparse.ArgumentTypeError, msg=word):
                    made(word)
        self.assertEqual((serve.port_number("0"), serve.option("run=hw.*")), (0, "run=hw.*"))


if __name__ == "__main__":
    unittest.main()
