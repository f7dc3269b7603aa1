"""Reads the text of an AppArmor profile of ours, and says what it allows on a path. Only the part of
the language that our profiles use is known; anything else is refused, so that no rule goes unseen."""

import dataclasses
import functools
import re


class Malformed(Exception):
    """The text is no profile as ours are."""


@dataclasses.dataclass(frozen=True)
class FileRule:
    pattern: str
    permissions: frozenset[str]
    line: int


@dataclasses.dataclass
class Profile:
    name: str = ""
    flags: str = ""
    files: list[FileRule] = dataclasses.field(default_factory=list)
    others: list[str] = dataclasses.field(default_factory=list)  # network, signal: as written, one space
    blocks: list[tuple[str, str]] = dataclasses.field(default_factory=list)  # comment above, first rule


FILE_RULE = re.compile(r"([/@]\S*) ([a-z]+),")
OTHER_RULE = re.compile(r"(?:network|signal) [^,()]*(?:\([a-z, ]+\)[^,()]*)*(?:\{[a-z,]+\})?,")
OPENING = re.compile(r"profile ([a-z-]+)(?: flags=\(([a-z_, ]+)\))? \{")
VARIABLE = re.compile(r"(@\{[a-z]+\})=(\S+)")
PERMISSIONS = set("rwmk")


def expand(text: str, variables: dict[str, str]) -> str:
    for name, value in variables.items():
        text = text.replace(name, value)
    if "@{" in text:
        raise Malformed(f"a variable that is not set: {text}")
    return text


def parse(text: str) -> Profile:
    profile = Profile()
    variables: dict[str, str] = {}
    comment: list[str] = []
    begun = ended = in_block = False
    for number, raw in enumerate(text.splitlines(), 1):
        line = raw.strip()
        if not line or (in_block and line.startswith("#")):
            comment, in_block = [], False
        if re.match(r"#\s*include\b", line):
            raise Malformed(f"line {number}: {line}")
        if line.startswith("#"):
            comment.append(line[1:].strip())
        elif not line:
            continue
        elif ended:
            raise Malformed(f"line {number}: after the profile's end: {line}")
        elif not begun:
            if set_here := VARIABLE.fullmatch(line):
                variables[set_here[1]] = expand(set_here[2], variables)
            elif opening := OPENING.fullmatch(line):
                profile.name, profile.flags, begun = opening[1], opening[2] or "", True
            elif line != "abi <abi/3.0>,":
                raise Malformed(f"line {number}: {line}")
        elif line == "}":
            ended = True
        else:
            add_rule(profile, line, number, variables)
            if not in_block:
                profile.blocks.append((" ".join(comment), line))
            in_block = True
    if not ended:
        raise Malformed("the profile has no end")
    return profile


def add_rule(profile: Profile, line: str, number: int, variables: dict[str, str]) -> None:
    if rule := FILE_RULE.fullmatch(line):
        permissions = rule[2]  # none of them may start a program
        if not set(permissions) <= PERMISSIONS:
            raise Malformed(f"line {number}: permissions '{rule[2]}': only {''.join(sorted(PERMISSIONS))} are known")
        pattern = expand(rule[1], variables)
        translate(pattern)
        profile.files.append(FileRule(pattern, frozenset(permissions), number))
    elif OTHER_RULE.fullmatch(line):
        profile.others.append(" ".join(line.split()))
    else:
        raise Malformed(f"line {number}: {line}")


@functools.cache
def translate(glob: str) -> re.Pattern[str]:
    """`*` is any run without '/', `**` any run; where one of them is all that stands behind a '/', it
    is at least one character. A class that is negated takes '/' as well."""
    out, depth, at = [], 0, 0
    while at < len(glob):
        char = glob[at]
        if char == "*":
            stars = len(glob) - at - len(glob[at:].lstrip("*"))
            if stars > 2:
                raise Malformed(f"three stars: {glob}")
            alone = glob[at - 1 : at] == "/" and glob[at + stars : at + stars + 1] in ("", "/")
            out.append("[^/]" if alone else "")
            out.append(".*" if stars == 2 else "[^/]*")
            at += stars
            continue
        if char == "[":
            end = glob.find("]", at + 2)
            if end < 0:
                raise Malformed(f"a class without an end: {glob}")
            out.append(glob[at : end + 1])
            at = end
        elif char == "{":
            out.append("(?:")
            depth += 1
        elif char == "}":
            out.append(")")
            depth -= 1
        elif char == "," and depth > 0:
            out.append("|")
        elif char in "\\^\"":
            raise Malformed(f"'{char}' is not known here: {glob}")
        else:
            out.append("[^/]" if char == "?" else re.escape(char))
        if depth < 0:
            break
        at += 1
    if depth != 0:
        raise Malformed(f"braces do not match: {glob}")
    return re.compile("".join(out), re.DOTALL)


def allowed(profile: Profile, path: str) -> set[str]:
    """What may be done with `path`, the letters of all rules that match it; of a directory the name
    ends in '/'."""
    found: set[str] = set()
    for rule in profile.files:
        if translate(rule.pattern).fullmatch(path):
            found |= rule.permissions
    return found
