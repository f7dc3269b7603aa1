#!/usr/bin/env python3
"""Refuses words of a private vocabulary in sources and documents, and says the field's own.

A word is added here as soon as nothing uses it any more, so that it does not come back. docs/adr and docs/results.md
say what was, and are not judged; neither are docs/changes.md and docs/tree.md, which name what was renamed."""

import pathlib
import re
import subprocess
import sys

TREE = pathlib.Path(__file__).resolve().parents[2]

# Pattern -> what is said instead. Of identifiers each part counts: ClaimDesk has "Desk".
EVERYWHERE = {
    r"desk(?!top)": "control service, handler, server",
    r"office": "service, binder",
    r"letterbox": "task queue",
    r"turnstile": "concurrency limit",
    r"nudge": "resend",
    r"\bbell": "broadcast",
    r"door": "handshake, listener, connector",
    r"flap_?rest": "hold-down",
    r"(?<![a-z])(?:lend(?:s|ing|ings|able)?|lent)(?![a-z])": "allocate, allocation",
    r"(?<![a-z])(?:a|an|the|one|two|no|each|every|next|first|second|last|later|same|fair|running) looks?(?! (?:up|for|like)\b)(?![\w-])":
        "reread (of sysfs), reconcile (with the kubelet's memory), poll",
    r"\b(?:reason|hint) to look\b": "reread, reconcile",
    r"\b(?:over|of|on) the line\b(?! (?:of|that|in|with)\b)|\bthe line's (?:words|schema|bounds)\b": "RPC, channel, connection",
    r"\boperator(?:s'|'s) holds?\b|\bh[eo]ld(?:s| it| them)* out of offer\b|\boperator-hold\b": "exclude, exclusion",
}
# Names in code: the words themselves are plain English.
TYPES = {
    r"(?-i:\blook(?!For[A-Z]|up)[A-Z]\w*|\b[a-z]\w*Look(?!up)\w*)|\b(?:struct|class) \w*Look(?!up)\w*": "reread..., reconcile..., find...",
    r"\b(?:struct|class) \w*Eyes\b": "...Reader",
    r"\b(?:struct|class) (?:(?:Operator|Kept|Group)Holds?|HeldGroups)\b|operatorHeld|tellHolds": "exclusion, allocation",

    r"\b(?:struct|class) (?:\w*Parts|Sides|Eyes|Bench)\b": "...Deps",
    r"\b(?:struct|class) Mention\b": "KubeletEntry",
    r"\b(?:struct|class) Calm\b": "FastPath",
}
# In the programs' own sources: elsewhere a witness is one, and a shell too.
PROGRAMS = ("cli/", "ipc/", "netd/", "plugind/", "privd/", "seccomp/")
IN_PROGRAMS = {
    r"\bwitness": "evidence, source",
    r"\bcalm": "fast path",
    r"\bthe (?:thin )?shell\b": "I/O layer, caller",
}
NOT_JUDGED = ("docs/adr/", "docs/results.md", "docs/changes.md", "docs/tree.md", "tests/docs/words.py", "tests/fuzz/corpus/", "tests/data/")
SUFFIXES = (".h", ".cc", ".capnp", ".proto", ".py", ".sh", ".cmake", ".txt", ".md", ".yaml", ".json", ".toml")


def faults_in(path: str, text: str) -> list[str]:
    patterns = EVERYWHERE | (TYPES if path.endswith((".h", ".cc")) else {}) | (IN_PROGRAMS if path.startswith(PROGRAMS) else {})
    return [f"{path}:{number}: '{match.group()}': say {instead}" for number, line in enumerate(text.splitlines(), 1)
            for pattern, instead in patterns.items() if (match := re.search(pattern, line, re.IGNORECASE))]


def check_the_checker() -> None:
    assert faults_in("a.h", "class ClaimDesk {") and faults_in("a.md", "at the door") and faults_in("a.cc", "struct LoopParts {")
    assert faults_in("privd/a.h", "// the third witness") and not faults_in("tests/a.py", "the witness sees it")
    assert faults_in("a.md", "after a look, of the line.")
    assert faults_in("a.h", "void wantLook(Turn&);") and faults_in("a.h", "bool lookDue();")
    assert not faults_in("a.md", "looks up what the line of a file says; the command line") and not faults_in("a.h", "int lookup();")
    assert not faults_in("a.md", "a desktop, its parts, both sides") and not faults_in("a.h", "std::tm parts{};")


def main() -> int:
    check_the_checker()
    listed = subprocess.run(["git", "ls-files", "-co", "--exclude-standard"], cwd=TREE, capture_output=True, text=True, check=True)
    judged = [path for path in listed.stdout.split()
              if path.endswith(SUFFIXES) and not path.startswith(NOT_JUDGED) and (TREE / path).is_file()]
    wrong = [fault for path in judged for fault in faults_in(path, (TREE / path).read_text())]
    print("\n".join(wrong) if wrong else f"{len(judged)} files keep to the field's words")
    return 1 if wrong or not judged else 0


if __name__ == "__main__":
    sys.exit(main())
