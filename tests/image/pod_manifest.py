"""A DaemonSet's pod as values: what has to be known to run it. A field that is not known here is an error, so that
nothing of a manifest is left out in silence."""

import dataclasses
import re

UNITS = {"": 1, "Ki": 1 << 10, "Mi": 1 << 20, "Gi": 1 << 30, "k": 10**3, "M": 10**6, "G": 10**9}
REQUIRED = object()


class ManifestError(Exception):
    pass


@dataclasses.dataclass(frozen=True)
class Volume:
    name: str
    kind: str  # hostPath, emptyDir or configMap
    source: str = ""  # the host's path, or the ConfigMap's name
    host_type: str = ""
    in_memory: bool = False
    size: int = 0  # bytes; 0: no limit


@dataclasses.dataclass(frozen=True)
class Mount:
    volume: str
    path: str
    read_only: bool
    recursive: bool  # what is mounted below is read-only, too


@dataclasses.dataclass(frozen=True)
class Probe:
    period: int  # seconds, as the next
    timeout: int
    failures: int  # in a row, until it counts
    command: tuple[str, ...] = ()
    path: str = ""
    port: int = 0


@dataclasses.dataclass(frozen=True)
class Seccomp:
    kind: str  # RuntimeDefault, Localhost or Unconfined
    file: str = ""  # of Localhost: below the kubelet's directory for profiles


@dataclasses.dataclass(frozen=True)
class Container:
    name: str
    image: str
    command: tuple[str, ...]
    uid: int
    gid: int
    drop: tuple[str, ...]
    seccomp: Seccomp
    may_escalate: bool
    read_only_root: bool
    memory: int  # bytes; its limit
    mounts: tuple[Mount, ...]
    readiness: Probe | None
    liveness: Probe | None


@dataclasses.dataclass(frozen=True)
class Pod:
    name: str
    grace: int  # seconds
    before: tuple[Container, ...]  # each runs to its end before the next one, and before the others
    containers: dict[str, Container]
    volumes: dict[str, Volume]


class Fields:
    """A map that has to be used up."""

    def __init__(self, value: dict, where: str):
        if not isinstance(value, dict):
            raise ManifestError(f"{where}: {value!r} is no map")
        self.left, self.where = dict(value), where

    def take(self, key: str, default=REQUIRED):
        if key not in self.left and default is REQUIRED:
            raise ManifestError(f"{self.where}.{key}: missing")
        return self.left.pop(key, default)

    def below(self, key: str, default=REQUIRED) -> "Fields":
        return Fields(self.take(key, default), f"{self.where}.{key}")

    def each(self, key: str) -> list["Fields"]:
        return [Fields(one, f"{self.where}.{key}[{i}]") for i, one in enumerate(self.take(key, []))]

    def want(self, key: str, *values) -> None:
        """Only these can be run here; the first is Kubernetes' default."""
        found = self.take(key, values[0])
        if found not in values:
            raise ManifestError(f"{self.where}.{key}: {found!r} cannot be run here, only {values}")

    def pass_over(self, *keys: str) -> None:
        """Fields that change nothing of how a container runs."""
        for key in keys:
            self.left.pop(key, None)

    def end(self) -> None:
        if self.left:
            raise ManifestError(f"{self.where}: it is not known how to run {', '.join(sorted(self.left))}")


def bytes_of(text: str, where: str) -> int:
    found = re.fullmatch(r"(\d+)([A-Za-z]*)", str(text))
    if found is None or found[2] not in UNITS:
        raise ManifestError(f"{where}: {text!r} is no quantity of bytes")
    return int(found[1]) * UNITS[found[2]]


def volume_of(fields: Fields) -> Volume:
    name = fields.take("name")
    kinds = sorted(fields.left)
    if kinds not in (["hostPath"], ["emptyDir"], ["configMap"]):
        raise ManifestError(f"{fields.where}: volume {name} is of {kinds}, which cannot be made here")
    source = fields.below(kinds[0])
    if kinds == ["hostPath"]:
        made = Volume(name, "hostPath", source.take("path"), source.take("type", ""))
    elif kinds == ["configMap"]:
        made = Volume(name, "configMap", source.take("name"))
    else:
        medium = source.take("medium", "")
        size = bytes_of(source.take("sizeLimit", "0"), source.where)
        made = Volume(name, "emptyDir", in_memory=medium == "Memory", size=size)
    source.end()
    return made


def mount_of(fields: Fields) -> Mount:
    name, path = fields.take("name"), fields.take("mountPath")
    read_only = fields.take("readOnly", False)
    recursive = fields.take("recursiveReadOnly", "Disabled")
    if recursive not in ("Disabled", "IfPossible", "Enabled"):
        raise ManifestError(f"{fields.where}.recursiveReadOnly: {recursive!r}")
    fields.want("mountPropagation", "None")
    fields.end()
    return Mount(name, path, read_only, recursive != "Disabled")


