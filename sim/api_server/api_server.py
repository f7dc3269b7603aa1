#!/usr/bin/env python3
"""A stand-in API server: what a DRA driver asks of Kubernetes (README.md). Prints its port as its first line; with TLS, the
one of the test's control, which is without, as its second."""

import argparse
import http.server
import json
import pathlib
import select
import socket
import ssl
import sys
import threading
import urllib.parse

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
from api import Api, WatchAsked, now, status_of, text_of  # noqa: E402
from rules import GATES  # noqa: E402
from store import Refused  # noqa: E402
from versions import VERSIONS, shown  # noqa: E402

MOST_BODY = 3 << 20  # the real server's limit


class Visit(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    server: "ApiServer"

    def setup(self) -> None:
        self.request.settimeout(300)
        if self.server.tls is not None:  # here, on the visitor's own thread
            self.request = self.server.tls.wrap_socket(self.request, server_side=True)
        super().setup()

    def log_message(self, *_) -> None:
        pass

    def body(self) -> bytes:
        if self.headers.get("Transfer-Encoding", "").lower() == "chunked":
            whole = b""
            while size := int(self.rfile.readline().split(b";")[0], 16):
                whole += self.rfile.read(size)
                self.rfile.readline()
            self.rfile.readline()
            return whole
        length = int(self.headers.get("Content-Length", "0"))
        if length > MOST_BODY:
            raise Refused(413, "RequestEntityTooLarge", "limit is 3145728")
        return self.rfile.read(length)

    def reply(self, status: int, answer, retry_after=None) -> None:
        self.send_bytes(status, json.dumps(answer, separators=(",", ":")).encode() + b"\n", retry_after)

    def send_bytes(self, status: int, body: bytes, retry_after=None) -> None:
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        if retry_after is not None:
            self.send_header("Retry-After", str(retry_after))
        self.end_headers()
        self.wfile.write(body)

    def serve(self) -> None:
        api, url = self.server.api, urllib.parse.urlsplit(self.path)
        if url.path.startswith("/_"):
            return self.control(url.path)
        token = self.headers.get("Authorization", "").removeprefix("Bearer ")
        entry = None
        try:
            body = self.body()
            entry = api.journal.add(self.command, self.path, self.headers.get("User-Agent", ""), token, len(body))
            if (order := api.orders.take(self.command, self.path)) and self.fault(order, entry):
                return None
            if not self.server.lets_in(token):
                raise Refused(401, "Unauthorized", "Unauthorized")
            query = {name: values[-1] for name, values in urllib.parse.parse_qs(url.query).items()}
            answer = api.answer(self.command, url.path, query, body, self.headers.get("Content-Type", ""),
                                "X-Every-Version" in self.headers)
            if isinstance(answer, WatchAsked):
                entry["status"] = 200
                return self.stream(answer)
            entry["status"] = 201 if self.command == "POST" else 200
            self.reply(entry["status"], answer)
        except Refused as refused:
            if entry is not None:
                entry["status"] = refused.code
            self.send_bytes(refused.code, text_of(refused))
        return None

    def stream(self, asked: WatchAsked) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        self.wfile.flush()
        end = now() + asked.seconds
        try:
            while not self.server.api.stopping.is_set():
                for event in asked.watch.take(min(1.0, max(0.0, end - now()))):
                    event["object"] = shown(event["object"], asked.version)
                    line = json.dumps(event, separators=(",", ":")).encode() + b"\n"
                    self.wfile.write(b"%x\r\n%s\r\n" % (len(line), line))
                if asked.watch.ended or now() >= end:
                    break
                if self.hung_up():
                    self.close_connection = True
                    return
            self.wfile.write(b"0\r\n\r\n")
        finally:
            self.server.api.store.forget(asked.watch)

    def hung_up(self) -> bool:
        if isinstance(self.connection, ssl.SSLSocket):
            return False  # cannot be peeked at; the next write tells
        readable, _, _ = select.select([self.connection], [], [], 0)
        return bool(readable) and self.connection.recv(1, socket.MSG_PEEK) == b""

    def fault(self, order: dict, entry: dict) -> bool:
        """True: the request has had its answer, or shall have none."""
        if "hang" in order:
            self.server.api.stopping.wait(order["hang"])
        if order.get("drop") == "before":
            return self.hang_up()
        if "raw" in order:
            self.wfile.write(order["raw"].encode("latin-1"))
            return self.hang_up()
        if not {"status", "body", "bodyBytes", "drop", "trickle"} & set(order):
            return False
        entry["status"] = order.get("status", 200)
        refused = Refused(entry["status"], "TooManyRequests" if entry["status"] == 429 else "InternalError", "by order")
        text = order.get("body", json.dumps(status_of(refused))).encode()
        if "bodyBytes" in order:
            text = b'"' + b"x" * (order["bodyBytes"] - 2) + b'"'
        if order.get("drop") == "mid-body":
            head = f"HTTP/1.1 {entry['status']} OK\r\nContent-Type: application/json\r\nContent-Length: {len(text)}\r\n\r\n"
            self.wfile.write(head.encode() + text[:len(text) // 2])
            return self.hang_up()
        if "trickle" in order:  # a byte at a time
            self.close_connection = True
            for byte in b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s" % (len(text), text):
                self.wfile.write(bytes([byte]))
                self.server.api.stopping.wait(order["trickle"])
            return True
        self.send_bytes(entry["status"], text, order.get("retryAfter"))
        return True

    def hang_up(self) -> bool:
        self.close_connection = True
        self.wfile.flush()
        return True

    def control(self, path: str) -> None:
        """For the test itself: no token, no journal."""
        api = self.server.api
        try:
            if self.command == "POST" and path == "/_control":
                self.reply(200, api.control(json.loads(self.body() or b"{}")))
            elif self.command == "GET" and path == "/_journal":
                self.reply(200, api.journal.all())
            elif self.command == "GET" and path == "/_pools":
                self.reply(200, api.pools())
            else:
                self.reply(404, {"message": "POST /_control, GET /_journal, GET /_pools"})
        except (ValueError, KeyError, TypeError) as error:
            self.reply(400, {"message": str(error)})
        except Refused as refused:
            self.reply(refused.code, status_of(refused))

    do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = serve  # noqa: N815


class ApiServer(http.server.ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 128

    def __init__(self, address: tuple[str, int], api: Api, tls: ssl.SSLContext | None, token_files: list[str]):
        super().__init__(address, Visit)
        self.api, self.tls, self.token_files = api, tls, token_files

    def lets_in(self, token: str) -> bool:
        """The files are read each time: a token that is replaced counts at once."""
        if not self.token_files:
            return True
        known = [pathlib.Path(name).read_text().strip() for name in self.token_files if pathlib.Path(name).exists()]
        return token != "" and token in known

    def handle_error(self, *_) -> None:
        """A visitor that hangs up or fails its handshake is part of many tests."""
        if not isinstance(sys.exc_info()[1], (OSError, ValueError)):
            super().handle_error(*_)


def make_server(arguments: list[str]) -> ApiServer:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--port", type=int, default=0, help="on 127.0.0.1; 0: any")
    options.add_argument("--tls", nargs=2, metavar=("CERT", "KEY"), help="serve TLS with this certificate (PEM)")
    options.add_argument("--token-file", action="append", default=[], metavar="FILE",
                         help="only bearers of what stands in one of these files are let in; read at each request")
    options.add_argument("--drop", default="", metavar="GATES", help=f"fields dropped in silence: {','.join(GATES)}")
    options.add_argument("--node", action="append", default=[], metavar="NAME", help="a Node that exists from the start")
    options.add_argument("--store", type=pathlib.Path, metavar="FILE", help="what is stored outlives the process in this file")
    options.add_argument("--serve", default="v1", metavar="VERSIONS", help=f"of resource.k8s.io: {','.join(VERSIONS)}")
    options.add_argument("--counters-beside", action="store_true", help="in the slice of their devices, as before 1.35")
    chosen = options.parse_args(arguments)
    dropped = set(filter(None, chosen.drop.split(",")))
    if unknown := dropped - set(GATES):
        options.error(f"--drop: unknown {', '.join(sorted(unknown))}")
    served = tuple(filter(None, chosen.serve.split(",")))
    if unknown := set(served) - set(VERSIONS):
        options.error(f"--serve: unknown {', '.join(sorted(unknown))}")
    tls = None
    if chosen.tls:
        tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        tls.load_cert_chain(*chosen.tls)
    return ApiServer(("127.0.0.1", chosen.port), Api(dropped, chosen.node, chosen.store, served, chosen.counters_beside), tls, chosen.token_file)


def main() -> None:
    server = make_server(sys.argv[1:])
    print(server.server_address[1], flush=True)
    if server.tls is not None:
        control = ApiServer(("127.0.0.1", 0), server.api, None, server.token_files)
        threading.Thread(target=control.serve_forever, daemon=True).start()
        print(control.server_address[1], flush=True)
    server.serve_forever()


if __name__ == "__main__":
    main()
