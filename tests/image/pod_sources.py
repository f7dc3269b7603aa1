"""The manifests of deploy/kubernetes that are run: the base, and what overlays make of it."""

import copy
import os
import pathlib
import subprocess
import sys

import yaml

TREE = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(TREE / "tests/deploy"))

import sources  # noqa: E402
import tools  # noqa: E402

Unavailable = tools.Unavailable
WITHOUT_KUBECTL = "VFIOGATE_POD_TEST_WITHOUT_KUBECTL"  # why; for the process in which the cases run
base = sources.base
of_kind = sources.of_kind


def config_maps(documents: list[dict]) -> dict[str, dict[str, str]]:
    return {document["metadata"]["name"]: document["data"] for document in of_kind("ConfigMap", documents)}


def configured(overlay: str) -> list[dict]:
    """The base with an overlay's configuration, of one that changes nothing else; needs no kubectl."""
    directory = sources.KUBERNETES / "overlays" / overlay
    kustomization = yaml.safe_load((directory / "kustomization.yaml").read_text())
    wanted = {"apiVersion", "kind", "resources", "patches"}
    patches = kustomization["patches"]
    if set(kustomization) != wanted or kustomization["resources"] != ["../../base"] or any(set(p) != {"path"} for p in patches):
        raise ValueError(f"{directory} changes more than a configuration: that takes kubectl")
    documents = copy.deepcopy(base())
    for patch in patches:
        change = yaml.safe_load((directory / patch["path"]).read_text())
        [config_map] = [one for one in of_kind("ConfigMap", documents) if one["metadata"]["name"] == change["metadata"]["name"]]
        config_map["data"] |= change["data"]
    return documents


def fetch_kubectl() -> None:
    """To be called where there is a network; the cases have none."""
    try:
        tools.tools()
    except Unavailable as reason:
        os.environ[WITHOUT_KUBECTL] = str(reason)


def kustomized(overlay: str) -> list[dict]:
    """Raises Unavailable where kubectl cannot be had."""
    if WITHOUT_KUBECTL in os.environ:
        raise Unavailable(os.environ[WITHOUT_KUBECTL])
    _, kubectl = tools.tools()
    command = [kubectl, "kustomize", sources.KUBERNETES / "overlays" / overlay]
    return sources.documents(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
