#!/usr/bin/env python3
"""Checks in the built programs themselves that they were compiled and linked as cmake/hardening.cmake says.

Usage: hardening.py BIN    BIN: the folder with the programs"""

import pathlib
import re
import subprocess
import sys
import tempfile
import typing

PROGRAMS = ("privd", "privd-daemon", "privd-hardware", "privd-gate", "privd-binder", "privd-iommufd", "plugind", "netd")
# What may neither be loaded by whom nor be in it: the libraries of the network and of large parsers.
NEVER_LOADED = {
    "privd-daemon": "grpc|protobuf|yaml|spdlog|prometheus|ssl|crypto|kj-http|kj-tls",
    "privd-hardware": "grpc|protobuf|yaml|spdlog|prometheus|ssl|crypto|kj-http|kj-tls",
    "privd-binder": "grpc|protobuf|yaml|spdlog|prometheus|ssl|crypto|capnp|kj-http|kj-tls",
    "privd-gate": "grpc|protobuf|yaml|spdlog|prometheus|ssl|crypto|capnp|kj-async|kj-http|kj-tls",
    "privd-iommufd": "grpc|protobuf|yaml|spdlog|prometheus|ssl|crypto|capnp|kj-async|kj-http|kj-tls",
    "netd": "grpc|protobuf|yaml",
}
# By library: what tells that code of it is in a program, and a program that has it.
CODE_OF = {
    "grpc": (r"\bgrpc_core::", "plugind"),
    "protobuf": (r"\bgoogle::protobuf::", "plugind"),
    "yaml": (r"\bYAML::", "plugind"),
    "spdlog": (r"\bspdlog::", "plugind"),
    "prometheus": (r"\bprometheus::", "netd"),
    "ssl": (r"\bSSL_CTX_new\b", "netd"),
    "crypto": (r"\bX509_\w+", "netd"),
    "capnp": (r"\bcapnp::_::", "privd-hardware"),
    "kj-async": (r"\bkj::EventLoop::", "privd-hardware"),
    "kj-http": (r"\bkj::HttpHeaders::", "netd"),
    "kj-tls": (r"\bkj::TlsContext::", "netd"),
}
# What may not be linked into whom: root's programs have no parser of options or of JSON, no doctor and no printer of tables.
OF_COMMAND = r"\bCLI::|\bnlohmann\b|vfiogate::(?:addCommands|profileAs\w+|policyAs\w+|runSelfTest|formatTable)\b"
NEVER_LINKED = {name: OF_COMMAND for name in ("privd-daemon", "privd-hardware", "privd-gate", "privd-binder", "privd-iommufd")}
# What a program has no need of: of each of privd-hardware's buffers the size is known where it is compiled, so that no call is left to check.
NEEDLESS: dict[str, list[str]] = {"privd-hardware": ["with fortified calls"]}


def said(*command: str | pathlib.Path) -> str:
    return subprocess.run([str(word) for word in command], check=True, capture_output=True, text=True).stdout


class Program:
    """What readelf says of it."""

    def __init__(self, path: pathlib.Path):
        self.header = said("readelf", "-hW", path)
        self.segments = re.findall(r"^  ([A-Z_]+) +(?:0x\S+ +){5}([RWE ]{3})", said("readelf", "-lW", path), re.MULTILINE)
        self.dynamic = said("readelf", "-dW", path)
        self.symbols = set(re.findall(r"\bUND (\w+)", said("readelf", "--dyn-syms", "-W", path)))
        start = re.search(r" \.text +PROGBITS +\S+ (\S+) (\S+)", said("readelf", "-SW", path))
        at, size = (int(number, 16) for number in start.groups())
        self.code = path.read_bytes()[at:at + size]

    def flags(self, segment: str) -> list[str]:
        return [flags for kind, flags in self.segments if kind == segment]


class Property(typing.NamedTuple):
    name: str
    holds: typing.Callable[[Program], bool]


