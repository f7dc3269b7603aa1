#!/usr/bin/env python3
"""Checks which folder includes which: each has its rule, arrows never form a circle, no folder is a heap, and few sources are tiny.

Usage: include_rules.py [--counts]    --counts: prints how many modules, layers and arrows each program has, as docs/tree.md
must have it"""

import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]

# Folder -> the folders of ours that its sources include. What a rule allows and nobody uses goes from it.
RULES = {
    "cli": "ipc/base ipc/types",
    "cli/picture": "cli",
    "cli/self_test": "cli ipc/base seccomp",
    "ipc/api": "ipc/base ipc/codec ipc/schema ipc/types",
    "ipc/base": "",
    "ipc/binder": "ipc/base ipc/gate ipc/types",
    "ipc/codec": "ipc/base ipc/gate ipc/schema ipc/types",
    "ipc/gate": "ipc/base ipc/types",
    "ipc/socket": "ipc/base",
    "ipc/types": "ipc/base",
    "netd": "cli netd/roles netd/self_test seccomp",
    "netd/base": "ipc/socket rootless seccomp",
    "netd/dra": "ipc/api ipc/base ipc/schema ipc/socket netd/base netd/dra/api netd/dra/claims netd/dra/slices",
    "netd/dra/api": "ipc/api ipc/base ipc/socket netd/base",
    "netd/dra/claims": "ipc/api ipc/base ipc/types netd/dra/api",
    "netd/dra/slices": "ipc/api ipc/base netd/dra/api netd/dra/claims",
    "netd/roles": "cli ipc/base netd/base netd/dra netd/dra/api netd/dra/slices netd/metrics rootless seccomp",
    "netd/self_test": "cli/self_test ipc/schema ipc/socket netd/roles seccomp",
    "netd/metrics": "ipc/base ipc/schema ipc/socket netd/base rootless",
    "plugind": "cli plugind/cli plugind/config plugind/loop plugind/self_test seccomp",
    "plugind/base": "ipc/base ipc/socket plugind/core rootless seccomp",
    "plugind/checkpoint": "ipc/base plugind/core plugind/core/ledger/state proto",
    "plugind/cli": "cli cli/picture ipc/base ipc/types plugind/control seccomp",
    "plugind/config": "ipc/base ipc/types plugind/config/words plugind/core plugind/core/resource",
    "plugind/config/words": "ipc/base",
    "plugind/core": "ipc/base ipc/types",
    "plugind/core/dra": (
        "ipc/api ipc/base ipc/types plugind/core plugind/core/ledger/frames plugind/core/ledger/rows "
        "plugind/core/ledger/state"),
    "plugind/core/ledger": (
        "plugind/core plugind/core/ledger/frames plugind/core/ledger/rows plugind/core/ledger/state "
        "plugind/core/resource"),
    "plugind/core/ledger/frames": "plugind/core/ledger/state plugind/core/resource",
    "plugind/core/ledger/rows": (
        "plugind/core plugind/core/ledger/frames plugind/core/ledger/state plugind/core/resource"),
    "plugind/core/ledger/state": "ipc/api ipc/base ipc/types plugind/core plugind/core/resource",
    "plugind/core/resource": "ipc/base ipc/types plugind/core",
    "plugind/core/status": (
        "ipc/base ipc/types plugind/core plugind/core/dra plugind/core/ledger plugind/core/ledger/frames "
        "plugind/core/ledger/state plugind/core/resource"),
    "plugind/control": (
        "ipc/base ipc/codec ipc/schema ipc/socket ipc/types plugind/base plugind/core/status plugind/dra/api"),
    "plugind/dra": (
        "plugind/base plugind/dra/api plugind/dra/claims plugind/dra/pool plugind/dra/serve plugind/privd/link"),
    "plugind/dra/api": "ipc/api ipc/schema plugind/base",
    "plugind/dra/claims": (
        "ipc/base ipc/types plugind/base plugind/core plugind/core/dra plugind/core/ledger/state plugind/dra/api "
        "plugind/kubelet plugind/privd/link"),
    "plugind/dra/pool": (
        "ipc/api ipc/types plugind/base plugind/core/dra plugind/core/resource plugind/dra/api plugind/dra/claims"),
    "plugind/dra/serve": (
        "plugind/base plugind/core/dra plugind/core/status plugind/dra/claims plugind/dra/pool plugind/kubelet "
        "plugind/rpc proto"),
    "plugind/kubelet": (
        "ipc/base ipc/socket plugind/base plugind/core plugind/core/ledger/state plugind/core/resource "
        "plugind/core/status plugind/rpc proto"),
    "plugind/loop": (
        "cli ipc/base plugind/base plugind/checkpoint plugind/cli plugind/config plugind/core plugind/core/ledger "
        "plugind/core/ledger/frames plugind/core/ledger/state plugind/core/resource plugind/core/status "
        "plugind/control plugind/dra plugind/dra/claims plugind/kubelet plugind/metrics plugind/privd "
        "plugind/privd/link rootless seccomp"),
    "plugind/metrics": "ipc/types plugind/core plugind/core/ledger/state plugind/core/status rootless",
    "plugind/privd": (
        "ipc/base ipc/binder ipc/codec ipc/gate ipc/schema ipc/types plugind/base plugind/core "
        "plugind/core/resource plugind/core/status plugind/kubelet"),
    "plugind/privd/link": (
        "ipc/base ipc/binder ipc/codec ipc/gate ipc/socket plugind/base plugind/core plugind/core/resource plugind/privd"),
    "plugind/rpc": "",
    "plugind/self_test": (
        "cli/self_test ipc/codec ipc/gate ipc/schema ipc/socket ipc/types plugind/cli plugind/config plugind/loop "
        "proto seccomp"),
    "privd": "ipc/base privd/base privd/options privd/start seccomp",
    "privd/audit": "ipc/base ipc/types privd/base",
    "privd/base": "ipc/base seccomp",
    "privd/bind": (
        "ipc/base ipc/types privd/audit privd/base privd/bind/plan privd/gate privd/options privd/scan "
        "privd/state privd/writer"),
    "privd/bind/plan": "ipc/base ipc/types privd/state",
    "privd/binder": (
        "ipc/base ipc/binder ipc/gate ipc/types privd/audit privd/base privd/bind privd/gate privd/loop privd/options "
        "privd/sandbox privd/scan privd/state privd/writer seccomp"),
    "privd/cdi": "ipc/base ipc/gate ipc/types privd/base",
    "privd/cli": (
        "cli cli/picture ipc/base ipc/types privd/base privd/cli/base privd/cli/binding privd/cli/doctor privd/cli/list "
        "privd/cli/policy privd/scan privd/state seccomp"),
    "privd/cli/audit": "cli ipc/base ipc/types privd/audit privd/base privd/cli",
    "privd/cli/base": "cli ipc/base ipc/types privd/base privd/options privd/scan privd/state privd/writer",
    "privd/cli/binding": (
        "cli ipc/base ipc/types privd/audit privd/base privd/bind privd/bind/plan "
        "privd/cli/base privd/gate privd/options privd/scan privd/state"),
    "privd/cli/doctor": (
        "cli ipc/base ipc/types privd/bind/plan privd/cli/base privd/scan privd/state seccomp"),
    "privd/cli/doctor/checks": "cli ipc/base ipc/types privd/cli/base privd/cli/doctor",
    "privd/cli/list": "cli cli/picture privd/cli/base privd/scan",
    "privd/cli/top": "cli ipc/types privd/base privd/cli privd/cli/audit privd/cli/base privd/scan",
    "privd/cli/policy": (
        "cli cli/self_test ipc/base ipc/codec ipc/gate ipc/socket ipc/types privd/base privd/bind privd/bind/plan privd/cdi "
        "privd/binder privd/gate privd/hardware privd/iommufd privd/options privd/sandbox privd/scan privd/state seccomp"),
    "privd/gate": (
        "ipc/base ipc/gate ipc/socket privd/base privd/cdi privd/options privd/sandbox privd/state seccomp"),
    "privd/hardware": (
        "ipc/base ipc/codec ipc/schema ipc/socket ipc/types privd/base privd/loop privd/options privd/sandbox privd/scan "
        "seccomp"),
    "privd/iommufd": "ipc/base ipc/gate ipc/socket privd/base privd/options privd/sandbox seccomp",
    "privd/loop": "ipc/base ipc/gate ipc/socket ipc/types privd/base privd/options seccomp",
    "privd/options": "ipc/base ipc/types privd/bind/plan",
    "privd/sandbox": "ipc/base privd/base privd/options privd/scan seccomp",
    "privd/scan": "ipc/base ipc/types privd/base",
    "privd/start": "ipc/base ipc/gate privd/base privd/options",
    "privd/state": "ipc/base ipc/types privd/base",
    "privd/writer": "ipc/base ipc/types privd/base seccomp",
    "rootless": "ipc/base seccomp",
    "seccomp": "",
    "sim/base": "",
    "sim/base/command_listener": "ipc/base sim/sysfs/control",
    "sim/kubelet": "ipc/base proto sim/kubelet/base sim/kubelet/dra",
    "sim/kubelet/base": "proto",
    "sim/kubelet/dra": "proto sim/base sim/kubelet/base",
    "sim/kubelet_program": (
        "ipc/base sim/base sim/base/command_listener sim/kubelet sim/kubelet/base sim/kubelet/dra sim/sysfs/control "
        "sim/sysfs/topology"),
    "sim/node": "ipc/base sim/base sim/base/command_listener sim/kubelet sim/sysfs sim/sysfs/control",
    "sim/sysfs": "ipc/base sim/base sim/sysfs/control sim/sysfs/fuse sim/sysfs/kernel sim/sysfs/topology",
    "sim/sysfs/control": "ipc/base sim/sysfs/kernel",
    "sim/sysfs/files": "ipc/base sim/sysfs/kernel",
    "sim/sysfs/fuse": "ipc/base sim/sysfs/kernel",
    "sim/sysfs/kernel": "ipc/base sim/sysfs/topology",
    "sim/sysfs/topology": "ipc/base ipc/types",
}
# Folders without a rule each: a test may include anything, in no circle.
TESTS = ("tests",)

