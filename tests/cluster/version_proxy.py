"""A proxy before the node's API server behind which it serves one version of resource.k8s.io: who comes through it is held to that. All
else is passed on as it is, with whoever's token it came; what is refused is refused as an API server does that does not know it."""

import contextlib
import http.client
import http.server
import re
import socket
import ssl
import threading

from node import Node

VERSION = re.compile(r"/apis/resource\.k8s\.io/(v[a-z0-9]+)")
PASSED = ("Authorization", "Content-Type", "Accept", "User-Agent")
PIECE = 1 << 16


class Visit(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: "VersionProxy"

    def log_message(self, *_) -> None:
        pass

    def serve(self) -> None:
        proxy, body = self.server, self.rfile.read(int(self.headers.get("Content-Length", "0")))
        asked = VERSION.match(self.path)
        if asked and asked[1] != proxy.version:
            return self.answer(404, "text/plain", b"404 page not found\n")
        with proxy.lock:
            proxy.passed.append(f"{self.command} {self.path}")
        line = http.client.HTTPSConnection(proxy.behind, context=proxy.trust, timeout=900)
        try:
            headers = {name: self.headers[name] for name in PASSED if name in self.headers}
            line.request(self.command, self.path, body or None, headers)
            answer = line.getresponse()
            if answer.length is not None:
                return self.answer(answer.status, answer.headers.get("Content-Type", ""), answer.read())
            self.stream(answer, proxy.version)
        except (OSError, http.client.HTTPException):
            self.close_connection = True
        finally:
            line.close()
        return None

    def answer(self, status: int, form: str, body: bytes) -> None:
        self.send_response(status)
        self.send_header("Content-Type", form)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def stream(self, answer: http.client.HTTPResponse, version: str) -> None:
        """Of a watch, until one of both ends it or another version is served."""
        self.send_response(answer.status)
        self.send_header("Content-Type", answer.headers.get("Content-Type", ""))
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        with self.server.lock:
            self.server.streams.append(self)
        while piece := answer.read1(PIECE):
            if self.server.version != version:
                raise ConnectionError("another version is served")
            self.wfile.write(b"%x\r\n%s\r\n" % (len(piece), piece))
        self.wfile.write(b"0\r\n\r\n")

    do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = serve  # noqa: N815


class VersionProxy(http.server.ThreadingHTTPServer):
    """On 127.0.0.1, with the API server's certificate; `port` says where."""

    daemon_threads = True

    def __init__(self, node: Node, version: str):
        super().__init__(("127.0.0.1", 0), Visit)
        pki, api = node.directory / "pki", node.another_client()
        self.version, self.behind, self.trust = version, api.place, api.trust
        self.lock = threading.Lock()
        self.passed: list[str] = []  # "METHOD path" of what was not refused here
        self.streams: list[Visit] = []
        self.port = self.server_address[1]
        tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        tls.load_cert_chain(pki / "api.crt", pki / "api.key")
        self.socket = tls.wrap_socket(self.socket, server_side=True, do_handshake_on_connect=False)
        threading.Thread(target=self.serve_forever, daemon=True).start()

    def handle_error(self, *_) -> None:
        """Whoever hangs up does."""

    def upgrade(self, version: str) -> None:
        """As when an API server is replaced: it serves another version, and its watches end."""
        with self.lock:
            self.version, ended, self.streams = version, self.streams, []
        for visit in ended:
            with contextlib.suppress(OSError):  # it has ended by itself
                visit.connection.shutdown(socket.SHUT_RDWR)

    def close(self) -> None:
        self.shutdown()
        self.server_close()

    def requests(self) -> list[str]:
        with self.lock:
            return list(self.passed)
