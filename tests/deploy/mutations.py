"""Changes for the worse, each with the name of the rule that must see it."""

PRIVD, PLUGIND, NETD, NETD_DRA = 0, 1, 2, 3


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
    ("not-privileged", "privd privileged", lambda d: security(d, PRIVD).update(privileged=True)),
    ("not-privileged", "nothing said of privileged", lambda d: security(d, NETD).pop("privileged")),
    ("no-escalation", "plugind may escalate", lambda d: security(d, PLUGIND).update(allowPrivilegeEscalation=True)),
    ("rights", "binding that nobody asked for", lambda d: container(d, PRIVD)["args"].__setitem__(2, "--plugind-rights=watch,bind")),
    ("no-capabilities", "a capability", lambda d: security(d, PRIVD)["capabilities"].update(add=["SYS_ADMIN"])),
    ("no-capabilities", "none dropped", lambda d: security(d, NETD).pop("capabilities")),
    ("read-only-root", "a writable root", lambda d: security(d, PRIVD).update(readOnlyRootFilesystem=False)),
    ("user", "plugind as root", lambda d: security(d, PLUGIND).update(runAsUser=0)),
    ("user", "netd as plugind", lambda d: security(d, NETD).update(runAsUser=64532)),
    ("non-root", "netd may be root", lambda d: security(d, NETD).pop("runAsNonRoot")),
    ("seccomp", "a container without", lambda d: security(d, PRIVD).update(seccompProfile={"type": "Unconfined"})),
    ("seccomp", "a pod without seccomp", lambda d: pod(d)["securityContext"].pop("seccompProfile")),
    ("proc-mount", "an unmasked /proc", lambda d: security(d, PRIVD).update(procMount="Unmasked")),
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
    ("init", "a container before", lambda d: pod(d).update(initContainers=[{"name": "x", "image": "x"}])),
    ("containers", "a fourth container", lambda d: pod(d)["containers"].append({"name": "x", "image": "x"})),
    ("containers", "no netd", lambda d: pod(d)["containers"].pop()),
    ("mounts", "/dev writable", lambda d: mount(d, PRIVD, "dev").update(readOnly=False)),
    ("mounts", "pod-resources writable", lambda d: mount(d, PRIVD, "pod-resources").pop("readOnly")),
    ("mounts", "plugind's socket writable for privd", lambda d: mount(d, PRIVD, "plugind-socket").pop("readOnly")),
    ("mounts", "plugind's socket writable for netd", lambda d: mount(d, NETD, "plugind-socket").pop("readOnly")),
    ("mounts", "privd's state in netd",
     lambda d: add_mount(d, NETD, name="state", mountPath="/var/lib/vfiogate", readOnly=True)),
    ("mounts", "sysfs in plugind", lambda d: add_mount(d, PLUGIND, name="sys", mountPath="/host/sys", readOnly=True)),
    ("mounts", "sysfs at /sys", lambda d: mount(d, PRIVD, "sys").update(mountPath="/sys")),
    ("mounts", "the configuration elsewhere", lambda d: mount(d, PLUGIND, "config").update(mountPath="/config")),
    ("mounts", "the configuration by subPath", lambda d: mount(d, PRIVD, "config").update(subPath="plugind.yaml")),
    ("mounts", "CDI without being asked", lambda d: add_mount(d, PRIVD, name="cdi", mountPath="/var/run/cdi")),
    ("mounts", "mounts that spread", lambda d: mount(d, PRIVD, "sys").update(mountPropagation="Bidirectional")),
    ("volumes", "the whole of the kubelet",
     lambda d: volume(d, "device-plugins")["hostPath"].update(path="/var/lib/kubelet")),
    ("volumes", "a host's file", lambda d: add_volume(d, "proc", hostPath={"path": "/proc", "type": "Directory"})),
    ("volumes", "sockets on disk", lambda d: volume(d, "plugind-socket").update(emptyDir={})),
    ("no-surge", "maxSurge", lambda d: rolling(d).update(maxSurge=1)),
    ("unavailable", "an update that cannot go on", lambda d: rolling(d).update(maxUnavailable=0)),
    ("selector", "another label", lambda d: d["spec"]["template"]["metadata"]["labels"].pop("vfiogate.dev/node-class")),
    ("memory", "no limit", lambda d: container(d, NETD)["resources"].pop("limits")),
    ("probes", "no probe", lambda d: container(d, PLUGIND).pop("readinessProbe")),
    ("driver", "DRA that nobody asked for", lambda d: container(d, PRIVD)["args"].append("--dra-driver=vfio.vfiogate.dev")),
    ("environment", "a variable", lambda d: container(d, NETD).update(env=[{"name": "X", "value": "x"}])),
]
API_ACCESS = {"name": "api-access", "mountPath": "/var/run/secrets/kubernetes.io/serviceaccount", "readOnly": True}


