"""Changes for the worse, each with the name of the rule that must see it."""

HARDWARE, GATE, PLUGIND, NETD, NETD_DRA = range(5)
BINDER = 2  # where binding is on: the others come behind it


def loader(daemon_set: dict) -> dict:
    """The first container before the others."""
    return pod(daemon_set)["initContainers"][0]


def pod(daemon_set: dict) -> dict:
    return daemon_set["spec"]["template"]["spec"]


def container(daemon_set: dict, index: int) -> dict:
    return pod(daemon_set)["containers"][index]


def security(daemon_set: dict, index: int) -> dict:
    return container(daemon_set, index)["securityContext"]


def mount(daemon_set: dict, index: int, volume: str) -> dict:
    return next(m for m in container(daemon_set, index)["volumeMounts"] if m["name"] == volume)


def add_mount(daemon_set: dict, index: int, **fields) -> None:
    container(daemon_set, index)["volumeMounts"].append(fields)


def add_volume(daemon_set: dict, name: str, **source) -> None:
    pod(daemon_set)["volumes"].append({"name": name} | source)


def volume(daemon_set: dict, name: str) -> dict:
    return next(v for v in pod(daemon_set)["volumes"] if v["name"] == name)


def rolling(daemon_set: dict) -> dict:
    return daemon_set["spec"]["updateStrategy"]["rollingUpdate"]


TOKEN = {"projected": {"sources": [{"serviceAccountToken": {"path": "token"}}]}}

