# SPDX-License-Identifier: BSD-2-Clause
"""A web server for UEFI HTTP boot: hands out the image and its options, keeps the results.

serve.py [--folder out/netboot] [--port 8080] [KEY=VALUE ...] puts the image and a waymark.cfg
with those options into the folder and serves it.  What a machine sends with PUT is kept there
too: waymark-CARD-RUN-report.json and its like, nothing else, and never over another file.
"""

import argparse
import functools
import re
import shutil
import sys
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

NAME = re.compile(r"/(waymark-[0-9a-f]{12}-[0-9A-F]{8}-(?:report\.json|report\.tap|"
                  r"machine\.json|log\.txt))")
BYTES_MAX = 64 << 20


class Handler(SimpleHTTPRequestHandler):
    """GET and HEAD as in Python's own server, and PUT for results."""

    protocol_version = "HTTP/1.1"

    def __init__(self, *args, folder, **kwargs):
        super().__init__(*args, directory=str(folder), **kwargs)

    def do_PUT(self):
        """Keep one document of a run; the same again replaces it."""
        name = NAME.fullmatch(self.path)
        length = self.headers.get("Content-Length", "")
        if not name or not length.isdecimal() or int(length) > BYTES_MAX:
            self.close_connection = True
            self.send_error(403 if not name else 411)
            return
        body = self.rfile.read(int(length))
        if len(body) != int(length):    # the line dropped: what was kept before is better
            self.close_connection = True
            return
        target = Path(self.directory) / name[1]
        new = not target.exists()
        part = target.with_name(target.name + ".part")
        try:
            part.write_bytes(body)
            part.replace(target)        # nobody reads half a document
        except OSError as error:
            part.unlink(missing_ok=True)
            self.send_error(507, "cannot keep it: %s" % error.strerror)
            return
        self.send_response(201 if new else 204)
        self.send_header("Content-Length", "0")
        self.end_headers()


def prepare(folder, image, options):
    """The folder with the image and its options in it."""
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(image, folder / "BOOTX64.EFI")
    (folder / "waymark.cfg").write_text("".join(word + "\n" for word in options or ()),
                                        encoding="ascii")
    return folder


def port_number(text):
    """Ports end at 65535; 0 takes a free one."""
    if not text.isdecimal() or int(text) > 65535:
        raise argparse.ArgumentTypeError("not a port: %r; from 0 to 65535" % text)
    return int(text)


def option(word):
    """A line of waymark.cfg; the machine itself judges its key and value."""
    if not word.isascii() or not word.isprintable() or word.find("=") < 1:
        raise argparse.ArgumentTypeError("not of the form key=value: %r" % word)
    return word


def server(folder, address="", port=0, handler=Handler):
    """A server that is not running yet; port 0 takes a free one."""
    return ThreadingHTTPServer((address, port), functools.partial(handler, folder=folder))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--image", type=Path, default=Path("out/BOOTX64.EFI"))
    parser.add_argument("--folder", type=Path, default=Path("out/netboot"))
    parser.add_argument("--address", default="", help="listen here only; default: everywhere")
    parser.add_argument("--port", type=port_number, default=8080)
    parser.add_argument("options", nargs="*", type=option, metavar="KEY=VALUE",
                        help="lines for waymark.cfg")
    args = parser.parse_args()
    if not args.image.is_file():
        print("serve: %s does not exist: build it with make" % args.image, file=sys.stderr)
        return 1
    try:
        folder = prepare(args.folder, args.image, args.options)
        one = server(folder, args.address, args.port)
    except OSError as error:
        print("serve: %s: %s" % (error.filename or "port %d" % args.port, error.strerror),
              file=sys.stderr)
        return 1
    print("serving %s: boot http://ADDRESS-OF-THIS-MACHINE:%d/BOOTX64.EFI" % (
        folder, one.server_port), flush=True)
    with one:
        try:
            one.serve_forever()
        except KeyboardInterrupt:
            pass
    return 0


if __name__ == "__main__":
    sys.exit(main())
