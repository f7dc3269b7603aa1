"""Waiting for something to become true, and how long that took."""

import time


class TooLong(AssertionError):
    """What was waited for did not come."""


def wait_for(what: str, holds, seconds: float, every: float = 0.1):
    """What `holds` returned when it first was true. Fails, and says what was waited for and what was seen last."""
    until = time.monotonic() + seconds
    while True:
        seen = holds()
        if seen:
            return seen
        if time.monotonic() > until:
            raise TooLong(f"not within {seconds:g} s: {what}; last seen: {seen!r}")
        time.sleep(every)


def seconds_until(what: str, holds, seconds: float, every: float = 0.1) -> float:
    """How long it took until `holds` was true."""
    began = time.monotonic()
    wait_for(what, holds, seconds, every)
    return time.monotonic() - began


def holds_for(what: str, holds, seconds: float, every: float = 0.5) -> None:
    """Fails as soon as `holds` is not true within so many seconds."""
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        if not holds():
            raise AssertionError(f"it did not last {seconds:g} s: {what}")
        time.sleep(every)