# Patterns for what is not ours. "<name>" is the standard library, "<name.h>" C and POSIX.
STD = r"<[a-z0-9_]+>"
POSIX = r"<(sys|linux|netinet|arpa|net)/[a-z0-9_/-]+\.h>|<[a-z0-9_]+\.h>"
KJ = r"<(kj|capnp)/[a-z0-9_/.+-]+>"
KJ_ALONE = r"<kj/[a-z0-9_/.+-]+>"  # no RPC
# Folder or file -> patterns; the longest that matches a file counts.
OTHERS = {
    "cli": [STD, POSIX, KJ_ALONE, r"<CLI/.*>", r"<nlohmann/.*>"],
    "ipc/api": [STD, KJ],
    "ipc/base": [STD],
    "ipc/binder": [STD],
    "ipc/codec": [STD, POSIX, KJ],
    "ipc/gate": [STD, POSIX, KJ],
    "ipc/socket": [STD, POSIX, KJ],
    "ipc/types": [STD],
    "netd": [STD, POSIX, KJ, r"<(CLI|prometheus)/.*>"],
    "netd/dra": [STD, POSIX, KJ, r"<nlohmann/.*>"],
    "netd/self_test": [STD, POSIX, KJ, r"<openssl/.*>"],
    "plugind": [STD, POSIX, KJ, r"<(absl|grpc|grpcpp|google|yaml-cpp|CLI|nlohmann|prometheus)/.*>"],
    "plugind/core": [STD],
    "privd": [STD, POSIX, KJ],
    "privd/binder": [STD, POSIX, KJ_ALONE],
    "privd/cli": [STD, POSIX, KJ, r"<CLI/.*>", r"<nlohmann/.*>"],
    "privd/cli/doctor/checks": [STD],
    "privd/loop": [STD, POSIX, KJ_ALONE],
    "privd/options": [STD, POSIX],
    "privd/start": [STD, POSIX, r"<kj/io\.h>"],
    "rootless": [STD, POSIX, r"<(kj|spdlog)/.*>"],
    "seccomp": [STD, POSIX],
    "seccomp/print_policy.cc": [STD, POSIX, r"<nlohmann/.*>"],
    "seccomp/print_profile.cc": [STD, POSIX, r"<nlohmann/.*>"],
    "seccomp/sanitizer_rules.h": [STD, POSIX, r"<sanitizer/.*>"],
    "seccomp/startup_rules.h": [STD, POSIX, r"<asm/prctl\.h>"],
    "sim": [r"<.*>"],
}
# What is made for one process only, in a folder of all.
ONLY_FOR = {"ipc/api": ("ipc/api", "netd", "plugind"), "rootless": ("netd", "plugind", "rootless")}

