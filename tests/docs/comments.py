#!/usr/bin/env python3
"""Counts public functions in headers that no comment speaks of, and holds each header to tests/docs/uncommented.tsv.

Usage: comments.py [--write]    --write: takes from the list what has its comments now; nothing is ever added by it

A comment speaks of what follows it up to the next blank line, so that one may stand above a group. What is overridden,
defaulted or deleted says nothing new, and neither do operators, destructors and macros. The list only shrinks: a header
with more than it says fails, and so does one with fewer until the list says so."""

import collections
import pathlib
import re
import subprocess
import sys

TREE = pathlib.Path(__file__).resolve().parents[2]
LIST = TREE / "tests/docs/uncommented.tsv"
FOLDERS = ("cli", "ipc", "netd", "plugind", "privd", "rootless", "seccomp")

SCOPE = re.compile(r"^\s*(?:template <.*>\s*)?(?:class|struct|enum class|union)\s+(\w+)[^;]*$")
FUNCTION = re.compile(r"^\s*(?:\[\[\w+\]\]\s*)?(?:[\w:<>,&*\s\[\]]+[\s&*])?([a-z]\w*)\(")
NO_FUNCTION = re.compile(r"^\s*(?:return|if|for|while|switch|else|case|using|typedef|friend|static_assert|namespace|do)\b|operator|~|= (?:default|delete)|\boverride\b|^\s*[:,?.|&}]")


def uncommented(text: str) -> list[str]:
    """Names of the public functions of a header without a comment, as often as they are declared."""
    found, commented, hidden, depths, depth = [], False, False, [], 0
    complete = True  # the line before ended what it said
    for line in text.splitlines():
        bare = line.strip()
        if not bare:
            commented = False
        elif bare.startswith(("//", "///")):
            commented = True
        elif bare in ("public:", "private:", "protected:"):
            hidden, commented = bare != "public:", False
        else:
            scope = SCOPE.match(line)
            inside = len(depths) and depth > depths[-1][0] + 1  # a body
            if not scope and complete and not commented and not hidden and not inside and not NO_FUNCTION.search(line):
                match = FUNCTION.match(line)
                if match and not bare.startswith(("#", "*")):
                    found.append(match.group(1))
            if scope and bare.endswith("{"):
                depths.append((depth, hidden))
                hidden = bare.startswith("class") or " class " in bare
                commented = False
            depth += line.count("{") - line.count("}")
            while depths and depth <= depths[-1][0]:
                hidden = depths.pop()[1]
            complete = bare.endswith((";", "{", "}", ">", "*/")) or bare.startswith("#")
    return found


def found_now() -> collections.Counter:
    listed = subprocess.run(["git", "ls-files", "-co", "--exclude-standard", *FOLDERS], cwd=TREE, capture_output=True, text=True,
                            check=True).stdout.split()
    return collections.Counter((path, name) for path in listed if path.endswith(".h") and (TREE / path).exists()
                               for name in uncommented((TREE / path).read_text()))


def allowed() -> collections.Counter:
    return collections.Counter(tuple(line.split("\t")) for line in LIST.read_text().splitlines())


def check_the_checker() -> None:
    header = """/// Both.
int one();
int two(int value,
        int other);

int three();
class A {
public:
  explicit A(int x) : x_(x) {}

  void four() override;
  /// Five.
  int five() const;

  int six() const;

private:
  void seven();
};
"""
    assert uncommented(header) == ["three", "six"], uncommented(header)


def main() -> int:
    check_the_checker()
    found, listed = found_now(), allowed()
    if sys.argv[1:] == ["--write"]:
        LIST.write_text("".join(f"{path}\t{name}\n" for path, name in sorted((found & listed).elements())))
        return 0
    wrong = [f"{path}: {name}() has no comment" for path, name in (found - listed).elements()]
    wrong += [f"{path}: {name}() has its comment, or is gone: run tests/docs/comments.py --write" for path, name in (listed - found).elements()]
    print("\n".join(wrong) if wrong else f"{found.total()} public functions without a comment, as listed")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
