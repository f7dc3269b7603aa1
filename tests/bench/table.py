#!/usr/bin/env python3
"""Prints as one table what tests/bench/run.sh measured of one folder of programs.

usage: table.py DIRECTORY NUMBER: reads DIRECTORY/NUMBER-BENCH-ROUND, the benches' JSON. Of several rounds the median of
each figure counts, of the largest the largest."""

import json
import pathlib
import statistics
import sys

WIDTHS = (66, 10, 10, 8, 8)


def rounds_of(directory: pathlib.Path, number: str, bench: str) -> list:
    return [json.loads(path.read_text()) for path in sorted(directory.glob(f"{number}-{bench}-*"))]


def row(what: str, ours: str, baseline: str = "", ratio: str = "", goal: str = "") -> None:
    cells = (what, ours, baseline, ratio, goal)
    print("".join(f"{cell:<{width}}" if i == 0 else f"{cell:>{width}}" for i, (cell, width) in enumerate(zip(cells, WIDTHS))))


def over(rounds: list, index: int, kind: str, figure: str) -> float:
    pick = max if figure == "max_us" else statistics.median
    return pick(one[index][kind][figure] for one in rounds)


def calls(rounds: list, how: str) -> None:
    for index, first in enumerate(rounds[0]):
        count = sum(one[index]["allocate"]["calls"] for one in rounds)
        for figure, goal in (("p50_us", "2"), ("p99_us", "3"), ("max_us", "")):
            ours, empty, bare, relayed = (over(rounds, index, kind, figure) for kind in ("allocate", "empty", "bare", "relayed"))
            name = f"Allocate, {first['devices']} devices, {how}, {figure[:-3]} of {count}"
            row(f"{name}, µs / empty", f"{ours:,.0f}", f"{empty:,.0f}", f"{ours / empty:.2f}", goal)
            row("  the same / empty call to a bare server", f"{ours:,.0f}", f"{bare:,.0f}", f"{ours / bare:.2f}")
            row("  the same / bare, by way of two processes more", f"{ours:,.0f}", f"{relayed:,.0f}", f"{ours / relayed:.2f}")
            if first["peer"]["calls"]:
                peer = over(rounds, index, "peer", figure)
                row("  the same / NVIDIA's plugin", f"{ours:,.0f}", f"{peer:,.0f}", f"{ours / peer:.2f}", "1" if figure == "p50_us" else "")
        preferred(rounds, index)


def preferred(rounds: list, index: int) -> None:
    choice, empty = (over(rounds, index, kind, "p50_us") for kind in ("preferred", "empty"))
    row(f"GetPreferredAllocation, 8 of {rounds[0][index]['devices']}, p50, µs / empty", f"{choice:,.0f}", f"{empty:,.0f}", f"{choice / empty:.2f}", "3")


def few_calls(rounds: list, how: str) -> None:
    for index, node in enumerate(rounds[0]):
        count = sum(one[index]["allocate"]["calls"] for one in rounds)
        what = "Allocate" if node["per_call"] == 1 else f"Allocate of {node['per_call']}"
        for figure, goal in (("p50_us", "2"), ("p99_us", "3")):
            ours, empty = (over(rounds, index, kind, figure) for kind in ("allocate", "empty"))
            name = f"{what}, {node['devices']} devices, {how}, {figure[:-3]} of {count}, µs / empty"
            row(name, f"{ours:,.0f}", f"{empty:,.0f}", f"{ours / empty:.2f}", goal)
            if node["peer"]["calls"]:
                peer = over(rounds, index, "peer", figure)
                row("  the same / NVIDIA's plugin", f"{ours:,.0f}", f"{peer:,.0f}", f"{ours / peer:.2f}", "1" if figure == "p50_us" else "")