MUTATIONS = [
    ("not-privileged", "the gate privileged", lambda d: security(d, GATE).update(privileged=True)),
    ("not-privileged", "nothing said of privileged", lambda d: security(d, NETD).pop("privileged")),
    ("no-escalation", "plugind may escalate", lambda d: security(d, PLUGIND).update(allowPrivilegeEscalation=True)),
    ("rights", "binding that nobody asked for", lambda d: container(d, GATE)["args"].__setitem__(2, "--plugind-rights=watch,bind")),
    ("rights", "rights for hardware", lambda d: container(d, HARDWARE)["args"].append("--plugind-rights=watch,kubelet")),
    ("binding", "what may be bound, for the gate", lambda d: container(d, GATE)["args"].append("--allow=class=03")),
    ("hardware-uid", "plugind told of another user", lambda d: container(d, PLUGIND)["args"].append("--hardware-uid=64530")),
    ("command", "a binder in the gate's container", lambda d: container(d, GATE).update(command=["/usr/bin/privd-binder"])),
    ("no-capabilities", "a capability", lambda d: security(d, GATE)["capabilities"].update(add=["SYS_ADMIN"])),
    ("no-capabilities", "what opens any file, for hardware",
     lambda d: security(d, HARDWARE)["capabilities"].update(add=["DAC_READ_SEARCH"])),
    ("no-capabilities", "none dropped", lambda d: security(d, NETD).pop("capabilities")),
    ("read-only-root", "a writable root", lambda d: security(d, GATE).update(readOnlyRootFilesystem=False)),
    ("user", "hardware as root", lambda d: security(d, HARDWARE).update(runAsUser=0)),
    ("user", "hardware in root's group", lambda d: security(d, HARDWARE).update(runAsGroup=0)),
    ("user", "plugind as root", lambda d: security(d, PLUGIND).update(runAsUser=0)),
    ("user", "netd as plugind", lambda d: security(d, NETD).update(runAsUser=64532)),
    ("non-root", "netd may be root", lambda d: security(d, NETD).pop("runAsNonRoot")),
    ("non-root", "hardware may be root", lambda d: security(d, HARDWARE).pop("runAsNonRoot")),
    ("seccomp", "a container without", lambda d: security(d, GATE).update(seccompProfile={"type": "Unconfined"})),
    ("seccomp", "a pod without seccomp", lambda d: pod(d)["securityContext"].pop("seccompProfile")),
    ("proc-mount", "an unmasked /proc", lambda d: security(d, GATE).update(procMount="Unmasked")),
    ("no-host-network", "hostNetwork", lambda d: pod(d).update(hostNetwork=True)),
    ("no-host-pid", "hostPID", lambda d: pod(d).update(hostPID=True)),
    ("no-host-ipc", "hostIPC", lambda d: pod(d).update(hostIPC=True)),
    ("no-user-namespace", "hostUsers: false", lambda d: pod(d).update(hostUsers=False)),
    ("no-shared-processes", "one process namespace", lambda d: pod(d).update(shareProcessNamespace=True)),
    ("no-fsgroup", "fsGroup", lambda d: pod(d)["securityContext"].update(fsGroup=64532)),
    ("no-fsgroup", "another group", lambda d: pod(d)["securityContext"].update(supplementalGroups=[0])),
    ("no-token", "the account's token", lambda d: pod(d).update(automountServiceAccountToken=True)),
    ("volumes", "a token as a volume", lambda d: add_volume(d, "token", **TOKEN)),
    ("own-account", "another account", lambda d: pod(d).update(serviceAccountName="default")),
    ("priority", "no priority", lambda d: pod(d).pop("priorityClassName")),
    ("init", "another container before", lambda d: pod(d)["initContainers"].append({"name": "x", "image": "x"})),
    ("init", "a self-test with a capability", lambda d: loader(d)["securityContext"]["capabilities"].update(add=["SYS_PTRACE"])),
    ("init", "a self-test that sees the node", lambda d: loader(d)["volumeMounts"].append({"name": "sys", "mountPath": "/sys"})),
    ("init", "a self-test of another user", lambda d: pod(d)["initContainers"][1]["securityContext"].update(runAsUser=0)),
    ("containers", "one more container", lambda d: pod(d)["containers"].append({"name": "x", "image": "x"})),
    ("containers", "a binder that nobody asked for",
     lambda d: pod(d)["containers"].insert(BINDER, container(d, GATE) | {"name": "privd-binder"})),
    ("containers", "no netd", lambda d: pod(d)["containers"].pop()),
    ("mounts", "/dev writable", lambda d: mount(d, HARDWARE, "dev").update(readOnly=False)),
    ("mounts", "sysfs writable, without binding", lambda d: mount(d, HARDWARE, "sys").pop("readOnly")),
    ("mounts", "sysfs in the gate", lambda d: add_mount(d, GATE, name="sys", mountPath="/host/sys", readOnly=True)),
    ("mounts", "/dev in the gate", lambda d: add_mount(d, GATE, name="dev", mountPath="/host/dev", readOnly=True)),
    ("mounts", "the kubelet's directory in hardware",
     lambda d: add_mount(d, HARDWARE, name="device-plugins", mountPath="/var/lib/kubelet/device-plugins", readOnly=True)),
    ("mounts", "state in hardware", lambda d: add_mount(d, HARDWARE, name="state", mountPath="/var/lib/vfiogate")),
    ("mounts", "the record in hardware", lambda d: add_mount(d, HARDWARE, name="devices", mountPath="/run/vfiogate/devices")),
    ("mounts", "pod-resources writable", lambda d: mount(d, GATE, "pod-resources").pop("readOnly")),
    ("mounts", "plugind's socket writable for the gate", lambda d: mount(d, GATE, "plugind-socket").pop("readOnly")),
    ("mounts", "plugind's socket writable for hardware", lambda d: mount(d, HARDWARE, "plugind-socket").pop("readOnly")),
    ("mounts", "plugind's socket writable for netd", lambda d: mount(d, NETD, "plugind-socket").pop("readOnly")),
    ("mounts", "the gate's state in netd",
     lambda d: add_mount(d, NETD, name="state", mountPath="/var/lib/vfiogate", readOnly=True)),
    ("mounts", "sysfs in plugind", lambda d: add_mount(d, PLUGIND, name="sys", mountPath="/host/sys", readOnly=True)),
    ("mounts", "sysfs at /sys", lambda d: mount(d, HARDWARE, "sys").update(mountPath="/sys")),
    ("mounts", "the configuration elsewhere", lambda d: mount(d, PLUGIND, "config").update(mountPath="/config")),
    ("mounts", "the configuration by subPath", lambda d: mount(d, GATE, "config").update(subPath="plugind.yaml")),
    ("mounts", "CDI without being asked", lambda d: add_mount(d, GATE, name="cdi", mountPath="/var/run/cdi")),
    ("mounts", "mounts that spread", lambda d: mount(d, HARDWARE, "sys").update(mountPropagation="Bidirectional")),
    ("volumes", "the whole of the kubelet",
     lambda d: volume(d, "device-plugins")["hostPath"].update(path="/var/lib/kubelet")),
    ("volumes", "a host's file", lambda d: add_volume(d, "proc", hostPath={"path": "/proc", "type": "Directory"})),
    ("volumes", "the log without binding",
     lambda d: add_volume(d, "log", hostPath={"path": "/var/log/vfiogate", "type": "DirectoryOrCreate"})),
    ("volumes", "sockets on disk", lambda d: volume(d, "plugind-socket").update(emptyDir={})),
    ("no-surge", "maxSurge", lambda d: rolling(d).update(maxSurge=1)),
    ("unavailable", "an update that cannot go on", lambda d: rolling(d).update(maxUnavailable=0)),
    ("selector", "another label", lambda d: d["spec"]["template"]["metadata"]["labels"].pop("vfiogate.dev/node-class")),
    ("memory", "no limit", lambda d: container(d, NETD)["resources"].pop("limits")),
    ("probes", "no probe", lambda d: container(d, PLUGIND).pop("readinessProbe")),
    ("driver", "DRA that nobody asked for", lambda d: container(d, GATE)["args"].append("--dra-driver=vfio.vfiogate.dev")),
    ("environment", "a variable", lambda d: container(d, NETD).update(env=[{"name": "X", "value": "x"}])),
]
# Of a pod where binding is on.
BINDING_MUTATIONS = [
    ("mounts", "the kubelet's directory in the binder",
     lambda d: add_mount(d, BINDER, name="device-plugins", mountPath="/var/lib/kubelet/device-plugins")),
    ("mounts", "CDI in the binder", lambda d: add_mount(d, BINDER, name="cdi", mountPath="/var/run/cdi")),
    ("mounts", "/dev writable", lambda d: mount(d, BINDER, "dev").pop("readOnly")),
    ("mounts", "sysfs writable for hardware", lambda d: mount(d, HARDWARE, "sys").pop("readOnly")),
    ("mounts", "the log in the gate", lambda d: add_mount(d, GATE, name="log", mountPath="/var/log/vfiogate")),
    ("mounts", "no log", lambda d: container(d, BINDER)["volumeMounts"].remove(mount(d, BINDER, "log"))),
    ("volumes", "more of /proc", lambda d: volume(d, "mountinfo")["hostPath"].update(path="/proc/1")),
    ("no-capabilities", "a capability", lambda d: security(d, BINDER)["capabilities"].update(add=["SYS_ADMIN"])),
    ("not-privileged", "privileged", lambda d: security(d, BINDER).update(privileged=True)),
    ("user", "another user, who owns no sysfs", lambda d: security(d, BINDER).update(runAsUser=64531)),
    ("rights", "no right to bind", lambda d: container(d, BINDER)["args"].__setitem__(1, "--plugind-rights=watch")),
    ("rights", "the gate's rights", lambda d: container(d, BINDER)["args"].__setitem__(1, "--plugind-rights=kubelet,bind")),
    ("memory", "no limit", lambda d: container(d, BINDER)["resources"].pop("limits")),
    ("containers", "two of them", lambda d: pod(d)["containers"].append(container(d, BINDER))),
]
API_ACCESS = {"name": "api-access", "mountPath": "/var/run/secrets/kubernetes.io/serviceaccount", "readOnly": True}


