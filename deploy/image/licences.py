"""What Debian's machine-readable copyright files (DEP 5) say of a package's licences."""

import re

import packages

# Debian's short names, to SPDX's where the text is the same. One that is not here is told in words alone.
SPDX = {
    "apache-2.0": "Apache-2.0", "apache-2": "Apache-2.0", "asl-2.0": "Apache-2.0", "bsd-2-clause": "BSD-2-Clause",
    "bsd-3-clause": "BSD-3-Clause", "bsl-1.0": "BSL-1.0", "bsl-1": "BSL-1.0", "cc0": "CC0-1.0", "cc0-1.0": "CC0-1.0", "expat": "MIT", "mit": "MIT",
    "gpl-2": "GPL-2.0-only", "gpl-2+": "GPL-2.0-or-later", "gpl-3+": "GPL-3.0-or-later", "isc": "ISC",
    "lgpl-2.1": "LGPL-2.1-only", "lgpl-2.1+": "LGPL-2.1-or-later", "zlib": "Zlib",
}


def names_in(text: str) -> list[str]:
    """The licences that its paragraphs of files have; none for a file that is not machine-readable."""
    if not re.match(r"\s*Format(-Specification)?:", text):
        return []
    found = []
    for paragraph in re.split(r"\n\s*\n", text):
        if re.search(r"^Files:", paragraph, re.MULTILINE) and (match := re.search(r"^License: *(.+)$", paragraph, re.MULTILINE)):
            found.append(match[1].strip())
    return sorted(set(found))


def expression_of(names: list[str]) -> str:
    """SPDX's expression; NOASSERTION where one of the names is not SPDX's."""
    parts = []
    for name in names:
        words = re.split(r"\s+(or|and)\s+", name)
        known = [word if word in ("or", "and") else SPDX.get(word.lower()) for word in words]
        if None in known:
            return "NOASSERTION"
        text = " ".join(word.upper() if word in ("or", "and") else word for word in known)
        parts.append(f"({text})" if len(known) > 1 and len(names) > 1 else text)
    return " AND ".join(dict.fromkeys(parts)) or "NOASSERTION"


def of_package(package: str) -> tuple[str, str]:
    """As SPDX's expression, and as the copyright file says it."""
    path = packages.copyright_of(package)
    names = names_in(path.read_text(errors="replace"))
    place = f"/usr/share/doc/{packages.facts_of(package)['Package']}/copyright"
    said = f"{place} says: {'; '.join(names)}" if names else f"{place}, which is for people to read"
    return expression_of(names), said