MOST_LOOSE = 28
# Folders with more sources than that. The list only shrinks.
HEAPS = {"tests/fuzz": 31}

# A source of so few lines is joined to the noun that it serves. Of those outside tests there are so many; the number only falls.
TINY = 30
MOST_TINY = 68


def folder_of(path: str) -> str:
    return path.rpartition("/")[0]


def sources(root: pathlib.Path = ROOT) -> dict[str, list[tuple[int, str]]]:
    """Path -> lines with their includes."""
    tops = sorted({rule.partition("/")[0] for rule in RULES} | set(TESTS))
    listed = subprocess.run(["git", "ls-files", "-co", "--exclude-standard", *tops], cwd=root,
                            capture_output=True, text=True, check=True).stdout.split()
    found = {}
    for path in listed:
        if path.endswith((".h", ".cc")) and (root / path).exists():
            text = (root / path).read_text().splitlines()
            found[path] = [(number, match.group(1)) for number, line in enumerate(text, 1)
                           if (match := re.match(r'\s*#\s*include\s+("[^"]+"|<[^>]+>)', line))]
    return found


def arrows_of(found: dict[str, list[tuple[int, str]]]) -> dict[str, set[str]]:
    """Folder -> the other folders that it includes."""
    arrows: dict[str, set[str]] = {folder_of(path): set() for path in found}
    for path, includes in found.items():
        for _, token in includes:
            if token[0] == '"' and folder_of(token[1:-1]) != folder_of(path):
                arrows[folder_of(path)].add(folder_of(token[1:-1]))
    return arrows


