"""What must hold of the pod: design's table "in a pod", as data. Each rule has a name, by which a test sees it broken."""

import dataclasses

ABSENT = object()

# name, field of the DaemonSet's pod, value
POD = [
    ("no-host-network", "hostNetwork", ABSENT),
    ("no-host-pid", "hostPID", ABSENT),
    ("no-host-ipc", "hostIPC", ABSENT),
    ("no-user-namespace", "hostUsers", ABSENT),  # false: no kernel events, and uid 0 owns nothing of the host
    ("no-shared-processes", "shareProcessNamespace", ABSENT),
    ("no-token", "automountServiceAccountToken", False),
    ("no-fsgroup", "securityContext.fsGroup", ABSENT),
    ("no-fsgroup", "securityContext.supplementalGroups", ABSENT),
    ("seccomp", "securityContext.seccompProfile.type", "RuntimeDefault"),
    ("priority", "priorityClassName", "system-node-critical"),
    ("own-account", "serviceAccountName", "vfiogate"),
]

# of each container
CONTAINER = [
    ("not-privileged", "securityContext.privileged", False),
    ("no-escalation", "securityContext.allowPrivilegeEscalation", False),
    ("no-capabilities", "securityContext.capabilities", {"drop": ["ALL"]}),
    ("read-only-root", "securityContext.readOnlyRootFilesystem", True),
    ("proc-mount", "securityContext.procMount", ABSENT),
]

UIDS = {"privd-hardware": 64531, "privd-gate": 0, "plugind": 64532, "netd": 64533}
BINDING_UIDS = {"privd-binder": 0}
DRA_UIDS = {"netd-dra": 64533}

# container -> where -> (volume, access)
MOUNTS = {
    "privd-hardware": {
        "/host/sys": ("sys", "ro"),
        "/host/dev": ("dev", "ro"),
        "/etc/vfiogate": ("config", "ro"),
        "/run/vfiogate/plugind": ("plugind-socket", "ro"),
    },
    "privd-gate": {
        "/var/lib/kubelet/device-plugins": ("device-plugins", "rw"),
        "/var/lib/kubelet/pod-resources": ("pod-resources", "ro"),
        "/var/lib/vfiogate": ("state", "rw"),
        "/run/vfiogate/devices": ("devices", "rw"),
        "/etc/vfiogate": ("config", "ro"),
        "/run/vfiogate/plugind": ("plugind-socket", "ro"),
    },
    # only where binding is on; with the host's tables, by which it sees what is in use: of the host's first process, two
    # files and nothing else
    "privd-binder": {
        "/host/sys": ("sys", "rw"),
        "/host/dev": ("dev", "ro"),
        "/host/proc/mountinfo": ("mountinfo", "ro"),
        "/host/proc/route": ("route", "ro"),
        "/var/lib/vfiogate": ("state", "rw"),
        "/run/vfiogate/devices": ("devices", "rw"),
        "/var/log/vfiogate": ("log", "rw"),
        "/etc/vfiogate": ("config", "ro"),
        "/run/vfiogate/plugind": ("plugind-socket", "ro"),
    },
    "plugind": {
        "/etc/vfiogate": ("config", "ro"),
        "/run/vfiogate/plugind": ("plugind-socket", "rw"),
    },
    "netd": {
        "/run/vfiogate/plugind": ("plugind-socket", "ro"),
    },
}


def host(path: str, kind: str = "Directory") -> dict:
    return {"hostPath": {"path": path, "type": kind}}


VOLUMES = {
    "sys": host("/sys"),
    "dev": host("/dev"),
    "device-plugins": host("/var/lib/kubelet/device-plugins"),
    "pod-resources": host("/var/lib/kubelet/pod-resources"),
    "state": host("/var/lib/vfiogate", "DirectoryOrCreate"),
    "devices": host("/run/vfiogate/devices", "DirectoryOrCreate"),
    "plugind-socket": {"emptyDir": {"medium": "Memory", "sizeLimit": "1Mi"}},
}
# The one container that may have a capability, where it is asked for; all of it but the image.
MODULES_INIT = {
    "name": "modules",
    "command": ["/usr/bin/modprobe", "--dirname=/host", "--all", "vfio-pci"],
    "securityContext": {
        "runAsUser": 0, "runAsGroup": 0, "privileged": False, "allowPrivilegeEscalation": False,
        "readOnlyRootFilesystem": True, "capabilities": {"drop": ["ALL"], "add": ["SYS_MODULE"]},
    },
    "resources": {"requests": {"memory": "16Mi"}, "limits": {"memory": "64Mi"}},
    "volumeMounts": [{"name": "modules", "mountPath": "/host/lib/modules", "readOnly": True}],
}
MODULES_VOLUME = {"modules": host("/lib/modules")}
CDI_MOUNT = {"/var/run/cdi": ("cdi", "rw")}
CDI_VOLUME = {"cdi": host("/var/run/cdi", "DirectoryOrCreate")}
BINDING_VOLUMES = {
    "log": host("/var/log/vfiogate", "DirectoryOrCreate"),
    "mountinfo": host("/proc/1/mountinfo", "File"),
    "route": host("/proc/1/net/route", "File"),
}

