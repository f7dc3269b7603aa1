"""The pools as a scheduler reads them from the slices: the highest generation, and whether it can be used."""


def pools_of(slices: list[dict]) -> list[dict]:
    found: dict[tuple[str, str], list[dict]] = {}
    for entry in slices:
        found.setdefault((entry["spec"]["driver"], entry["spec"]["pool"]["name"]), []).append(entry["spec"])
    return [pool_of(driver, name, specs) for (driver, name), specs in sorted(found.items())]


def pool_of(driver: str, name: str, specs: list[dict]) -> dict:
    generation = max(spec["pool"].get("generation", 0) for spec in specs)
    current = [spec for spec in specs if spec["pool"].get("generation", 0) == generation]
    devices = [device for spec in current for device in spec.get("devices") or []]
    sets = [entry for spec in current for entry in spec.get("sharedCounters") or []]
    names, counters = [device["name"] for device in devices], {(s["name"], c) for s in sets for c in s["counters"]}
    problems = [f"{what} {twice} twice" for what, all_of in (("device", names), ("counter set", [s["name"] for s in sets]))
                for twice in sorted({one for one in all_of if all_of.count(one) > 1})]
    problems += [f"device {device['name']} consumes {entry['counterSet']}/{counter}, which the pool does not have"
                 for device in devices for entry in device.get("consumesCounters") or []
                 for counter in entry["counters"] if (entry["counterSet"], counter) not in counters]
    counts = {spec["pool"]["resourceSliceCount"] for spec in current}
    return {"driver": driver, "pool": name, "generation": generation, "slices": len(current),
            "complete": counts == {len(current)}, "devices": sorted(names), "problems": problems}