def peeled(arrows: dict[str, set[str]]) -> tuple[int, list[str]]:
    """Takes away what includes nothing more, layer after layer: how many there are, and what reaches itself and so stays."""
    left, layers = {folder: {one for one in ours if one in arrows} for folder, ours in arrows.items()}, 0
    while gone := {folder for folder, ours in left.items() if not ours}:
        left, layers = {folder: ours - gone for folder, ours in left.items() if folder not in gone}, layers + 1
    return layers, sorted(left)


def is_tests(folder: str) -> bool:
    return folder.partition("/")[0] in TESTS


def other_patterns(path: str) -> list[str]:
    best = max((one for one in OTHERS if path == one or path.startswith(one + "/")), key=len, default=None)
    return OTHERS.get(best, [])


def fault(path: str, token: str) -> str | None:
    if token[0] == "<":
        return None if any(re.fullmatch(p, token) for p in other_patterns(path)) else "is not for this folder"
    folder, included = folder_of(path), folder_of(token[1:-1])
    if included.startswith("privd/cli") and not folder.startswith("privd/cli"):  # no daemon's
        return "is the command line's"
    if included in ONLY_FOR and not folder.startswith(ONLY_FOR[included]):
        return "is not for this process"
    return None if included == folder or included in RULES[folder].split() else "is not for this folder"


