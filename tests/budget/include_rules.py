#!/usr/bin/env python3
"""Checks which layer includes which: arrows never point up or sideways (style: one-way flow)."""

import pathlib
import re
import subprocess
import sys

# Folder -> what its sources may include, as path prefixes of ours and as patterns of others.
# The longest folder that matches a file counts. "std" stands for headers without a folder or dot.
STD = r"<[a-z0-9_]+>"
POSIX = r"<(sys|linux|netinet|arpa|net)/[a-z0-9_/-]+\.h>|<[a-z0-9_]+\.h>"
KJ = r"<(kj|capnp)/[a-z0-9_/.+-]+>"
RULES = {
    "ipc/types": (["ipc/types"], [STD]),
    "ipc/socket": (["ipc/types", "ipc/socket"], [STD, POSIX, r"<kj/[a-z0-9_/.-]+>"]),
    "ipc/codec": (["ipc/types", "ipc/codec", "ipc/schema", "ipc/socket"], [STD, POSIX, KJ]),
    "seccomp": (["seccomp"], [STD, POSIX]),
    "seccomp/print_policy.cc": (["seccomp"], [STD, POSIX, r"<nlohmann/.*>"]),
    "seccomp/print_profile.cc": (["seccomp"], [STD, POSIX, r"<nlohmann/.*>"]),
    "seccomp/startup_rules.h": (["seccomp"], [STD, POSIX, r"<asm/prctl\.h>"]),
    "seccomp/sanitizer_rules.h": (["seccomp"], [STD, POSIX, r"<sanitizer/.*>"]),
    "privd": (["ipc", "seccomp", "privd"], [STD, POSIX, KJ]),
    "privd/main.cc": (["ipc", "seccomp", "privd"], [STD, POSIX, KJ, r"<CLI/.*>"]),
    "privd/serve_options.cc": (["privd/serve_options.h", "ipc/types"], [STD, POSIX, r"<CLI/.*>"]),
    "privd/binding_options.cc": (["privd/binding_options.h", "privd/bind"], [STD, POSIX, r"<CLI/.*>"]),
    "privd/cli": (["cli", "ipc", "seccomp", "privd"], [STD, POSIX, KJ, r"<CLI/.*>", r"<nlohmann/.*>"]),
    "privd/cli/doctor/checks": (["ipc/types", "privd/cli/doctor"], [STD]),
    "cli": (["cli", "ipc/types"], [STD, POSIX, r"<CLI/.*>"]),
    "netd": (["cli", "ipc", "seccomp", "netd"], [STD, POSIX, KJ, r"<(CLI|prometheus|spdlog)/.*>"]),
    "netd/dra": (["ipc", "netd", "plugind/api"], [STD, POSIX, KJ, r"<nlohmann/.*>"]),
    "plugind/core": (["ipc/types", "plugind/api", "plugind/core"], [STD]),
    "plugind": (["cli", "ipc", "seccomp", "plugind", "proto"],
                [STD, POSIX, KJ, r"<(absl|grpc|grpcpp|google|spdlog|yaml-cpp|CLI|nlohmann|prometheus)/.*>"]),
}
# The daemon never reaches into the command line's code.
DAEMON_EXCEPTIONS = {"privd/main.cc"}


def rule_for(path: str):
    best = max((f for f in RULES if path == f or path.startswith(f + "/")), key=len, default=None)
    return RULES.get(best)


def main() -> int:
    root = pathlib.Path(__file__).resolve().parents[2]
    listed = subprocess.run(["git", "ls-files", "-co", "--exclude-standard", "cli", "ipc", "seccomp",
                             "privd", "plugind", "netd"], cwd=root, capture_output=True, text=True, check=True)
    wrong, files = [], 0
    for path in listed.stdout.split():
        if not path.endswith((".h", ".cc")) or not (root / path).exists():
            continue
        rule = rule_for(path)
        if rule is None:
            wrong.append(f"{path}: in no layer that tests/budget/include_rules.py knows")
            continue
        files += 1
        ours, others = rule
        for number, line in enumerate((root / path).read_text().splitlines(), 1):
            match = re.match(r'\s*#\s*include\s+("([^"]+)"|<[^>]+>)', line)
            if not match:
                continue
            quoted, token = match.group(2), match.group(1)
            if quoted:
                allowed = any(quoted == p or quoted.startswith(p + "/") for p in ours)
                if quoted.startswith("privd/cli/") and not path.startswith("privd/cli/"):
                    allowed = path in DAEMON_EXCEPTIONS
            else:
                allowed = any(re.fullmatch(p, token) for p in others)
            if not allowed:
                wrong.append(f"{path}:{number}: {token} is not for this layer")
    print("\n".join(wrong) if wrong else f"{files} files keep the include rules")
    return 1 if wrong or files == 0 else 0


if __name__ == "__main__":
    sys.exit(main())