def sources(daemon_set: dict) -> list[dict]:
    return volume(daemon_set, "api-access")["projected"]["sources"]


# Of a pod with a DRA driver.
DRA_MUTATIONS = [
    ("mounts", "the token in the gate", lambda d: add_mount(d, GATE, **API_ACCESS)),
    ("mounts", "the token in plugind", lambda d: add_mount(d, PLUGIND, **API_ACCESS)),
    ("mounts", "the token in netd", lambda d: add_mount(d, NETD, **API_ACCESS)),
    ("mounts", "the token writable", lambda d: mount(d, NETD_DRA, "api-access").pop("readOnly")),
    ("mounts", "the gate's state in netd-dra",
     lambda d: add_mount(d, NETD_DRA, name="state", mountPath="/var/lib/vfiogate", readOnly=True)),
    ("mounts", "the registry in plugind",
     lambda d: add_mount(d, PLUGIND, name="plugins-registry", mountPath="/var/lib/kubelet/plugins_registry")),
    ("mounts", "the driver's directory elsewhere",
     lambda d: mount(d, GATE, "dra-plugin").update(mountPath="/var/lib/kubelet/plugins")),
    ("volumes", "all drivers' directories",
     lambda d: volume(d, "dra-plugin")["hostPath"].update(path="/var/lib/kubelet/plugins")),
    ("volumes", "a token for others", lambda d: sources(d)[0]["serviceAccountToken"].update(audience="vault")),
    ("volumes", "a token that lasts", lambda d: sources(d)[0]["serviceAccountToken"].update(expirationSeconds=86400)),
    ("no-token", "the token everywhere", lambda d: pod(d).update(automountServiceAccountToken=True)),
    ("user", "netd-dra as root", lambda d: security(d, NETD_DRA).update(runAsUser=0)),
    ("no-capabilities", "a capability", lambda d: security(d, NETD_DRA)["capabilities"].update(add=["NET_ADMIN"])),
    ("read-only-root", "a writable root", lambda d: security(d, NETD_DRA).pop("readOnlyRootFilesystem")),
    ("no-host-network", "hostNetwork", lambda d: pod(d).update(hostNetwork=True)),
    ("environment", "another node", lambda d: container(d, NETD_DRA).update(env=[{"name": "NODE_NAME", "value": "x"}])),
    ("driver", "another driver", lambda d: container(d, GATE)["args"].__setitem__(3, "--dra-driver=x.example")),
    ("rights", "no right to write specs", lambda d: container(d, GATE)["args"].__setitem__(2, "--plugind-rights=watch,kubelet")),
    ("containers", "two of them", lambda d: pod(d)["containers"].append(container(d, NETD_DRA))),
    ("memory", "no limit", lambda d: container(d, NETD_DRA)["resources"].pop("limits")),
]

