"""The node's API server, over HTTPS, as its administrator. A kubectl for each question would cost more than the answer."""

import http.client
import json
import pathlib
import ssl
import urllib.parse

import yaml

JSON, MERGE = "application/json", "application/merge-patch+json"


class Refused(Exception):
    """The API server's answer is an error."""

    def __init__(self, code: int, said: dict):
        super().__init__(f"{code}: {said.get('message', said)}")
        self.code, self.said = code, said


class ApiClient:
    """Of one thread. Raises OSError while there is no API server."""

    def __init__(self, kubeconfig: pathlib.Path):
        known = yaml.safe_load(kubeconfig.read_text())
        cluster, user = known["clusters"][0]["cluster"], known["users"][0]["user"]
        self.place = urllib.parse.urlsplit(cluster["server"]).netloc
        self.trust = ssl.create_default_context(cafile=cluster["certificate-authority"])
        self.token = user["token"]
        self.line: http.client.HTTPSConnection | None = None

    def ask(self, method: str, path: str, body: dict | None = None, form: str = JSON) -> dict:
        sent = None if body is None else json.dumps(body)
        headers = {"Authorization": f"Bearer {self.token}", "Content-Type": form, "Accept": JSON}
        for last in (False, True):
            fresh = self.line is None
            self.line = self.line or http.client.HTTPSConnection(self.place, context=self.trust, timeout=30)
            try:
                self.line.request(method, path, sent, headers)
                answer = self.line.getresponse()
                code, text = answer.status, answer.read()
                break
            except (OSError, http.client.HTTPException) as failure:
                self.line.close()
                self.line = None
                if fresh or last:  # else the server has ended a connection that was idle
                    raise failure if isinstance(failure, OSError) else ConnectionError(repr(failure)) from failure
        said = json.loads(text) if text.startswith(b"{") else {"message": text.decode(errors="replace")}
        if code >= 400:
            raise Refused(code, said)
        return said

    def get(self, path: str) -> dict | None:
        """None: there is no such object."""
        try:
            return self.ask("GET", path)
        except Refused as answer:
            if answer.code == 404:
                return None
            raise

    def items(self, path: str) -> list[dict]:
        return self.ask("GET", path)["items"]

    def create(self, path: str, thing: dict) -> dict:
        return self.ask("POST", path, thing)

    def change(self, path: str, change: dict) -> dict:
        return self.ask("PATCH", path, change, MERGE)

    def delete(self, path: str, grace: int | None = None) -> None:
        """Nothing is done where there is nothing."""
        options = {"kind": "DeleteOptions", "apiVersion": "v1"} | ({} if grace is None else {"gracePeriodSeconds": grace})
        try:
            self.ask("DELETE", path, options)
        except Refused as answer:
            if answer.code != 404:
                raise
