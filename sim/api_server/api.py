"""What the stand-in API server answers, apart from HTTP: paths and verbs to the store."""

import copy
import json
import pathlib
import re
import threading
import time
import typing

import pools
import rules
import versions
from orders import Journal, Orders
from store import Refused, Store, Watch

GROUP = r"/apis/resource\.k8s\.io/(?P<version>v1[a-z0-9]*)"
DISCOVERY = re.compile(GROUP)
PATHS = [(re.compile(pattern), resource, kind) for pattern, resource, kind in (
    (r"/api/(?P<version>v1)/(?P<plural>nodes)(/(?P<name>[^/]+))?", "nodes", "Node"),
    (GROUP + r"/(?P<plural>resourceslices)(/(?P<name>[^/]+))?", "resourceslices", "ResourceSlice"),
    (GROUP + r"/(?P<plural>resourceclaims)", "resourceclaims", "ResourceClaim"),
    (GROUP + r"/namespaces/(?P<namespace>[^/]+)/(?P<plural>resourceclaims)(/(?P<name>[^/]+)(?P<status>/status)?)?",
     "resourceclaims", "ResourceClaim"))]
# As the real one: a selector for anything else is refused.
SELECTABLE = {"nodes": ("metadata.name",), "resourceslices": ("metadata.name", "spec.nodeName", "spec.driver"),
              "resourceclaims": ("metadata.name", "metadata.namespace")}


class Target(typing.NamedTuple):
    resource: str
    kind: str
    version: str  # that it is asked for as
    namespace: str | None
    name: str | None
    status: bool

    def stored_as(self) -> str:
        return "v1" if self.resource == "nodes" else f"{versions.GROUP}/v1"


class WatchAsked(typing.NamedTuple):
    watch: Watch
    seconds: float
    version: str


def target_of(path: str) -> Target:
    for pattern, resource, kind in PATHS:
        if match := pattern.fullmatch(path):
            said = match.groupdict()
            return Target(resource, kind, said["version"], said.get("namespace"), said.get("name"), bool(said.get("status")))
    raise Unserved()


class Unserved(Refused):
    """As the real one: of what it does not serve it knows no more than that."""

    def __init__(self):
        super().__init__(404, "", "404 page not found")


def selector_of(target: Target, text: str) -> dict[str, str]:
    selector = {}
    for term in filter(None, text.split(",")):
        path, _, value = term.partition("=")
        if path not in SELECTABLE[target.resource]:
            raise Refused(400, "BadRequest", f'field label not supported: {path}')
        selector[path] = value.removeprefix("=")
    return selector


def merged(old, patch):
    if not isinstance(patch, dict):
        return patch
    new = dict(old) if isinstance(old, dict) else {}
    for key, value in patch.items():
        if value is None:
            new.pop(key, None)
        else:
            new[key] = merged(new.get(key), value)
    return new


