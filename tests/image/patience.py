"""Waiting for something to become true."""

import time


def await_that(what: str, holds, seconds: float = 20):
    """What `holds` returned when it first was true. Fails, and says what was waited for and what was seen last."""
    until = time.monotonic() + seconds
    while True:
        seen = holds()
        if seen:
            return seen
        if time.monotonic() > until:
            raise AssertionError(f"not within {seconds} s: {what}; last seen: {seen!r}")
        time.sleep(0.02)
