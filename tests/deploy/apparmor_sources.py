"""Paths and names that privd uses, out of its own source: where the code changes them, the profiles have
to follow. A constant that is not found any more is an error."""

import pathlib
import re

TREE = pathlib.Path(__file__).resolve().parents[2]


def constants(file: str, pattern: str) -> list:
    found = re.findall(pattern, (TREE / file).read_text())
    if not found:
        raise LookupError(f"{file}: nothing like {pattern}")
    return found


def constant(file: str, pattern: str) -> str:
    found = constants(file, pattern)
    if len(set(found)) != 1:
        raise LookupError(f"{file}: not one but {len(found)} like {pattern}")
    return found[0]


def default_of(option: str) -> str:
    return constant("privd/options/program_options.h", rf'std::string {option} = "([^"]+)"')


def read_of_devices() -> set[str]:
    """The names of attributes; directories and links that are only looked at are not among them."""
    return set(constants("privd/scan/device_scan.cc", r'from\.(?:decimal|decimalOrMinusOne|text|bytes)\(\s*"(\w+)"'))


def sysfs_paths(device: str, group: str) -> dict[str, str]:
    devices = constant("privd/scan/pci_scan.h", r'kPciDevices = "([^"]+)"')
    groups = constant("privd/scan/pci_scan.h", r'kIommuGroups = "([^"]+)"')
    vfio = constant("privd/scan/pci_scan.h", r'kVfioDevDirectory = "([^"]+)"')
    members = constant("privd/scan/group_scan.cc", r'sysfs\.names\(directory \+ "([^"]+)"\)')
    if group.rpartition("/")[0] != f"/host/sys/{groups}":
        raise LookupError(f"groups are below {groups}")
    paths = {f"/host/sys/{devices}/": "r", f"/host/sys/{groups}/": "r"}
    paths |= {f"{device}/{vfio}/": "r", f"{group}{members}/": "r"}
    paths |= {f"{device}/{name}": "r" for name in read_of_devices()}
    current = constant("privd/scan/pci_scan.h", r'kVgpuType = "([^"]+)"')
    creatable = constant("privd/scan/vgpu_scan.cc", r'kCreatableTypes = "([^"]+)"')
    paths |= {f"{device}/{current}": "r", f"{device}{creatable}": "r"}
    paths |= {f"{group}/{name}": "r" for name in constants("privd/scan/group_scan.cc", r'from\.text\(\s*"(\w+)"')}
    return paths


def bound_at(path: str) -> list[str]:
    """The names that a listener at `path` comes to have: the temporary ones, its own."""
    constant("ipc/socket/unix_socket.cc", r'kj::str\(directory, "/\.", name, "\.", attempt\)')
    tries = int(constant("ipc/socket/unix_socket.cc", r"kTemporaryNames = (\d+)"))
    directory, _, name = path.rpartition("/")
    return [path, *(f"{directory}/.{name}.{attempt}" for attempt in range(tries))]


def socket_paths(digest: str) -> dict[str, str]:
    gate = "privd/gate/kubelet_gate.cc"
    places = {"kubeletDir": default_of("kubeletDir")}
    for name, base, rest in constants(gate, r'(\w+_)\(kj::str\((\w+), "([^"]+)"\)\)'):
        places[name] = places[base] + rest
    prefix, suffix = constants(gate, r'kj::str\("([^"]+)", digestOf\(resource\)\.c_str\(\), "([^"]+)"\)')[0]
    paths = {places["checkpoint_"]: "r", places["registrationSocket_"]: "rw", places["podResourcesSocket_"]: "rw"}
    ours = bound_at(f"{places['directory_']}/{prefix}{digest}{suffix}")
    return paths | {path: "rw" for path in ours}


def spec_paths(digest: str) -> dict[str, str]:
    spec = "privd/cdi/cdi_spec.cc"
    prefix, suffix, temporary = (
        constant(spec, rf'{name} = "([^"]+)"') for name in ("kPrefix", "kSuffix", "kTemporarySuffix")
    )
    constant(spec, r'return "\." \+ std::string\(name\) \+ std::string\(kTemporarySuffix\)')
    if int(constant(spec, r"kDigits = (\d+)")) != len(digest):
        raise LookupError("another number of digits")
    directory, name = default_of("cdiDir"), prefix + digest + suffix
    return {f"{directory}/": "r", f"{directory}/{name}": "rw", f"{directory}/.{name}{temporary}": "rw"}


def state_paths() -> dict[str, dict[str, str]]:
    """By profile."""
    directory = default_of("stateDir")
    constant("privd/base/instance_lock.cc", r'(stateDir \+ "/)')
    lease = constant("privd/gate/plugind_lease.cc", r'kName = "([^"]+)"')
    both = {f"{directory}/{lease}": "rwk"}
    return {"vfiogate-gate": both, "vfiogate-binder": both | {f"{directory}/lock": "rwk"}}


def common_paths() -> dict[str, str]:
    """Of all of them."""
    return {constant("privd/options/shared_options.h", r'kPlugindSocket = "([^"]+)"'): "rw"}


def vendor_names() -> dict[str, str]:
    return {constant("privd/cli/base/node_view.h", r'pciIds = "([^"]+)"'): "r"}


UEVENTS, PAIRS, LOCAL = "privd/scan/uevent_socket.cc", "ipc/gate/packet_socket.cc", "ipc/socket/unix_socket.cc"
MAKERS = {
    "vfiogate-hardware": [UEVENTS, LOCAL],
    "vfiogate-gate": [PAIRS, LOCAL],
    "vfiogate-binder": [UEVENTS, PAIRS, LOCAL],
}


def sockets_made(name: str) -> set[str]:
    """Families and types, as the profile of that name says them."""
    call = r"socket(?:pair)?\(AF_([A-Z]+), SOCK_([A-Z]+) \|"
    types = {"DGRAM": "dgram", "STREAM": "stream", "SEQPACKET": "seqpacket"}
    made = [found for maker in MAKERS[name] for found in constants(maker, call)]
    return {f"network {family.lower()} {types[kind]}," for family, kind in made}
