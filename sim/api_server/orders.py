"""Faults on order, and the journal of requests: what a test tells the stand-in, and what it asks of it."""

import threading
import time


class Orders:
    """Each order is for the next `times` requests (1 unless told; below 0: all) that begin as `match` says."""

    KNOWN = {"match", "times", "status", "retryAfter", "body", "bodyBytes", "raw", "drop", "hang", "trickle"}

    def __init__(self):
        self.lock = threading.Lock()
        self.orders: list[dict] = []

    def add(self, orders: list[dict]) -> None:
        for order in orders:
            unknown = set(order) - self.KNOWN
            if unknown or "match" not in order or order.get("drop") not in (None, "before", "mid-body"):
                raise ValueError(f"not an order: {order} (known: {', '.join(sorted(self.KNOWN))})")
        with self.lock:
            self.orders += [dict(order, times=order.get("times", 1)) for order in orders]

    def clear(self) -> None:
        with self.lock:
            self.orders = []

    def take(self, method: str, path: str) -> dict | None:
        with self.lock:
            for order in self.orders:
                if order["times"] != 0 and f"{method} {path}".startswith(order["match"]):
                    order["times"] -= 1
                    return order
        return None


class Journal:
    MOST = 100_000

    def __init__(self):
        self.lock = threading.Lock()
        self.entries: list[dict] = []

    def add(self, method: str, path: str, agent: str, token: str, sent: int) -> dict:
        entry = {"method": method, "path": path, "status": 0, "userAgent": agent, "token": token, "bytes": sent,
                 "time": time.time()}
        with self.lock:
            if len(self.entries) < self.MOST:
                self.entries.append(entry)
        return entry

    def all(self) -> list[dict]:
        with self.lock:
            return [dict(entry) for entry in self.entries]

    def clear(self) -> None:
        with self.lock:
            self.entries = []
