#!/usr/bin/env python3
"""Makes the Debian package of privd, the command and its processes, from the built programs. The same programs give the same bytes."""

import argparse
import gzip
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import time

import manuals

HERE = pathlib.Path(__file__).resolve().parent
TREE = HERE.parents[1]
sys.path.insert(0, str(TREE / "deploy/image"))
import build_info  # noqa: E402  the image's programs are stripped and dated in the same way
import root_files  # noqa: E402
import sbom  # noqa: E402
import target  # noqa: E402

NAME = "vfiogate-privd"
# The command, whose manuals and completion there are; what its `serve` becomes; what that starts, and the units do.
ROLES = ("privd-hardware", "privd-gate", "privd-binder", "privd-iommufd")
PROGRAMS = ("privd", "privd-daemon", *ROLES)
MAINTAINER = "vfiogate maintainers <maintainers@vfiogate.invalid>"
DESCRIPTION = """sees PCI devices and hands them to virtual machines
 privd lists IOMMU groups and PCI devices, says why each can or cannot be
 passed through, examines the host for what stands in the way, and gives
 devices to VFIO and back. What it runs in the background is up to three
 processes, each behind a filter of system calls of its own: one reads the
 hardware and is not root; the two that are root have no capability. A
 fourth, for KubeVirt's launchers alone, runs only where it is enabled."""
# Wanted from the first boot on: where nothing is declared it does nothing.
EARLY_LINK = "usr/lib/systemd/system/sysinit.target.wants/vfiogate-privd-early.service"
BILL = f"usr/share/sbom/{NAME}.spdx.json"
UNITS = tuple(role.replace("privd", NAME.removesuffix("-privd")) + ".service" for role in ROLES)
# needrestart looks for a file of the unit's name.
NEEDRESTART = tuple(f"etc/needrestart/restart.d/{unit}" for unit in UNITS)
CONFFILES = ("etc/vfiogate/privd.conf", *NEEDRESTART)
# What Debian looks for in another place than `cmake --install` puts it.
MOVED = {"usr/share/zsh/site-functions/_privd": "usr/share/zsh/vendor-completions/_privd"}
SCRIPTS = ("postinst", "prerm", "postrm")
# What Debian alone has, beside what `cmake --install` puts there.
INSTALLED = {
    "lintian-overrides": f"usr/share/lintian/overrides/{NAME}",
    "copyright": f"usr/share/doc/{NAME}/copyright",
}


def run(*command, **others) -> str:
    return subprocess.run([str(word) for word in command], check=True, capture_output=True, text=True, **others).stdout


def put(root: pathlib.Path, name: str, content: bytes, mode: int = 0o644) -> pathlib.Path:
    path = root / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
    path.chmod(mode)
    return path


def packed(text: str) -> bytes:
    return gzip.compress(text.encode(), 9, mtime=0)


def add_manuals(root: pathlib.Path, program: pathlib.Path, version: str) -> None:
    for title, text in manuals.pages(program, version).items():
        put(root, f"usr/share/man/man1/{title}.1.gz", packed(text))
    (root / "usr/share/man/man1/privd-daemon.1.gz").symlink_to("privd-serve.1.gz")
    for role in ROLES:
        for title, text in manuals.pages(program.with_name(role), version).items():
            put(root, f"usr/share/man/man1/{title}.1.gz", packed(text))


def install(root: pathlib.Path, build_folder: pathlib.Path) -> None:
    """Programs, units, their configuration and completions, by the build's own list: its programs run, for what they say."""
    for component in ("tool", "daemon"):
        run("cmake", "--install", build_folder, "--component", component, "--prefix", "/usr", env=os.environ | {"DESTDIR": str(root)})
    for there, wanted in MOVED.items():
        (root / wanted).parent.mkdir(parents=True)
        (root / there).rename(root / wanted)
        (root / there).parent.rmdir()


def libraries(programs: list[pathlib.Path]) -> str:
    """The packages that they are linked to, with the versions whose symbols they use."""
    with tempfile.TemporaryDirectory() as place:
        put(pathlib.Path(place), "debian/control", f"Source: vfiogate\n\nPackage: {NAME}\nArchitecture: any\n".encode())
        said = run(*target.shlibdeps(place), "-O", *(f"-e{program}" for program in programs), cwd=place)
    return said.strip().removeprefix("shlibs:Depends=")


def changelog(version: str, epoch: int) -> str:
    date = time.strftime("%a, %d %b %Y %H:%M:%S +0000", time.gmtime(epoch))
    return f"vfiogate ({version}) unstable; urgency=medium\n\n  * Built from this version of the source tree.\n\n -- {MAINTAINER}  {date}\n"