def sources(daemon_set: dict) -> list[dict]:
    return volume(daemon_set, "api-access")["projected"]["sources"]


# Of a pod with a DRA driver.
DRA_MUTATIONS = [
    ("mounts", "the token in privd", lambda d: add_mount(d, PRIVD, **API_ACCESS)),
    ("mounts", "the token in plugind", lambda d: add_mount(d, PLUGIND, **API_ACCESS)),
    ("mounts", "the token in netd", lambda d: add_mount(d, NETD, **API_ACCESS)),
    ("mounts", "the token writable", lambda d: mount(d, NETD_DRA, "api-access").pop("readOnly")),
    ("mounts", "privd's state in netd-dra",
     lambda d: add_mount(d, NETD_DRA, name="state", mountPath="/var/lib/vfiogate", readOnly=True)),
    ("mounts", "the registry in plugind",
     lambda d: add_mount(d, PLUGIND, name="plugins-registry", mountPath="/var/lib/kubelet/plugins_registry")),
    ("mounts", "the driver's directory elsewhere",
     lambda d: mount(d, PRIVD, "dra-plugin").update(mountPath="/var/lib/kubelet/plugins")),
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
    ("driver", "another driver", lambda d: container(d, PRIVD)["args"].__setitem__(3, "--dra-driver=x.example")),
    ("rights", "no right to write specs", lambda d: container(d, PRIVD)["args"].__setitem__(2, "--plugind-rights=watch,kubelet")),
    ("containers", "two of them", lambda d: pod(d)["containers"].append(container(d, NETD_DRA))),
    ("memory", "no limit", lambda d: container(d, NETD_DRA)["resources"].pop("limits")),
]

def loader(daemon_set: dict) -> dict:
    return pod(daemon_set)["initContainers"][0]


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
    ("no-capabilities", "its capability in privd",
     lambda d: security(d, PRIVD)["capabilities"].update(add=["SYS_MODULE"])),
    ("mounts", "modules in privd", lambda d: add_mount(d, PRIVD, name="modules", mountPath="/host/lib/modules")),
    ("volumes", "more than modules", lambda d: volume(d, "modules")["hostPath"].update(path="/lib")),
]

# What must be an unknown field, a missing one, or a value of the wrong kind.
MISSPELT = [
    ("hostPid: unknown field", lambda d: pod(d).update(hostPid=True)),
    ("readonly: unknown field", lambda d: mount(d, PRIVD, "dev").update(readonly=True)),
    ("Capabilities: unknown field", lambda d: security(d, PRIVD).update(Capabilities={})),
    ("labels: unknown field", lambda d: d.update(labels={})),
    ("image: missing", lambda d: container(d, PRIVD).pop("image")),
    ("runAsUser: '0' is no int", lambda d: security(d, PRIVD).update(runAsUser="0")),
    ("type: 'Dir' is none of", lambda d: volume(d, "sys")["hostPath"].update(type="Dir")),
    ("kind", lambda d: d.update(kind="Job")),
]