# Of the kubelet's directory two more, and in one container a token.
DRIVER = "vfio.vfiogate.dev"
DRA_MOUNTS = {
    "privd-gate": {
        "/var/lib/kubelet/plugins_registry": ("plugins-registry", "rw"),
        f"/var/lib/kubelet/plugins/{DRIVER}": ("dra-plugin", "rw"),
    },
    "netd-dra": {
        "/run/vfiogate/plugind": ("plugind-socket", "ro"),
        "/var/run/secrets/kubernetes.io/serviceaccount": ("api-access", "ro"),
    },
}
DRA_VOLUMES = {
    "plugins-registry": host("/var/lib/kubelet/plugins_registry", "DirectoryOrCreate"),
    "dra-plugin": host(f"/var/lib/kubelet/plugins/{DRIVER}", "DirectoryOrCreate"),
    "api-access": {"projected": {"sources": [
        {"serviceAccountToken": {"path": "token", "expirationSeconds": 3600}},
        {"configMap": {"name": "kube-root-ca.crt", "items": [{"key": "ca.crt", "path": "ca.crt"}]}},
        {"downwardAPI": {"items": [{"path": "namespace", "fieldRef": {"fieldPath": "metadata.namespace"}}]}},
    ]}},
}
NODE_NAME = [{"name": "NODE_NAME", "valueFrom": {"fieldRef": {"fieldPath": "spec.nodeName"}}}]

PROBES = {
    "privd-hardware": [], "privd-gate": [], "privd-binder": [],
    "plugind": ["livenessProbe", "readinessProbe"], "netd": ["livenessProbe", "readinessProbe"], "netd-dra": [],
}


@dataclasses.dataclass(frozen=True)
class Asked:
    """What the values ask for."""

    cdi: bool = False
    modules: bool = False
    localhost: bool = False
    binding: bool = False
    dra: bool = False
    self_test: bool = True

    hardware: int = 64531

    @property
    def uids(self) -> dict[str, int]:
        """In the order of the containers."""
        wanted = UIDS | {"privd-hardware": self.hardware}
        if self.binding:
            wanted = {"privd-hardware": 0, "privd-gate": 0} | BINDING_UIDS | wanted
        return wanted | (DRA_UIDS if self.dra else {})

    @property
    def rights(self) -> dict[str, str]:
        return {"privd-gate": ",".join(["watch", "kubelet", *["cdi"] * self.cdi]), "privd-binder": "bind"}

    def mounts(self, container: str) -> dict:
        wanted = MOUNTS.get(container, {}) | (DRA_MOUNTS.get(container, {}) if self.dra else {})
        return wanted | (CDI_MOUNT if self.cdi and container == "privd-gate" else {})

    @property
    def volumes(self) -> dict:
        return VOLUMES | (CDI_VOLUME if self.cdi else {}) | (MODULES_VOLUME if self.modules else {}) | (
            BINDING_VOLUMES if self.binding else {}) | (DRA_VOLUMES if self.dra else {}) | (
            SELF_TEST_VOLUME if self.self_test else {})


def at(value, path: str):
    for key in path.split("."):
        if not isinstance(value, dict) or key not in value:
            return ABSENT
        value = value[key]
    return value


def broken_in(value: dict, table, where: str) -> list[str]:
    found = []
    for name, path, wanted in table:
        there = at(value, path)
        if there is not wanted and there != wanted:
            found.append(f"{name}: {where}: {path} is {'absent' if there is ABSENT else there!r}")
    return found


def mounts_of(container: dict) -> dict:
    return {
        mount["mountPath"]: (mount["name"], "ro" if mount.get("readOnly", False) else "rw")
        for mount in container.get("volumeMounts", [])
    }


def self_test(program: str, uid: int) -> dict:
    """The container in which a program tries itself: its user, and nothing of the node's."""
    return {
        "name": f"self-test-{program}", "command": [f"/usr/bin/{program}", "policy", "--self-test"],
        "securityContext": {
            "runAsUser": uid, "runAsGroup": uid, "privileged": False, "allowPrivilegeEscalation": False,
            "readOnlyRootFilesystem": True, "capabilities": {"drop": ["ALL"]},
        } | ({"runAsNonRoot": True} if uid else {}),
        "resources": {"requests": {"memory": "32Mi"}, "limits": {"memory": "256Mi"}},
        "volumeMounts": [{"name": "self-test", "mountPath": "/tmp"}],
    }


SELF_TESTS = [self_test("privd", 0), self_test("plugind", UIDS["plugind"]), self_test("netd", UIDS["netd"])]
SELF_TEST_VOLUME = {"self-test": {"emptyDir": {"medium": "Memory", "sizeLimit": "16Mi"}}}


