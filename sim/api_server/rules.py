"""What the stand-in API server refuses or drops: the rules of resource.k8s.io/v1 that concern a driver."""

import copy
import json
import re

from store import Refused

LABEL = re.compile(r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?")
SUBDOMAIN = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*")
IDENTIFIER = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
SEMVER = re.compile(r"(0|[1-9]\d*)\.(0|[1-9]\d*)\.(0|[1-9]\d*)(-[0-9A-Za-z.-]+)?(\+[0-9A-Za-z.-]+)?")
CONDITION_REASON = re.compile(r"[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?")
PLACES = ("nodeName", "nodeSelector", "allNodes", "perDeviceNodeSelection")
GATES = ("counters", "taints")


class Faults(list):
    def add(self, field: str, message: str) -> None:
        self.append({"reason": "FieldValueInvalid", "field": field, "message": message})

    def unless(self, good: bool, field: str, message: str) -> None:
        if not good:
            self.add(field, message)

    def refuse(self, what: str) -> None:
        if self:
            raise Refused(422, "Invalid", f"{what} is invalid: " + "; ".join(f"{f['field']}: {f['message']}" for f in self),
                          list(self))


def is_name(text, most: int, pattern=SUBDOMAIN) -> bool:
    return isinstance(text, str) and 0 < len(text) <= most and pattern.fullmatch(text) is not None


def drop_gated(obj: dict, dropped: set[str], old: dict | None = None) -> dict:
    """What a server stores whose gates are off: without an error, and not where the object has the field already."""
    stored, had = copy.deepcopy(obj), json.dumps((old or {}).get("spec", {}))
    spec = stored.get("spec", {})
    if "counters" in dropped and "sharedCounters" not in had and "consumesCounters" not in had:
        spec.pop("sharedCounters", None)
        for device in spec.get("devices") or []:
            device.pop("consumesCounters", None)
    if "taints" in dropped and '"taints"' not in had:
        for device in spec.get("devices") or []:
            device.pop("taints", None)
    return stored


def attribute_faults(faults: Faults, at: str, attributes: dict) -> None:
    for key, value in attributes.items():
        domain, _, name = key.rpartition("/")
        faults.unless((not domain and "/" not in key or is_name(domain, 63)) and is_name(name, 32, IDENTIFIER), f"{at}[{key}]",
                      "must be a C identifier of at most 32 characters, after an optional domain")
        kinds = list(value) if isinstance(value, dict) else []
        if len(kinds) != 1 or kinds[0] not in ("int", "bool", "string", "version"):
            faults.add(f"{at}[{key}]", "exactly one value must be specified")
            continue
        said = value[kinds[0]]
        good = {"int": isinstance(said, int) and not isinstance(said, bool), "bool": isinstance(said, bool),
                "string": isinstance(said, str) and len(said) <= 64,
                "version": is_name(said, 64, SEMVER)}[kinds[0]]
        faults.unless(good, f"{at}[{key}].{kinds[0]}", f"is no {kinds[0]} of at most 64 characters")


def device_faults(faults: Faults, at: str, device: dict) -> None:
    faults.unless(is_name(device.get("name"), 63, LABEL), f"{at}.name", f"{device.get('name')!r} is no DNS label")
    attributes, capacity = device.get("attributes") or {}, device.get("capacity") or {}
    faults.unless(len(attributes) + len(capacity) <= 32, f"{at}.attributes", "at most 32 attributes and capacities")
    attribute_faults(faults, f"{at}.attributes", attributes)
    consumes = device.get("consumesCounters") or []
    faults.unless(len(consumes) <= 2, f"{at}.consumesCounters", "at most 2")
    for number, entry in enumerate(consumes):
        where = f"{at}.consumesCounters[{number}]"
        faults.unless(is_name(entry.get("counterSet"), 63, LABEL), f"{where}.counterSet", "is no DNS label")
        faults.unless(0 < len(entry.get("counters") or {}) <= 32, f"{where}.counters", "1 to 32")
    taints = device.get("taints") or []
    faults.unless(len(taints) <= 16, f"{at}.taints", "at most 16")
    for number, taint in enumerate(taints):
        where = f"{at}.taints[{number}]"
        faults.unless(isinstance(taint.get("key"), str) and taint["key"] != "", f"{where}.key", "is required")
        faults.unless(taint.get("effect") in ("None", "NoSchedule", "NoExecute"), f"{where}.effect", "is not known")


def counter_faults(faults: Faults, spec: dict, beside: bool) -> None:
    sets = spec.get("sharedCounters") or []
    faults.unless(len(sets) <= 8, "spec.sharedCounters", "at most 8")
    if beside:
        known = {entry.get("name") for entry in sets}
        for number, device in enumerate(spec.get("devices") or []):
            for index, entry in enumerate(device.get("consumesCounters") or []):
                faults.unless(entry.get("counterSet") in known, f"spec.devices[{number}].consumesCounters[{index}].counterSet",
                              "must be of this slice")
    else:
        faults.unless(not (sets and spec.get("devices")), "spec.sharedCounters", "not together with devices in one slice")
    names = [entry.get("name") for entry in sets]
    faults.unless(len(set(names)) == len(names), "spec.sharedCounters", "a name twice")
    for number, entry in enumerate(sets):
        at = f"spec.sharedCounters[{number}]"
        counters = entry.get("counters") or {}
        faults.unless(is_name(entry.get("name"), 63, LABEL), f"{at}.name", "is no DNS label")
        faults.unless(0 < len(counters) <= 32, f"{at}.counters", "1 to 32")
        for name, counter in counters.items():
            faults.unless(is_name(name, 63, LABEL), f"{at}.counters[{name}]", "is no DNS label")
            faults.unless(isinstance(counter, dict) and isinstance(counter.get("value"), str), f"{at}.counters[{name}].value",
                          "is required, as a quantity")


def check_slice(obj: dict, old: dict | None, beside: bool = False) -> None:
    """`beside`: counters are of the slice that has the devices, as they were before Kubernetes 1.35."""
    faults, spec = Faults(), obj.get("spec") or {}
    name = obj.get("metadata", {}).get("name")
    faults.unless(is_name(name, 253), "metadata.name", f"{name!r} is no DNS subdomain")
    faults.unless(is_name(spec.get("driver"), 63), "spec.driver", "is no DNS subdomain of at most 63 characters")
    pool = spec.get("pool") or {}
    parts = str(pool.get("name", "")).split("/")
    faults.unless(all(is_name(part, 253) for part in parts) and len(pool.get("name", "")) <= 253, "spec.pool.name", "is no name")
    faults.unless(isinstance(pool.get("generation", 0), int) and pool.get("generation", 0) >= 0, "spec.pool.generation", "below 0")
    count = pool.get("resourceSliceCount")
    faults.unless(isinstance(count, int) and count > 0, "spec.pool.resourceSliceCount", "must be greater than zero")
    placed = [place for place in PLACES if spec.get(place)]
    faults.unless(len(placed) == 1, "spec", f"exactly one of {', '.join(PLACES)}")
    devices = spec.get("devices") or []
    heavy = any(device.get("taints") or device.get("consumesCounters") for device in devices)
    faults.unless(len(devices) <= (64 if heavy else 128), "spec.devices",
                  f"{len(devices)}: at most {64 if heavy else 128}" + (" with taints or counters" if heavy else ""))
    names = [device.get("name") for device in devices]
    faults.unless(len(set(names)) == len(names), "spec.devices", "a name twice")
    for number, device in enumerate(devices):
        device_faults(faults, f"spec.devices[{number}]", device)
    counter_faults(faults, spec, beside)
    before = (old or {}).get("spec")
    if before is not None:
        faults.unless(spec.get("driver") == before.get("driver"), "spec.driver", "field is immutable")
        faults.unless(pool.get("name") == before["pool"]["name"], "spec.pool.name", "field is immutable")
        faults.unless(spec.get("nodeName") == before.get("nodeName"), "spec.nodeName", "field is immutable")
    faults.refuse(f'ResourceSlice "{name}"')


def device_key(entry: dict) -> tuple:
    return entry.get("driver"), entry.get("pool"), entry.get("device"), entry.get("shareID")


def check_claim_status(claim: dict, old: dict) -> None:
    """Also removes status.devices where the claim is deallocated, as the server does."""
    faults, status = Faults(), claim.get("status") or {}
    before, after = (old.get("status") or {}).get("allocation"), status.get("allocation")
    faults.unless(not (before and after and before != after), "status.allocation", "field is immutable")
    if not after:
        status.pop("devices", None)
    allocated = {device_key(result) for result in ((after or {}).get("devices") or {}).get("results") or []}
    keys = [device_key(entry) for entry in status.get("devices") or []]
    faults.unless(len(set(keys)) == len(keys), "status.devices", "a device twice")
    for number, entry in enumerate(status.get("devices") or []):
        at = f"status.devices[{number}]"
        faults.unless(device_key(entry) in allocated, at, "must be an allocated device in the claim")
        faults.unless(len(json.dumps(entry.get("data"))) <= 10240, f"{at}.data", "more than 10 KiB")
        faults.unless(entry.get("data") is None or isinstance(entry["data"], dict), f"{at}.data", "must be an object")
        conditions = entry.get("conditions") or []
        faults.unless(len(conditions) <= 8, f"{at}.conditions", "at most 8")
        for index, condition in enumerate(conditions):
            where = f"{at}.conditions[{index}]"
            faults.unless(bool(condition.get("type")), f"{where}.type", "is required")
            faults.unless(condition.get("status") in ("True", "False", "Unknown"), f"{where}.status", "is not known")
            faults.unless(bool(condition.get("lastTransitionTime")), f"{where}.lastTransitionTime", "is required")
            faults.unless(is_name(condition.get("reason"), 1024, CONDITION_REASON), f"{where}.reason", "is no word")
            faults.unless(isinstance(condition.get("message"), str), f"{where}.message", "is required")
    faults.refuse(f'ResourceClaim "{claim["metadata"]["name"]}"')
