"""The objects of the stand-in API server: versions, conflicts, watches. One lock, no HTTP."""

import copy
import pathlib
import pickle
import threading
import time
import uuid


class Refused(Exception):
    """An answer other than success: the code and reason of a Status."""

    def __init__(self, code: int, reason: str, message: str, causes: list[dict] | None = None):
        super().__init__(message)
        self.code, self.reason, self.message, self.causes = code, reason, message, causes or []


def field_of(obj: dict, path: str):
    for part in path.split("."):
        obj = obj.get(part) if isinstance(obj, dict) else None
    return obj


def selects(selector: dict[str, str], obj: dict | None) -> bool:
    return obj is not None and all((field_of(obj, path) or "") == value for path, value in selector.items())


class Watch:
    """What one watcher is still to be told; `ended` where nothing comes any more."""

    def __init__(self, store: "Store", resource: str, namespace: str | None, selector: dict[str, str]):
        self.store, self.resource, self.namespace, self.selector = store, resource, namespace, selector
        self.events: list[dict] = []
        self.ended = False

    def sees(self, obj: dict | None) -> bool:
        inside = obj is not None and self.namespace in (None, obj["metadata"].get("namespace"))
        return inside and selects(self.selector, obj)

    def tell(self, resource: str, old: dict | None, new: dict | None, at: str) -> None:
        if resource != self.resource or not (self.sees(old) or self.sees(new)):
            return
        if not self.sees(new):
            shown = copy.deepcopy(old)
            shown["metadata"]["resourceVersion"] = at
            self.events.append({"type": "DELETED", "object": shown})
        else:
            self.events.append({"type": "MODIFIED" if self.sees(old) else "ADDED", "object": copy.deepcopy(new)})

    def take(self, patience: float) -> list[dict]:
        """The next events; none after `patience` seconds or at the end."""
        with self.store.changed:
            self.store.changed.wait_for(lambda: self.events or self.ended, patience)
            taken, self.events = self.events, []
            return taken


class Store:
    def __init__(self, kept_in: pathlib.Path | None = None):
        self.kept_in = kept_in
        self.changed = threading.Condition()
        self.version = 1000
        self.oldest = 1000  # versions before this one are no longer known
        self.objects: dict[str, dict[tuple[str, str], dict]] = {}
        self.history: list[tuple[int, str, dict | None, dict | None]] = []
        self.watches: list[Watch] = []
        if kept_in is not None and kept_in.exists():
            self.version, self.objects = pickle.loads(kept_in.read_bytes())
            self.oldest = self.version  # the history went with the process

    def _commit(self, resource: str, key: tuple[str, str], old: dict | None, new: dict | None) -> None:
        self.version += 1
        table = self.objects.setdefault(resource, {})
        if new is None:
            del table[key]
        else:
            new["metadata"]["resourceVersion"] = str(self.version)
            table[key] = new
        self.history.append((self.version, resource, old, copy.deepcopy(new)))
        if self.kept_in is not None:
            fresh = self.kept_in.with_suffix(".new")
            fresh.write_bytes(pickle.dumps((self.version, self.objects)))
            fresh.replace(self.kept_in)
        for watch in self.watches:
            watch.tell(resource, old, new, str(self.version))
        self.changed.notify_all()

    def _found(self, resource: str, key: tuple[str, str]) -> dict:
        found = self.objects.get(resource, {}).get(key)
        if found is None:
            raise Refused(404, "NotFound", f'{resource} "{key[1]}" not found')
        return found

    def get(self, resource: str, namespace: str, name: str) -> dict:
        with self.changed:
            return copy.deepcopy(self._found(resource, (namespace, name)))

    def list(self, resource: str, namespace: str | None, selector: dict[str, str]) -> tuple[list[dict], str]:
        with self.changed:
            table = self.objects.get(resource, {})
            found = [copy.deepcopy(obj) for key, obj in sorted(table.items())
                     if namespace in (None, key[0]) and selects(selector, obj)]
            return found, str(self.version)

    def create(self, resource: str, namespace: str, obj: dict) -> dict:
        meta = obj.setdefault("metadata", {})
        with self.changed:
            if not meta.get("name") and meta.get("generateName"):
                meta["name"] = meta["generateName"] + uuid.uuid4().hex[:5]
            key = (namespace, meta.get("name", ""))
            if key in self.objects.get(resource, {}):
                raise Refused(409, "AlreadyExists", f'{resource} "{key[1]}" already exists')
            if meta.get("resourceVersion"):
                raise Refused(400, "BadRequest", "resourceVersion should not be set on objects to be created")
            meta["uid"] = meta.get("uid") if resource in ("nodes", "resourceclaims") and meta.get("uid") else str(uuid.uuid4())
            meta["creationTimestamp"] = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
            if namespace:
                meta["namespace"] = namespace
            self._commit(resource, key, None, obj)
            return copy.deepcopy(obj)

    def update(self, resource: str, namespace: str, name: str, change) -> dict:
        """`change(old)` gives the new object, with the uid and version that it expects in its metadata."""
        with self.changed:
            old = self._found(resource, (namespace, name))
            new = change(copy.deepcopy(old))
            self._check(resource, old, new.get("metadata", {}))
            kept = {field: old["metadata"][field] for field in ("uid", "creationTimestamp", "resourceVersion")}
            new.setdefault("metadata", {}).update(kept)
            if new == old:
                return copy.deepcopy(old)  # as the real one: nothing is written, the version stays
            self._commit(resource, (namespace, name), old, new)
            return copy.deepcopy(new)

    def delete(self, resource: str, namespace: str, name: str, preconditions: dict) -> dict:
        with self.changed:
            old = self._found(resource, (namespace, name))
            self._check(resource, old, preconditions)
            self._commit(resource, (namespace, name), old, None)
            return old

    @staticmethod
    def _check(resource: str, old: dict, expected: dict) -> None:
        for field in ("uid", "resourceVersion"):
            if expected.get(field) not in (None, "", old["metadata"][field]):
                raise Refused(409, "Conflict", f'{resource} "{old["metadata"]["name"]}": the {field} is '
                              f'{old["metadata"][field]}, not {expected[field]}: read it again')

    def watch(self, resource: str, namespace: str | None, selector: dict[str, str], since: str) -> Watch:
        with self.changed:
            watch = Watch(self, resource, namespace, selector)
            if since in ("", "0"):
                for _, obj in sorted(self.objects.get(resource, {}).items()):
                    watch.tell(resource, None, obj, str(self.version))
            else:
                if not since.isdigit() or int(since) < self.oldest:
                    raise Refused(410, "Expired", f"too old resource version: {since} ({self.oldest})")
                for at, of, old, new in self.history:
                    if at > int(since):
                        watch.tell(of, old, new, str(at))
            self.watches.append(watch)
            return watch

    def forget(self, watch: Watch) -> None:
        with self.changed:
            if watch in self.watches:
                self.watches.remove(watch)

    def end_watches(self, expired: bool) -> None:
        """Expired: earlier versions are unknown from now on, and each watcher is told so."""
        with self.changed:
            if expired:
                self.version += 1
                self.oldest = self.version
            for watch in self.watches:
                if expired:
                    watch.events.append({"type": "ERROR", "object": {
                        "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure", "code": 410,
                        "reason": "Expired", "message": "too old resource version"}})
                watch.ended = True
            self.changed.notify_all()