class Api:
    def __init__(self, dropped: set[str], node_names: list[str], kept_in: pathlib.Path | None = None,
                 served: tuple[str, ...] = ("v1",), beside: bool = False):
        self.store, self.orders, self.journal = Store(kept_in), Orders(), Journal()
        self.dropped, self.served, self.beside = dropped, served, beside
        self.stopping = threading.Event()
        for name in node_names:
            if ("", name) in self.store.objects.get("nodes", {}):
                continue
            self.store.create("nodes", "", {"kind": "Node", "apiVersion": "v1", "metadata": {"name": name}})

    def answer(self, method: str, path: str, query: dict[str, str], body: bytes, kind: str, every: bool) -> dict | WatchAsked:
        """`every`: the test itself asks, to which each version is served."""
        served = versions.VERSIONS if every else self.served
        if method == "GET" and (asked := DISCOVERY.fullmatch(path)) and asked["version"] in served:
            return versions.resources_of(asked["version"])
        target = target_of(path)
        if target.resource != "nodes" and target.version not in served:
            raise Unserved()
        answer = self._answer(method, target, query, body, kind)
        return versions.shown(answer, target.version) if isinstance(answer, dict) else answer

    def _answer(self, method: str, target: Target, query: dict[str, str], body: bytes, kind: str) -> dict | WatchAsked:
        if method == "GET":
            return self._read(target, query)
        sent = self._parsed(body) if body else {}
        if target.resource != "nodes" and method in ("POST", "PUT"):
            sent = versions.stored(sent, target.version)
        if method == "POST" and target.name is None:
            return self._created(target, sent)
        if method in ("PUT", "PATCH") and target.name is not None:
            if method == "PATCH" and not kind.startswith("application/merge-patch+json"):
                raise Refused(415, "UnsupportedMediaType", f"the stand-in takes application/merge-patch+json, not {kind}")
            return self._updated(target, sent, method == "PATCH")
        if method == "DELETE":
            return self._deleted(target, sent, query)
        raise Refused(405, "MethodNotAllowed", "the server does not allow this method on the requested resource")

    @staticmethod
    def _parsed(body: bytes) -> dict:
        try:
            parsed = json.loads(body)
        except ValueError as error:
            raise Refused(400, "BadRequest", f"the body is no JSON: {error}") from error
        if not isinstance(parsed, dict):
            raise Refused(400, "BadRequest", "the body is no object")
        return parsed

    def _read(self, target: Target, query: dict[str, str]) -> dict | WatchAsked:
        if target.name is not None:
            return self.store.get(target.resource, target.namespace or "", target.name)
        selector = selector_of(target, query.get("fieldSelector", ""))
        if query.get("watch") in ("1", "true"):
            since = query.get("resourceVersion", "")
            watch = self.store.watch(target.resource, target.namespace, selector, since)
            return WatchAsked(watch, float(query.get("timeoutSeconds", "1800")), target.version)
        items, version = self.store.list(target.resource, target.namespace, selector)
        metadata, begin = {"resourceVersion": version}, int(query.get("continue") or 0)
        end = begin + int(query["limit"]) if "limit" in query else len(items)
        if end < len(items):
            metadata["continue"] = str(end)
        return {"kind": target.kind + "List", "apiVersion": target.stored_as(), "metadata": metadata, "items": items[begin:end]}

    def _created(self, target: Target, sent: dict) -> dict:
        obj = {"kind": target.kind, "apiVersion": target.stored_as()} | sent
        if target.resource == "resourceslices":
            obj = rules.drop_gated(obj, self.dropped)
            rules.check_slice(obj, None, self.beside)
        return self.store.create(target.resource, target.namespace or "", obj)

    def _updated(self, target: Target, sent: dict, patch: bool) -> dict:
        def change(old: dict) -> dict:
            full = merged(old, sent) if patch else copy.deepcopy(sent)
            if target.resource == "resourceslices":
                stored = rules.drop_gated(full, self.dropped, old)
                rules.check_slice(stored, old, self.beside)
                return {"kind": target.kind, "apiVersion": target.stored_as()} | stored
            if target.status:
                # The status and nothing else; what is expected of the old one comes along.
                new = old | {"status": full.get("status") or {}}
                new["metadata"] = dict(old["metadata"], **{
                    field: full["metadata"][field] for field in ("uid", "resourceVersion") if field in full.get("metadata", {})})
                rules.check_claim_status(new, old)
                return new
            return full | {"status": old["status"]} if "status" in old else full

        if target.resource == "resourceslices" and not patch and not sent.get("metadata", {}).get("resourceVersion"):
            raise Refused(422, "Invalid", "metadata.resourceVersion: must be specified for an update")
        return self.store.update(target.resource, target.namespace or "", target.name, change)

    def _deleted(self, target: Target, sent: dict, query: dict[str, str]) -> dict:
        if target.name is None:
            selector = selector_of(target, query.get("fieldSelector", ""))
            items, version = self.store.list(target.resource, target.namespace, selector)
            for item in items:
                self.store.delete(target.resource, item["metadata"].get("namespace", ""), item["metadata"]["name"], {})
            return {"kind": target.kind + "List", "apiVersion": target.stored_as(), "metadata": {"resourceVersion": version},
                    "items": items}
        old = self.store.delete(target.resource, target.namespace or "", target.name, sent.get("preconditions") or {})
        return {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success",
                "details": {"name": target.name, "kind": target.resource, "uid": old["metadata"]["uid"]}}

    def control(self, order: dict) -> dict:
        known = {"fail", "expireWatches", "endWatches", "dropFields", "clearFaults", "clearJournal", "deallocate", "serve"}
        if unknown := set(order) - known:
            raise ValueError(f"not known: {', '.join(sorted(unknown))} (known: {', '.join(sorted(known))})")
        if order.get("clearFaults"):
            self.orders.clear()
        if order.get("clearJournal"):
            self.journal.clear()
        self.orders.add(order.get("fail", []))
        if "dropFields" in order:
            self.dropped = set(order["dropFields"])
        if "serve" in order:
            self.served = tuple(order["serve"])
        if order.get("expireWatches") or order.get("endWatches"):
            self.store.end_watches(bool(order.get("expireWatches")))
        if "deallocate" in order:
            namespace, _, name = order["deallocate"].partition("/")
            self.store.update("resourceclaims", namespace, name, lambda old: old | {"status": {}})
        return {}

    def pools(self) -> list[dict]:
        return pools.pools_of(self.store.list("resourceslices", None, {})[0])


def text_of(refused: Refused) -> bytes:
    if isinstance(refused, Unserved):
        return f"{refused}\n".encode()
    return json.dumps(status_of(refused), separators=(",", ":")).encode() + b"\n"


def status_of(refused: Refused) -> dict:
    return {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure", "code": refused.code,
            "reason": refused.reason, "message": refused.message,
            **({"details": {"causes": refused.causes}} if refused.causes else {})}


def now() -> float:
    return time.monotonic()