# Of a pod with the container that loads modules.
MODULES_MUTATIONS = [
    ("init", "another capability",
     lambda d: loader(d)["securityContext"]["capabilities"]["add"].append("SYS_ADMIN")),
    ("init", "privileged", lambda d: loader(d)["securityContext"].update(privileged=True)),
    ("init", "a profile of its own", lambda d: loader(d)["securityContext"].update(seccompProfile={"type": "Unconfined"})),
    ("init", "modules writable", lambda d: loader(d)["volumeMounts"][0].pop("readOnly")),
    ("init", "sysfs for it", lambda d: loader(d)["volumeMounts"].append({"name": "sys", "mountPath": "/host/sys"})),
    ("init", "another command", lambda d: loader(d).update(command=["/usr/bin/modprobe", "--remove", "vfio-pci"])),
    ("init", "a second one", lambda d: pod(d)["initContainers"].append({"name": "x", "image": "x"})),
    ("no-capabilities", "its capability in the gate",
     lambda d: security(d, GATE)["capabilities"].update(add=["SYS_MODULE"])),
    ("mounts", "modules in hardware", lambda d: add_mount(d, HARDWARE, name="modules", mountPath="/host/lib/modules")),
    ("volumes", "more than modules", lambda d: volume(d, "modules")["hostPath"].update(path="/lib")),
]

# What must be an unknown field, a missing one, or a value of the wrong kind.
MISSPELT = [
    ("hostPid: unknown field", lambda d: pod(d).update(hostPid=True)),
    ("readonly: unknown field", lambda d: mount(d, HARDWARE, "dev").update(readonly=True)),
    ("Capabilities: unknown field", lambda d: security(d, GATE).update(Capabilities={})),
    ("labels: unknown field", lambda d: d.update(labels={})),
    ("image: missing", lambda d: container(d, GATE).pop("image")),
    ("runAsUser: '0' is no int", lambda d: security(d, GATE).update(runAsUser="0")),
    ("type: 'Dir' is none of", lambda d: volume(d, "sys")["hostPath"].update(type="Dir")),
    ("kind", lambda d: d.update(kind="Job")),
]