def faults(found: dict[str, list[tuple[int, str]]]) -> list[str]:
    arrows, wrong = arrows_of(found), []
    for path, includes in found.items():
        if is_tests(path):
            continue
        if folder_of(path) not in RULES:
            wrong.append(f"{path}: its folder has no rule in tests/budget/include_rules.py")
            continue
        wrong += [f"{path}:{number}: {token} {why}" for number, token in includes if (why := fault(path, token))]
    wrong += [f"{folder}: nothing there includes {one}, its rule allows it" for folder, rule in RULES.items()
              for one in rule.split() if one not in arrows.get(folder, set())]
    if folders := peeled(arrows)[1]:
        wrong.append("these folders include each other, or lie between such: " + " ".join(folders))
    loose = {folder: sum(folder_of(path) == folder for path in found) for folder in arrows}
    wrong += [f"{folder}: {count} sources, at most {HEAPS.get(folder, MOST_LOOSE)}" for folder, count in loose.items()
              if count > HEAPS.get(folder, MOST_LOOSE)]
    return wrong + [f"{folder}: no heap any more, take it from the list" for folder in HEAPS if loose.get(folder, 0) <= MOST_LOOSE]


def tiny_faults(lines: list[int], most: int) -> list[str]:
    tiny = sum(count <= TINY for count in lines)
    if tiny > most:
        return [f"{tiny} sources of at most {TINY} lines, at most {most}: join each to the noun that it serves"]
    return [f"{tiny} sources of at most {TINY} lines: lower MOST_TINY to that"] if tiny < most else []


def line_counts(found: dict[str, list[tuple[int, str]]]) -> list[int]:
    return [len((ROOT / path).read_text().splitlines()) for path in found if not is_tests(path)]


def counts(found: dict[str, list[tuple[int, str]]]) -> str:
    lines = ["| sources below | modules | layers | arrows |", "|---|---|---|---|"]
    arrows = arrows_of(found)
    for top in sorted({folder.partition("/")[0] for folder in arrows}):
        own = {folder: {one for one in ours if one.partition("/")[0] == top} for folder, ours in arrows.items()
               if folder.partition("/")[0] == top}
        layers, stays = peeled(own)
        lines.append(f"| `{top}` | {len(own)} | {'a circle' if stays else layers} | {sum(map(len, own.values()))} |")
    return "\n".join(lines) + "\n"


def page_faults(page: str, table: str) -> list[str]:
    return [] if table in page else ["docs/tree.md: it has other figures than tests/budget/include_rules.py --counts prints"]


def check_the_checker() -> None:
    assert peeled({"a": {"b"}, "b": {"c"}, "c": {"b"}, "d": set()}) == (1, ["a", "b", "c"])
    assert peeled({"a": {"b"}, "b": {"c"}, "c": set()}) == (3, [])
    assert tiny_faults([30, 31], 0) and tiny_faults([30, 31], 2) and not tiny_faults([30, 31], 1)
    assert page_faults("a\n| 1 |\n", "| 2 |\n") and not page_faults("a\n| 2 |\n", "| 2 |\n")
    assert fault("ipc/base/hex.h", '"ipc/types/bdf.h"') == "is not for this folder"
    assert fault("plugind/core/ledger/ledger.h", "<unistd.h>") == "is not for this folder"
    assert fault("privd/hardware/feed.h", '"privd/cli/commands.h"') == "is the command line's"
    assert fault("privd/hardware/feed.h", '"ipc/api/api_claim.h"') == "is not for this process"


def main() -> int:
    check_the_checker()
    found = sources()
    if sys.argv[1:] == ["--counts"]:
        print(counts(found), end="")
        return 0
    wrong = faults(found) + tiny_faults(line_counts(found), MOST_TINY)
    wrong += page_faults((ROOT / "docs/tree.md").read_text(), counts(found))
    print("\n".join(wrong) if wrong else f"{len(found)} files in {len(arrows_of(found))} folders keep the include rules")
    return 1 if wrong or not found else 0


if __name__ == "__main__":
    sys.exit(main())
