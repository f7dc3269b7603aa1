"""The versions of resource.k8s.io: what is stored reads as v1, and is read and written as whatever is asked for."""

import copy

from store import Refused

GROUP = "resource.k8s.io"
VERSIONS = ("v1", "v1beta2", "v1beta1")
VERBS = ["create", "delete", "get", "list", "patch", "update", "watch"]
RESOURCES = (("resourceclaims", "ResourceClaim", True), ("resourceclaims/status", "ResourceClaim", True),
             ("resourceslices", "ResourceSlice", False))


def resources_of(version: str) -> dict:
    """What discovery says of it."""
    return {"kind": "APIResourceList", "apiVersion": "v1", "groupVersion": f"{GROUP}/{version}",
            "resources": [{"name": name, "singularName": "", "kind": kind, "namespaced": namespaced, "verbs": VERBS}
                          for name, kind, namespaced in RESOURCES]}


def is_ours(obj: dict) -> bool:
    return obj.get("apiVersion", "").startswith(GROUP + "/")


def shown(obj: dict, version: str) -> dict:
    """An object, or a list of them, as the version has it."""
    if not is_ours(obj):
        return obj
    new = copy.deepcopy(obj) | {"apiVersion": f"{GROUP}/{version}"}
    for each in [new, *new.get("items", [])] if version == "v1beta1" else []:
        spec = each.get("spec") or {}
        devices = spec.get("devices")
        if isinstance(devices, list):
            spec["devices"] = [{"name": one["name"], "basic": {key: said for key, said in one.items() if key != "name"}}
                               for one in devices]
        elif isinstance(devices, dict):
            devices["requests"] = [{key: said for key, said in one.items() if key != "exactly"} | one.get("exactly", {})
                                   for one in devices.get("requests") or []]
    return new


def stored(obj: dict, version: str) -> dict:
    """What was sent as that version, as it is stored. Unknown fields are dropped without an error."""
    said = obj.get("apiVersion", f"{GROUP}/{version}")
    if said != f"{GROUP}/{version}":
        raise Refused(400, "BadRequest", f"the API version in the data ({said}) does not match the expected API version "
                      f"({GROUP}/{version})")
    new = copy.deepcopy(obj) | {"apiVersion": f"{GROUP}/v1"}
    spec = new.get("spec") or {}
    devices = spec.get("devices")
    if isinstance(devices, list):
        spec["devices"] = [device_of(one, version, number) for number, one in enumerate(devices)]
    elif isinstance(devices, dict) and version == "v1beta1":
        devices["requests"] = [request_of(one) for one in devices.get("requests") or []]
    return new


def device_of(device: dict, version: str, number: int) -> dict:
    if version != "v1beta1":
        return {key: said for key, said in device.items() if key != "basic"}
    if device.get("basic") is None:
        raise Refused(422, "Invalid", f"spec.devices[{number}].basic: Required value")
    return {"name": device.get("name")} | device["basic"]


def request_of(request: dict) -> dict:
    if "firstAvailable" in request:
        return request
    exactly = {key: said for key, said in request.items() if key != "name"}
    return {"name": request.get("name"), "exactly": exactly}
