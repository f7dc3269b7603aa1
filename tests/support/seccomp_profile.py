"""A seccomp profile in the form that Docker, Podman, containerd and the OCI runtime specification share, compiled as runc
does: by libseccomp, for a container with certain capabilities. A field that is not known is an error."""

import errno
import platform
import re

import libseccomp

ARCHITECTURE, OF_LIBSECCOMP = "amd64", "SCMP_ARCH_X86_64"
OF_A_PROFILE = {"defaultAction", "defaultErrnoRet", "defaultErrno", "archMap", "architectures", "syscalls"}
OF_AN_ENTRY = {"names", "action", "errnoRet", "errno", "args", "comment", "includes", "excludes"}
OF_A_CONDITION = {"caps", "arches", "minKernel"}


class ProfileError(Exception):
    pass


def demand_keys(found: dict, known: set[str]) -> None:
    if set(found) - known:
        raise ProfileError(f"it is not known what {', '.join(sorted(set(found) - known))} means: {found}")


def kernel() -> tuple[int, ...]:
    return tuple(int(number) for number in re.match(r"(\d+)\.(\d+)", platform.release()).groups())


def parts_met(condition: dict | None, capabilities: set[str]) -> list[bool]:
    """Of an `includes` or `excludes`, each part that says something."""
    condition = condition or {}
    demand_keys(condition, OF_A_CONDITION)
    parts = [capability in capabilities for capability in condition.get("caps") or []]
    if condition.get("arches"):
        parts.append(ARCHITECTURE in condition["arches"])
    if condition.get("minKernel"):
        parts.append(kernel() >= tuple(int(number) for number in condition["minKernel"].split(".")))
    return parts


def is_in_force(entry: dict, capabilities: set[str]) -> bool:
    return all(parts_met(entry.get("includes"), capabilities)) and not any(parts_met(entry.get("excludes"), capabilities))


def action_of(name: str, number: int | None) -> int:
    if name == "SCMP_ACT_ALLOW":
        return libseccomp.ALLOW
    if name == "SCMP_ACT_ERRNO":
        return libseccomp.errno_action(errno.EPERM if number is None else number)
    raise ProfileError(f"it is not known what {name} does")


def conditions_of(entry: dict) -> list[libseccomp.Condition]:
    args = entry.get("args") or []
    if len({arg["index"] for arg in args}) != len(args):
        raise ProfileError(f"two conditions on one argument: {entry}")
    for arg in args:
        if arg["op"] not in libseccomp.OPERATORS:
            raise ProfileError(f"it is not known what {arg['op']} compares")
    return [libseccomp.Condition(a["index"], libseccomp.OPERATORS[a["op"]], a["value"], a.get("valueTwo", 0)) for a in args]


def check_architecture(profile: dict) -> None:
    named = [one["architecture"] for one in profile.get("archMap") or []] + (profile.get("architectures") or [])
    if named and OF_LIBSECCOMP not in named:
        raise ProfileError(f"it is not for {OF_LIBSECCOMP}")


def filter_of(profile: dict, capabilities: set[str]) -> bytes:
    """As the kernel takes it. `capabilities`: those of the container's bounding set, such as `CAP_SYS_MODULE`."""
    demand_keys(profile, OF_A_PROFILE)
    check_architecture(profile)
    default = action_of(profile["defaultAction"], profile.get("defaultErrnoRet"))
    with libseccomp.Filter(default) as made:
        for entry in profile["syscalls"]:
            demand_keys(entry, OF_AN_ENTRY)
            action = action_of(entry["action"], entry.get("errnoRet"))
            # libseccomp wants no entry that says what the default says.
            if action == default or not is_in_force(entry, capabilities):
                continue
            for name in entry["names"]:
                # runc passes over a name that its libseccomp does not know, too.
                if libseccomp.number_of(name) != libseccomp.UNKNOWN_CALL:
                    made.add(action, name, conditions_of(entry))
        return made.instructions()
