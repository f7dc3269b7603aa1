"""plugind's configuration as plugind/config/config.proto has it, beside what the chart's schema lets through."""

import re

TOKEN = re.compile(
    r"(?P<open>message|enum|extend)\s+(?P<name>[\w.]+)\s*\{|(?P<close>\})"
    r"|(?:optional|repeated)\s+(?P<type>[\w.]+)\s+(?P<field>\w+)\s*=\s*\d+\s*(?P<options>\[[^\]]*\])?\s*;"
    r"|map<[^>]*>\s+(?P<map>\w+)\s*=\s*\d+\s*;"
    r"|(?P<value>[A-Z][A-Z_]*)\s*=\s*\d+\s*(?P<how>\[[^\]]*\])?\s*;"
)


def camel(name: str) -> str:
    first, *rest = name.split("_")
    return first + "".join(word.capitalize() for word in rest)


def built(proto: str) -> dict:
    """Message -> key -> its values, sorted, where it is an enum; else None."""
    text = re.sub(r"//[^\n]*", "", proto)
    messages, enums, stack = {}, {}, []
    for match in TOKEN.finditer(text):
        if match["open"]:
            stack.append(match["name"])
            if match["open"] == "enum":
                enums[match["name"]] = []
            else:
                messages.setdefault(match["name"], {})
        elif match["close"]:
            stack.pop()
        elif match["field"]:
            messages[stack[-1]][camel(match["field"])] = match["type"]
        elif match["map"]:
            messages[stack[-1]][match["map"]] = "map"
        elif match["value"]:
            spelling = re.search(r'spelling\) = "([^"]*)"', match["how"] or "")
            enums[stack[-1]].append(spelling[1] if spelling else match["value"].lower())
    return {
        message: {
            key: sorted(enums[kind]) if kind in enums else None
            for key, kind in keys.items()
        }
        for message, keys in messages.items()
    }


def allowed(schema: dict, definition: str) -> dict:
    """The same of a definition of the chart's schema."""

    def values(entry: dict):
        while "$ref" in entry or "else" in entry:
            entry = schema["definitions"][entry["$ref"].split("/")[-1]] if "$ref" in entry else entry["else"]
        return sorted(entry["enum"]) if "enum" in entry else None

    return {key: values(entry) for key, entry in schema["definitions"][definition]["properties"].items()}
