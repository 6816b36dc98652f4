"""A web server in a thread that serves bytes from memory: ranges, validators, and faults on request."""

from __future__ import annotations

import threading
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


@dataclass
class Served:
    """One file and how the server treats it."""

    body: bytes
    etag: str | None = '"v1"'
    ranges: bool = True
    length: bool = True
    wrong_range: bool = False
    break_after: list[int] = field(default_factory=list)  # bytes sent before each of the first connections breaks
    status: list[int] = field(default_factory=list)  # statuses of the first answers
    requests: list[dict[str, str]] = field(default_factory=list)


class Server:
    """``server.url`` is the base address, ``server.files[path]`` what is served there."""

    def __init__(self) -> None:
        files: dict[str, Served] = {}

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def log_message(self, *_args: object) -> None:
                pass

            def do_GET(self) -> None:
                self.close_connection = True
                served = files.get(self.path)
                if served is None:
                    self.send_error(404)
                    return
                served.requests.append(dict(self.headers))
                if served.status and (status := served.status.pop(0)) != 200:
                    self.send_error(status)
                    return
                begin = self._begin(served)
                if begin is None:
                    return
                body = served.body[begin:]
                if served.length:
                    self.send_header("Content-Length", str(len(body)))
                if served.etag:
                    self.send_header("ETag", served.etag)
                self.send_header("Connection", "close")
                self.end_headers()
                self.wfile.write(body[: served.break_after.pop(0)] if served.break_after else body)

            def _begin(self, served: Served) -> int | None:
                wanted = self.headers.get("Range")
                current = self.headers.get("If-Range") in (None, served.etag)
                if not (wanted and served.ranges and current):
                    self.send_response(200)
                    return 0
                begin = int(wanted.removeprefix("bytes=").removesuffix("-"))
                if begin >= len(served.body):
                    self.send_response(416)
                    self.send_header("Content-Range", f"bytes */{len(served.body)}")
                    self.send_header("Content-Length", "0")
                    self.end_headers()
                    return None
                self.send_response(206)
                shown = begin + 1 if served.wrong_range else begin
                self.send_header("Content-Range", f"bytes {shown}-{len(served.body) - 1}/{len(served.body)}")
                return begin

        class Quiet(ThreadingHTTPServer):
            def handle_error(self, *_args: object) -> None:
                """Ignore clients that hang up, as these tests do."""

        self.files = files
        self.http = Quiet(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.http.server_port}"
        self.thread = threading.Thread(target=self.http.serve_forever, args=(0.01,))
        self.thread.start()

    def serve(self, path: str, body: bytes, **treatment: object) -> Served:
        self.files[path] = Served(body, **treatment)  # type: ignore[arg-type]
        return self.files[path]

    def close(self) -> None:
        self.http.shutdown()
        self.thread.join()
        self.http.server_close()