def broken_in_init(pod: dict, asked: Asked) -> list[str]:
    there = [
        {key: value for key, value in container.items() if key not in ("image", "imagePullPolicy")}
        for container in pod.get("initContainers", [])
    ]
    wanted = [MODULES_INIT] * asked.modules + SELF_TESTS * asked.self_test
    if there != wanted or ("initContainers" in pod) != bool(wanted):
        return [f"init: {there}, not {[one['name'] for one in wanted]}"]
    return []


def broken_in_arguments(container: dict, asked: Asked) -> list[str]:
    given = dict(word.partition("=")[::2] for word in container.get("args", []))
    found = []
    name = container["name"]
    if given.get("--plugind-rights") != asked.rights.get(name):
        found.append(f"rights: {name}: {given.get('--plugind-rights')}, not {asked.rights.get(name)}")
    if given.get("--dra-driver") != (DRIVER if asked.dra and name == "privd-gate" else None):
        found.append(f"driver: {name}: {given.get('--dra-driver')}")
    other = str(asked.hardware) if name == "plugind" and asked.hardware != UIDS["privd-hardware"] else None
    if given.get("--hardware-uid") != other:
        found.append(f"hardware-uid: {name}: {given.get('--hardware-uid')}, not {other}")
    if any(word in given for word in ("--allow", "--declare", "--vfs", "--host-mountinfo")) and name != "privd-binder":
        found.append(f"binding: {name} is told of binding")
    if container.get("command", [""])[0] != f"/usr/bin/{name.removesuffix('-dra')}":
        found.append(f"command: {name}: {container.get('command')}")
    if container.get("env", []) != (NODE_NAME if container["name"] == "netd-dra" else []):
        found.append(f"environment: {container['name']}: {container.get('env')}")
    return found


def broken_in_container(container: dict, asked: Asked) -> list[str]:
    name = container["name"]
    found = broken_in(container, CONTAINER, name)
    file = f"vfiogate/{name.removeprefix('privd-')}.json"
    profile = {"type": "Localhost", "localhostProfile": file} if asked.localhost else ABSENT  # the pod's
    found += broken_in(container, [("seccomp", "securityContext.seccompProfile", profile)], name)
    context, uid = container.get("securityContext", {}), asked.uids[name]
    if (context.get("runAsUser"), context.get("runAsGroup")) != (uid, uid):
        found.append(f"user: {name}: not {uid}")
    if uid != 0 and context.get("runAsNonRoot") is not True:
        found.append(f"non-root: {name}: runAsNonRoot is not true")
    found += broken_in_arguments(container, asked)
    wanted, there = asked.mounts(name), mounts_of(container)
    if len(there) != len(container.get("volumeMounts", [])):
        found.append(f"mounts: {name}: two at one path")
    for path in sorted(wanted.keys() | there.keys()):
        if wanted.get(path) != there.get(path):
            found.append(f"mounts: {name}: {path} is {there.get(path)}, not {wanted.get(path)}")
    if any("subPath" in mount or "mountPropagation" in mount for mount in container.get("volumeMounts", [])):
        found.append(f"mounts: {name}: subPath (no news of a ConfigMap) or mountPropagation")
    for kind in ("requests", "limits"):
        if "memory" not in container.get("resources", {}).get(kind, {}):
            found.append(f"memory: {name}: no {kind}")
    probes = sorted(key for key in container if key.endswith("Probe"))
    if probes != PROBES[name]:
        found.append(f"probes: {name}: {probes}")
    return found


def broken(daemon_set: dict, **settings) -> list[str]:
    """The rules that do not hold, each as "name: where: what". `settings`: those of Asked."""
    asked = Asked(**settings)
    spec = daemon_set["spec"]
    pod = spec["template"]["spec"]
    found = broken_in(pod, POD, "pod") + broken_in_init(pod, asked)
    if at(spec, "updateStrategy.rollingUpdate.maxSurge") != 0:
        found.append("no-surge: maxSurge is not 0")
    if at(spec, "updateStrategy.rollingUpdate.maxUnavailable") in (ABSENT, 0, "0%"):
        found.append("unavailable: maxUnavailable lets no update go on")
    if not spec["selector"]["matchLabels"].items() <= spec["template"]["metadata"]["labels"].items():
        found.append("selector: it does not select its own pods")
    if [container["name"] for container in pod["containers"]] != list(asked.uids):
        return [*found, f"containers: not {', '.join(asked.uids)}"]
    wanted = asked.volumes | {"config": {"configMap": {"name": daemon_set["metadata"]["name"]}}}
    there = {volume["name"]: {k: v for k, v in volume.items() if k != "name"} for volume in pod["volumes"]}
    for name in sorted(wanted.keys() | there.keys()):
        if wanted.get(name) != there.get(name):
            found.append(f"volumes: {name} is {there.get(name)}, not {wanted.get(name)}")
    for container in pod["containers"]:
        found += broken_in_container(container, asked)
    return found
