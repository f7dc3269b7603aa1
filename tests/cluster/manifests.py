"""The manifests as they are applied: those of deploy/kubernetes, and where hardware is simulated a kustomize patch around them
that puts it in the host's place. What that changes stands in README.md, and nowhere else is anything changed."""

import json
import os
import pathlib
import subprocess

import yaml

from hardware import TREE, Hardware

KUBERNETES, CHART = TREE / "deploy/kubernetes", TREE / "deploy/helm/vfiogate"
VOLUMES = "/spec/template/spec/volumes"


def shipped(name: str) -> pathlib.Path:
    """`base`, or the name of an overlay."""
    return KUBERNETES / (name if name == "base" else f"overlays/{name}")


def documents(name: str) -> list[dict]:
    """What kubectl makes of it."""
    done = subprocess.run(["kubectl", "kustomize", shipped(name)], check=True, capture_output=True, text=True)
    return [document for document in yaml.safe_load_all(done.stdout) if document]


def simulated(hardware: Hardware, host_network: bool = True) -> list[dict]:
    """In place of the host's sysfs and /dev; and its network namespace, into which the simulation sends its events."""
    change = [
        {"op": "test", "path": f"{VOLUMES}/0/name", "value": "sys"},
        {"op": "replace", "path": f"{VOLUMES}/0/hostPath/path", "value": str(hardware.sys)},
        {"op": "test", "path": f"{VOLUMES}/1/name", "value": "dev"},
        {"op": "replace", "path": f"{VOLUMES}/1/hostPath/path", "value": str(hardware.dev)},
    ]
    change += [{"op": "add", "path": "/spec/template/spec/hostNetwork", "value": True}] if host_network else []
    return [{"target": {"kind": "DaemonSet"}, "patch": json.dumps(change)}]


def configured(text: str, name: str = "vfiogate-default") -> dict:
    """A configuration of plugind in place of the manifests'."""
    return in_config("plugind.yaml", text, name)


def privd_options(text: str, name: str = "vfiogate-default") -> dict:
    """privd.conf in place of the manifests'."""
    return in_config("privd.conf", text, name)


def in_config(key: str, text: str, name: str) -> dict:
    config = {
        "apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, "namespace": "vfiogate"}, "data": {key: text},
    }
    return {"patch": json.dumps(config)}


# Their places in the pod; netd-dra's is the last. Where there is a binder those behind it are one further.
PLACES = {"privd-hardware": 0, "privd-gate": 1, "privd-binder": 2, "netd-dra": 4}


def arguments(name: str, *words: str) -> dict:
    """More arguments for a container of the pod."""
    container = PLACES[name]
    change = [{"op": "test", "path": f"/spec/template/spec/containers/{container}/name", "value": name}]
    change += [{"op": "add", "path": f"/spec/template/spec/containers/{container}/args/-", "value": word} for word in words]
    return {"target": {"kind": "DaemonSet"}, "patch": json.dumps(change)}


def overlay(place: pathlib.Path, resource: pathlib.Path, patches: list[dict], components: list[str] = ()) -> pathlib.Path:
    """A kustomization around another, or around a file beside it, in a directory that is made for it."""
    place.mkdir(parents=True)
    kustomization = {
        "apiVersion": "kustomize.config.k8s.io/v1beta1", "kind": "Kustomization",
        "resources": [os.path.relpath(resource, place.resolve()) if resource.is_dir() else resource.name],
        "components": [os.path.relpath(KUBERNETES / "components" / name, place.resolve()) for name in components],
        "patches": patches,
    }
    if resource.is_file():
        (place / resource.name).write_text(resource.read_text())
    (place / "kustomization.yaml").write_text(json.dumps(kustomization))
    return place