def control(root: pathlib.Path, programs: list[pathlib.Path], version: str) -> str:
    kilobytes = sum(path.stat().st_size for path in root.rglob("*") if path.is_file()) // 1024
    fields = {
        "Package": NAME, "Source": "vfiogate", "Version": version, "Architecture": target.architecture(),
        "Maintainer": MAINTAINER, "Installed-Size": str(kilobytes), "Depends": libraries(programs),
        "Recommends": "pci.ids", "Section": "admin", "Priority": "optional", "Description": DESCRIPTION,
    }
    return "".join(f"{key}: {value}\n" for key, value in fields.items())


def shipped_files(root: pathlib.Path) -> dict[str, root_files.Entry]:
    plain = (path for path in root.rglob("*") if path.is_file() and not path.is_symlink())
    return {str(path.relative_to(root)): root_files.Entry(path.read_bytes()) for path in plain}


def build(wish: argparse.Namespace) -> None:
    target.use(wish.sysroot)
    texts = wish.texts or wish.programs
    built = [wish.programs / name for name in PROGRAMS]
    for program in built:
        if not program.exists():
            raise LookupError(f"{program} is not there: cmake --build --preset release, or --programs DIR")
    if not (texts.parent / "cmake_install.cmake").exists():
        raise LookupError(f"{texts.parent} is no build folder of CMake's: --programs is its bin")
    if wish.out.is_dir():
        raise IsADirectoryError(f"{wish.out} is a directory: --out names the file")
    for tool, package in (("cmake", "cmake"), ("help2man", "help2man"), ("dpkg-shlibdeps", "dpkg-dev"), ("strip", "binutils")):
        if not shutil.which(tool):
            raise LookupError(f"{tool} is not there: apt-get install {package}")
    epoch = build_info.epoch_of_tree()
    os.environ |= {"SOURCE_DATE_EPOCH": str(epoch), "LC_ALL": "C.UTF-8", "TZ": "UTC"}
    version = build_info.of(built).version
    with tempfile.TemporaryDirectory() as place:
        root = pathlib.Path(place, "root")
        install(root, texts.parent)
        installed = [put(root, f"usr/bin/{program.name}", root_files.stripped(program), 0o755) for program in built]
        for source, name in INSTALLED.items():
            put(root, name, (HERE / source).read_bytes())
        for name in NEEDRESTART:
            put(root, name, (HERE / "needrestart").read_bytes(), 0o755)
        link = root / EARLY_LINK
        link.parent.mkdir(parents=True)
        link.symlink_to("../vfiogate-privd-early.service")
        put(root, f"usr/share/doc/{NAME}/changelog.gz", packed(changelog(version, epoch)))
        add_manuals(root, root / "usr/bin/privd" if texts == wish.programs else texts / "privd", version)
        created = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(epoch))
        put(root, BILL, sbom.text_of(NAME, shipped_files(root), built, version, created))
        facts = control(root, installed, version)
        for script in SCRIPTS:
            put(root, f"DEBIAN/{script}", (HERE / script).read_bytes(), 0o755)
        put(root, "DEBIAN/control", facts.encode())
        put(root, "DEBIAN/conffiles", "".join(f"/{name}\n" for name in CONFFILES).encode())
        for directory in (root, *(path for path in root.rglob("*") if path.is_dir())):
            directory.chmod(0o755)
        run("dpkg-deb", "--root-owner-group", "-Zxz", "--threads-max=1", "--build", root, wish.out)
    print(f"{wish.out}: {NAME} {version}, {wish.out.stat().st_size / 1e6:.1f} MB")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--programs", type=pathlib.Path, default=TREE / "build/release/bin", metavar="DIR")
    parser.add_argument("--out", type=pathlib.Path, default=pathlib.Path(f"{NAME}.deb"), metavar="FILE")
    parser.add_argument("--sysroot", type=pathlib.Path, metavar="DIR", help="the programs are ARM64's, built against it (tests/arm64.sh)")
    parser.add_argument("--texts", type=pathlib.Path, metavar="DIR", help="programs of the same commit that run here, for manuals and completions; with --sysroot")
    try:
        build(parser.parse_args())
        return 0
    except subprocess.CalledProcessError as failure:
        print(f"build_package.py: {failure}\n{failure.stderr}", file=sys.stderr)
    except (LookupError, OSError) as failure:
        print(f"build_package.py: {failure}", file=sys.stderr)
    return 1


if __name__ == "__main__":
    sys.exit(main())
