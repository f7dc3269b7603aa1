"""The names that operators search for, as the code says them."""

import pathlib
import re

TREE = pathlib.Path(__file__).resolve().parents[1]
SOURCES = ("privd", "plugind", "netd", "rootless", "ipc")
METRICS = ("plugind/metrics/ledger_metrics.cc", "plugind/metrics/status_gauges.cc", "netd/metrics/netd_counters.cc")


def read(name: str) -> str:
    return (TREE / name).read_text()


def said(text: str, pattern: str, begin: str = "") -> set[str]:
    """What the pattern's group finds, from `begin` on, up to the "unknown" that ends such a list."""
    return set(re.findall(pattern, text[text.index(begin):].partition('"unknown"')[0]))


def literals() -> set[str]:
    files = (file for folder in SOURCES for file in (TREE / folder).rglob("*") if file.suffix in (".cc", ".h"))
    return {word for file in files for word in re.findall(r'"([a-z][a-z_-]*)"', file.read_text())}


def metrics() -> list[tuple[str, str, str]]:
    """Name, type, and what it says of itself to Prometheus, in the code's order."""
    found = []
    for file in METRICS:
        for name, words in re.findall(r'"((?:vfiogate|process)_\w+)"\)?,?\s*(?:\.Help\()?\s*((?:"[^"]*"\s*)+)', read(file)):
            kind = "counter" if name.endswith("_total") else "histogram" if name.endswith("_duration_seconds") else "gauge"
            found.append((name, kind, "".join(re.findall(r'"([^"]*)"', words))))
    return found


def log_events() -> dict[str, set[str]]:
    """Of each program."""
    return {
        "privd": said(read("privd/base/log_line.cc"), r'Kind\{\S+ k\w+, "(\w+)"\}'),
        "plugind": said(read("plugind/base/log_events.h"), r'return "(\w+)";'),
        "netd": said(read("netd/base/log_line.cc"), r'LogLevel::\w+, "(\w+)"'),
    }


def registration_turns() -> set[str]:
    return said(read("plugind/core/status/registration.cc"), r'"([\w-]+)";', '"taken"')


def journal_events() -> set[str]:
    """Those that are named where they are made; others come from variables."""
    ledger = "".join(file.read_text() for file in sorted((TREE / "plugind/core/ledger").rglob("*.cc")))
    return said(ledger, r'(?:\.event = |journalEvent\([^;"]*)"([\w-]+)"')


def reason_codes() -> set[str]:
    """Why a device is not offered; those of refusals are made in many places."""
    hardware = said(read("ipc/types/viability.cc"), r'return "([\w-]+)";', '"passable"')
    catalog = said(read("plugind/core/resource/resource_catalog.cc"), r'LeftOut\{"([\w-]+)"')
    offers = said(read("plugind/core/status/offer_reason.cc"), r'return \{\s*"([\w-]+)"') - {"group-"}
    states = re.findall(r"case Holding::k\w+:\n +return \"(\w+)\";", read("plugind/core/ledger/ledger_view.cc").partition("refusalOf")[0])
    return hardware | catalog | offers | {f"group-{state}" for state in states if state != "free"}