PROPERTIES = (
    Property("position independent", lambda p: "DYN" in p.header and bool(re.search(r"Flags:.*\bPIE\b", p.dynamic))),
    Property("bound at start, so that relocations are read-only from then on",
             lambda p: bool(p.flags("GNU_RELRO")) and bool(re.search(r"\(FLAGS\).*BIND_NOW", p.dynamic))),
    Property("without executable stack", lambda p: p.flags("GNU_STACK") == ["RW "]),
    Property("without a segment that is writable and executable",
             lambda p: bool(p.flags("LOAD")) and not any("W" in f and "E" in f for f in p.flags("LOAD"))),
    Property("with code apart from what is only read", lambda p: sorted(p.flags("LOAD"))[:2] == ["R  ", "R  "]),
    Property("without relocations in its code", lambda p: "TEXTREL" not in p.dynamic),
    Property("with stack protector", lambda p: "__stack_chk_fail" in p.symbols),
    Property("with fortified calls", lambda p: any(re.fullmatch(r"__\w+_chk", s) and s != "__stack_chk_fail" for s in p.symbols)),
    Property("with marked targets of indirect jumps (endbr64)", lambda p: p.code.count(b"\xf3\x0f\x1e\xfa") > 100),
    Property("with checked containers", lambda p: any("glibcxx_assert_fail" in s for s in p.symbols)),
    Property("without library path of its own", lambda p: not re.search(r"R(UN)?PATH", p.dynamic)),
)


def faults(path: pathlib.Path) -> list[str]:
    program = Program(path)
    return [a.name for a in PROPERTIES if not a.holds(program)]


def check_the_checker() -> None:
    """A program that has none of it is found to have none of it."""
    with tempfile.TemporaryDirectory() as place:
        source, bad = pathlib.Path(place, "bad.c"), pathlib.Path(place, "bad")
        source.write_text('__asm__(".section .both,\\"awx\\"\\n.byte 0\\n.text\\n"); int main(void) { return 0; }\n')
        said("gcc", "-no-pie", "-fno-pie", "-fcf-protection=none", "-fno-stack-protector", "-Wl,-z,norelro", "-Wl,-z,lazy", "-Wl,-z,execstack",
             "-Wl,-z,noseparate-code", "-Wl,-rpath,/nowhere", source, "-o", bad)
        expected = [a.name for a in PROPERTIES if "relocations in its code" not in a.name]
        assert faults(bad) == expected, set(expected) ^ set(faults(bad))


def main() -> int:
    folder = pathlib.Path(sys.argv[1])
    check_the_checker()
    bad = False
    for name in PROGRAMS:
        needless = NEEDLESS.get(name, [])
        missing = [one for one in faults(folder / name) if one not in needless]
        for kind in (one for one in PROPERTIES if one.name not in needless):
            print(f"{name}: {'NOT ' if kind.name in missing else ''}{kind.name}")
        bad = bad or bool(missing)
    for name, libraries in NEVER_LOADED.items():
        loaded = [line.split()[0] for line in said("ldd", folder / name).splitlines() if re.search(libraries, line.split()[0])]
        print(f"{name}: loads {', '.join(loaded)}, which it must NOT" if loaded else f"{name}: loads none of {libraries}")
        inside = [library for library in libraries.split("|") if re.search(CODE_OF[library][0], said("nm", "-C", folder / name))]
        print(f"{name}: has code of {', '.join(inside)}, which it must NOT" if inside else f"{name}: has no code of them")
        bad = bad or bool(loaded or inside)
    for library, (code, program) in CODE_OF.items():
        assert re.search(code, said("nm", "-C", folder / program)), f"{program} is said to have code of {library}"
    for name, code in NEVER_LINKED.items():
        assert re.search(code, said("nm", "-C", folder / "privd")), "the command has it"
        linked = re.findall(code, said("nm", "-C", folder / name))
        print(f"{name}: has code of the command, which it must NOT: {linked[0]}" if linked else f"{name}: has no code of the command")
        bad = bad or bool(linked)
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