def probe_of(fields: Fields, ports: dict[str, int]) -> Probe:
    timing = {"period": fields.take("periodSeconds", 10), "timeout": fields.take("timeoutSeconds", 1)}
    timing["failures"] = fields.take("failureThreshold", 3)
    fields.want("initialDelaySeconds", 0)
    if "exec" in fields.left:
        how = fields.below("exec")
        probe = Probe(**timing, command=tuple(how.take("command")))
    else:
        how = fields.below("httpGet")
        port = how.take("port")
        if isinstance(port, str) and port not in ports:
            raise ManifestError(f"{how.where}.port: the container names no port {port!r}")
        probe = Probe(**timing, path=how.take("path", "/"), port=ports.get(port, port))
    how.end()
    fields.end()
    return probe


def ports_of(fields: Fields) -> dict[str, int]:
    ports = {}
    for port in fields.each("ports"):
        ports[port.take("name", "")] = port.take("containerPort")
        port.want("protocol", "TCP")
        port.end()
    return ports


def seccomp_of(security: Fields, otherwise: Seccomp) -> Seccomp:
    """A container's own, or the pod's; without either the kubelet asks for none."""
    if "seccompProfile" not in security.left:
        return otherwise
    fields = security.below("seccompProfile")
    found = Seccomp(fields.take("type"), fields.take("localhostProfile", ""))
    fields.end()
    if found.kind not in ("RuntimeDefault", "Localhost", "Unconfined") or (found.kind == "Localhost") != bool(found.file):
        raise ManifestError(f"{fields.where}: {found} is no seccomp profile")
    return found


def container_of(fields: Fields, of_the_pod: Seccomp) -> Container:
    ports = ports_of(fields)
    security, resources = fields.below("securityContext", {}), fields.below("resources", {})
    probes = [
        probe_of(fields.below(key), ports) if key in fields.left else None
        for key in ("readinessProbe", "livenessProbe")
    ]
    capabilities = security.below("capabilities", {})
    limits = resources.below("limits", {})
    mounts = [mount_of(mount) for mount in fields.each("volumeMounts")]
    container = Container(
        name=fields.take("name"),
        image=fields.take("image"),
        command=tuple(fields.take("command")) + tuple(fields.take("args", [])),
        uid=security.take("runAsUser"),
        gid=security.take("runAsGroup"),
        drop=tuple(capabilities.take("drop", [])),
        seccomp=seccomp_of(security, of_the_pod),
        may_escalate=security.take("allowPrivilegeEscalation", True),
        read_only_root=security.take("readOnlyRootFilesystem", False),
        memory=bytes_of(limits.take("memory"), limits.where),
        mounts=tuple(mounts),
        readiness=probes[0],
        liveness=probes[1],
    )
    if security.take("runAsNonRoot", False) and container.uid == 0:
        raise ManifestError(f"{security.where}: runAsNonRoot, and runAsUser is 0")
    security.want("privileged", False)
    fields.pass_over("imagePullPolicy")
    resources.pass_over("requests")
    for one in (capabilities, limits, resources, security, fields):
        one.end()
    return container


def pod_of(daemon_set: dict) -> Pod:
    whole = Fields(daemon_set["spec"]["template"]["spec"], daemon_set["metadata"]["name"])
    security = whole.below("securityContext", {})
    seccomp = seccomp_of(security, Seccomp("Unconfined"))
    security.end()
    before = [container_of(container, seccomp) for container in whole.each("initContainers")]
    containers = [container_of(container, seccomp) for container in whole.each("containers")]
    volumes = [volume_of(volume) for volume in whole.each("volumes")]
    for container in before + containers:
        unknown = {mount.volume for mount in container.mounts} - {volume.name for volume in volumes}
        if unknown:
            raise ManifestError(f"{container.name}: no volume {', '.join(sorted(unknown))}")
    pod = Pod(
        name=daemon_set["metadata"]["name"],
        grace=whole.take("terminationGracePeriodSeconds", 30),
        before=tuple(before),
        containers={container.name: container for container in containers},
        volumes={volume.name: volume for volume in volumes},
    )
    # Said here: no token is mounted. With one the pod would have one more volume.
    if whole.take("automountServiceAccountToken", True):
        raise ManifestError(f"{whole.where}: a service account's token cannot be made here")
    whole.pass_over("serviceAccountName", "enableServiceLinks", "priorityClassName", "nodeSelector", "tolerations")
    whole.end()
    return pod
