#!/usr/bin/env python3
"""Stands for kubectl: answers from the JSON file that PLAYED_KUBECTL names, as a cluster with these nodes would. Keys: `pods`, the
list; `said`, by pod and command ("a status") what it prints, an object or a text; `refused`, what `get` or `exec` is refused with;
`ends`, by pod and command an exit code. Writes each call to the file's name with ".calls" behind it."""

import json
import os
import pathlib
import sys

PLAYED = pathlib.Path(os.environ["PLAYED_KUBECTL"])


def refuse(text: str) -> None:
    print(text, file=sys.stderr)
    sys.exit(1)


def main() -> None:
    played, words = json.loads(PLAYED.read_text()), sys.argv[1:]
    with PLAYED.with_suffix(".calls").open("a") as calls:
        calls.write(json.dumps(words) + "\n")
    act = next(word for word in words if word in ("get", "exec"))
    if act in played.get("refused", {}):
        refuse(played["refused"][act])
    if act == "get":
        print(json.dumps({"items": played["pods"]}))
        return
    key = f"{words[words.index('exec') + 1]} {words[words.index('--') + 2]}"
    if key not in played["said"]:
        refuse("plugind: no answer from /run/vfiogate/plugind/plugind.sock\ncommand terminated with exit code 1")
    said = played["said"][key]
    print(said if isinstance(said, str) else json.dumps(said))
    code = played.get("ends", {}).get(key, 0)
    if code:
        print(f"command terminated with exit code {code}", file=sys.stderr)
    sys.exit(code)


main()