def idle(processes: list) -> None:
    (bare,) = (one for one in processes if one["program"] == "bare server")
    for one in processes:
        name = f"{one['program']}, {one['devices']} devices" if one["devices"] else one["program"]
        ours = one["program"] == "plugind"
        wakes = sum(one["wakes"].values()) / one["seconds"]
        row(f"{name}: threads", str(one["threads"]), goal="6" if ours else "")
        row("  wake-ups a second, idle", f"{wakes:.2f}")
        row("  % of a core, idle", f"{one['processor_ms'] / 10 / one['seconds']:.3f}", goal="" if one["program"] in ("peer", "bare server") else "0.02")
        for what, key, goal in (("resident", "rss_kib", "12"), ("private", "private_kib", "4"), ("share (PSS)", "pss_kib", "")):
            mine, next_to = one[key] / 1024, bare[key] / 1024
            if ours:
                row(f"  {what}, MB / bare server", f"{mine:.1f}", f"{next_to:.1f}", f"{mine / next_to:.2f}", goal)
            else:
                row(f"  {what}, MB", f"{mine:.1f}")
    for devices in sorted({one["devices"] for one in processes} - {bare["devices"]}):
        at = [one for one in processes if one["devices"] == devices]
        ours, peer = (sum(one["pss_kib"] for one in at if (one["program"] == "peer") == peer) / 1024 for peer in (False, True))
        ratio = f"{ours / peer:.2f}" if peer else ""
        row(f"all processes, {devices} devices: share, MB / NVIDIA's", f"{ours:.1f}", f"{peer:.1f}" if peer else "", ratio, "1")


def restarts(nodes: list) -> None:
    for node in nodes:
        for name, ours, peer in (("kubelet.sock is made", "kubelet", "peersKubelet"), ("plugind starts", "plugind", ""), ("all processes start", "all", "peer")):
            for figure in ("p50_us", "p99_us"):
                what, mine = f"{name}, {node['devices']} devices, {figure[:-3]}, ms", node[ours][figure] / 1000
                if peer and node[peer]["calls"]:
                    theirs = node[peer][figure] / 1000
                    row(what + " / NVIDIA's", f"{mine:.1f}", f"{theirs:.1f}", f"{mine / theirs:.2f}", "1" if ours == "all" else "")
                else:
                    row(what, f"{mine:.1f}")


def changes(node: dict, what: str, shown: str, heard: str, goal: str) -> None:
    for figure in ("p50_us", "p99_us"):
        mine, bare = node[shown][figure] / 1000, node[heard][figure] / 1000
        name = f"{what} shown, {node['devices']} devices, {figure[:-3]} of {node[shown]['calls']}, ms / netlink to recvmsg"
        row(name, f"{mine:.1f}", f"{bare:.3f}", f"{mine / bare:.0f}", goal if figure == "p99_us" else "")


def rest(directory: pathlib.Path, number: str) -> None:
    (nodes,) = rounds_of(directory, number, "restart")
    restarts(nodes)
    for (nodes,) in [rounds_of(directory, number, "discovery")]:
        for node in nodes:
            ours, bare = node["sweep_us_per_device"], node["bare_us_per_device"]
            changes(node, "a change", "shown", "heard", "5")
            changes(node, f"a burst of {node['burst_size']}", "burst_shown", "burst_heard", "")
            row("  frames until it is shown, at most", str(max(node["burst_frames"])), goal="5")
            after, before = node["resident_after_kib"] / 1024, node["resident_before_kib"] / 1024
            row("  plugind resident after them, MB / before", f"{after:.1f}", f"{before:.1f}", f"{after / before:.2f}")
            row(f"sweep, {node['devices']} devices, µs a device / bare read", f"{ours:,.0f}", f"{bare:,.0f}", f"{ours / bare:.2f}")


def main() -> None:
    directory, number = pathlib.Path(sys.argv[1]), sys.argv[2]
    row("", "ours", "next to", "ratio", "goal")
    calls(rounds_of(directory, number, "allocate"), "at once")
    calls(rounds_of(directory, number, "apart"), "apart")
    ((node,),) = rounds_of(directory, number, "refused")
    alone, beside = over(rounds_of(directory, number, "allocate"), -1, "allocate", "p50_us"), node["allocate"]["p50_us"]
    row(f"Allocate beside {node['refused_per_second']:,.0f} refused a second, p50, µs / alone", f"{beside:,.0f}", f"{alone:,.0f}", f"{beside / alone:.2f}", "2")
    few_calls(rounds_of(directory, number, "callers"), "8 callers at once")
    few_calls(rounds_of(directory, number, "each8"), "at once")
    large = rounds_of(directory, number, "large")
    few_calls(large, "at once")
    preferred(large, 0)
    (processes,) = rounds_of(directory, number, "idle")
    idle(processes)
    rest(directory, number)


if __name__ == "__main__":
    main()
