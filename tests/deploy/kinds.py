"""The few kinds of Kubernetes that deploy/ uses, with the fields that it may use: hand-kept, so that a misspelt
field, which an API server might drop in silence, is an error here.

str, int, bool: that. {"a", "b"}: one of these. [T]: a list of T. (T, U): either. {"key": T}: these keys and no others;
"key!" has to be there; {"*": T}: any keys."""

LABELS = {"*": str}
METADATA = {"name!": str, "namespace": str, "labels": LABELS, "annotations": LABELS}
CAPABILITIES = {"drop": [str], "add": [str]}
SECCOMP = {"type!": {"RuntimeDefault", "Localhost", "Unconfined"}, "localhostProfile": str}
APPARMOR = {"type!": {"RuntimeDefault", "Localhost", "Unconfined"}, "localhostProfile": str}
CONTAINER_SECURITY = {
    "runAsUser": int, "runAsGroup": int, "runAsNonRoot": bool, "privileged": bool, "allowPrivilegeEscalation": bool,
    "readOnlyRootFilesystem": bool, "capabilities": CAPABILITIES, "seccompProfile": SECCOMP, "appArmorProfile": APPARMOR,
    "procMount": str,
}
POD_SECURITY = {
    "seccompProfile": SECCOMP, "fsGroup": int, "supplementalGroups": [int], "runAsUser": int, "runAsGroup": int,
    "runAsNonRoot": bool,
}
PROBE = {
    "exec": {"command!": [str]}, "httpGet": {"path!": str, "port!": (str, int)}, "periodSeconds": int,
    "timeoutSeconds": int, "failureThreshold": int, "initialDelaySeconds": int,
}
QUANTITIES = {"memory": str, "cpu": (str, int, float)}
MOUNT = {
    "name!": str, "mountPath!": str, "readOnly": bool, "recursiveReadOnly": {"Disabled", "IfPossible", "Enabled"},
    "subPath": str, "mountPropagation": {"None", "HostToContainer", "Bidirectional"},
}
CONTAINER = {
    "name!": str, "image!": str, "imagePullPolicy": {"Always", "IfNotPresent", "Never"}, "command": [str], "args": [str],
    "ports": [{"name": str, "containerPort!": int, "protocol": {"TCP", "UDP"}}], "securityContext": CONTAINER_SECURITY,
    "readinessProbe": PROBE, "livenessProbe": PROBE, "startupProbe": PROBE,
    "resources": {"requests": QUANTITIES, "limits": QUANTITIES, "claims": [{"name!": str, "request": str}]},
    "volumeMounts": [MOUNT], "env": [{"name!": str, "valueFrom!": {"fieldRef!": {"fieldPath!": str}}}],
}
HOST_PATH_TYPE = {"Directory", "DirectoryOrCreate", "File", "FileOrCreate", "Socket", "CharDevice", "BlockDevice", ""}
VOLUME = {
    "name!": str, "hostPath": {"path!": str, "type": HOST_PATH_TYPE}, "configMap": {"name!": str},
    "emptyDir": {"medium": {"", "Memory"}, "sizeLimit": str},
    "projected": {"sources!": [{
        "serviceAccountToken": {"path!": str, "audience": str, "expirationSeconds": int},
        "configMap": {"name!": str, "items": [{"key!": str, "path!": str}]},
        "downwardAPI": {"items": [{"path!": str, "fieldRef!": {"fieldPath!": str}}]},
    }]},
}
TOLERATION = {
    "key": str, "operator": {"Exists", "Equal"}, "value": str,
    "effect": {"NoSchedule", "PreferNoSchedule", "NoExecute"}, "tolerationSeconds": int,
}
POD = {
    "containers!": [CONTAINER], "initContainers": [CONTAINER], "volumes": [VOLUME], "serviceAccountName": str,
    "automountServiceAccountToken": bool, "enableServiceLinks": bool, "priorityClassName": str,
    "terminationGracePeriodSeconds": int, "securityContext": POD_SECURITY, "nodeSelector": LABELS,
    "tolerations": [TOLERATION], "imagePullSecrets": [{"name!": str}], "hostNetwork": bool, "hostPID": bool,
    "hostIPC": bool, "hostUsers": bool, "shareProcessNamespace": bool,
    "restartPolicy": {"Always", "OnFailure", "Never"},
    "resourceClaims": [{"name!": str, "resourceClaimName": str, "resourceClaimTemplateName": str}],
}
SELECTOR = {"matchLabels!": LABELS}
DAEMON_SET = {
    "selector!": SELECTOR, "template!": {"metadata!": {"labels!": LABELS, "annotations": LABELS}, "spec!": POD},
    "updateStrategy": {
        "type!": {"RollingUpdate", "OnDelete"},
        "rollingUpdate": {"maxSurge": (int, str), "maxUnavailable": (int, str)},
    },
}
SERVICE = {
    "clusterIP": str, "publishNotReadyAddresses": bool, "selector": LABELS,
    "ports!": [{"name": str, "port!": int, "targetPort": (str, int), "protocol": {"TCP", "UDP"}}],
}
POLICY_PORTS = [{"port!": (int, str), "protocol": {"TCP", "UDP"}}]
PEERS = [{"podSelector": SELECTOR, "namespaceSelector": SELECTOR, "ipBlock": {"cidr!": str}}]
NETWORK_POLICY = {
    "podSelector!": SELECTOR, "policyTypes": [{"Ingress", "Egress"}],
    "ingress": [{"ports": POLICY_PORTS, "from": PEERS}], "egress": [{"ports": POLICY_PORTS, "to": PEERS}],
}
RULE = {"apiGroups!": [str], "resources!": [str], "resourceNames": [str], "verbs!": [str]}
EXPRESSION = {"name!": str, "expression!": str}
ADMISSION_POLICY = {
    "failurePolicy!": {"Fail", "Ignore"}, "matchConditions": [EXPRESSION], "variables": [EXPRESSION],
    "matchConstraints!": {"matchPolicy": {"Exact", "Equivalent"}, "resourceRules!": [{
        "apiGroups!": [str], "apiVersions!": [str], "operations!": [{"CREATE", "UPDATE", "DELETE", "CONNECT"}],
        "resources!": [str],
    }]},
    "validations!": [{"expression!": str, "message!": str}],
}
ENDPOINT = {
    "port!": str, "path": str, "interval": str, "relabelings": [{"sourceLabels!": [str], "targetLabel!": str}],
}
ALERT = {"alert!": str, "expr!": str, "for": str, "labels!": {"severity!": {"critical", "warning"}},
         "annotations!": {"summary!": str, "runbook_url!": str}}
PATCH = {"path": str, "target": {"kind!": str, "name": str}, "patch": str}
REPLACEMENT = {
    "source!": {"kind!": str, "name!": str, "fieldPath!": str},
    "targets!": [{"select!": {"kind!": str}, "fieldPaths!": [str], "options": {"create": bool}}],
}
KUSTOMIZE = {"resources": [str], "patches": [PATCH], "components": [str], "replacements": [REPLACEMENT]}

SELECTORS = [{"cel!": {"expression!": str}}]
PARAMETERS = {  # as netd/dra/claims/device_parameters.h
    "apiVersion!": {"vfio.vfiogate.dev/v1alpha1"}, "kind!": {"DeviceConfig"},
    "vfio": {"auto", "legacy", "iommufd", "both"}, "bind": {"allowed", "never"},
}
OPAQUE = {"driver!": {"vfio.vfiogate.dev"}, "parameters!": PARAMETERS}
DEVICE_CLASS = {"selectors": SELECTORS, "config": [{"opaque!": OPAQUE}], "extendedResourceName": str}
EXACTLY = {
    "deviceClassName!": str, "selectors": SELECTORS, "count": int, "allocationMode": {"ExactCount", "All"},
    "tolerations": [{"key": str, "operator": {"Exists", "Equal"}, "value": str, "effect": {"NoSchedule", "NoExecute"}}],
}
CLAIM = {"devices!": {
    # `exactly` is of v1 and v1beta2; in v1beta1 its fields are the request's own.
    "requests!": [{"name!": str, "deviceClassName": str, "exactly": EXACTLY, "firstAvailable": [{"name!": str} | EXACTLY]}],
    "constraints": [{"requests": [str], "matchAttribute!": str}],
    "config": [{"requests": [str], "opaque!": OPAQUE}],
}}
BY_CLAIM = [{"name!": str, "claimName!": str, "requestName!": str}]
MACHINE = {
    "domain!": {"memory": {"guest!": str}, "devices": {"gpus": BY_CLAIM, "hostDevices": BY_CLAIM}},
    "resourceClaims": [{"name!": str, "resourceClaimName": str, "resourceClaimTemplateName": str}],
}


def whole(version: str, kind: str, rest: dict, *others: str) -> dict:
    """`others`: versions in which it is the same."""
    return {"apiVersion!": {version, *others}, "kind!": {kind}, "metadata!": METADATA} | rest


KINDS = {
    "Namespace": whole("v1", "Namespace", {}),
    "ServiceAccount": whole("v1", "ServiceAccount", {"automountServiceAccountToken": bool}),
    "ConfigMap": whole("v1", "ConfigMap", {"data!": {"*": str}}),
    "DaemonSet": whole("apps/v1", "DaemonSet", {"spec!": DAEMON_SET}),
    "Service": whole("v1", "Service", {"spec!": SERVICE}),
    "NetworkPolicy": whole("networking.k8s.io/v1", "NetworkPolicy", {"spec!": NETWORK_POLICY}),
    "ClusterRole": whole("rbac.authorization.k8s.io/v1", "ClusterRole", {"rules!": [RULE]}),
    "ClusterRoleBinding": whole("rbac.authorization.k8s.io/v1", "ClusterRoleBinding", {
        "roleRef!": {"apiGroup!": {"rbac.authorization.k8s.io"}, "kind!": {"ClusterRole"}, "name!": str},
        "subjects!": [{"kind!": {"ServiceAccount"}, "name!": str, "namespace!": str}],
    }),
    "ValidatingAdmissionPolicy": whole(
        "admissionregistration.k8s.io/v1", "ValidatingAdmissionPolicy", {"spec!": ADMISSION_POLICY}
    ),
    "ValidatingAdmissionPolicyBinding": whole(
        "admissionregistration.k8s.io/v1", "ValidatingAdmissionPolicyBinding",
        {"spec!": {"policyName!": str, "validationActions!": [{"Deny", "Warn", "Audit"}]}},
    ),
    "Pod": whole("v1", "Pod", {"spec!": POD}),
    "DeviceClass": whole("resource.k8s.io/v1", "DeviceClass", {"spec!": DEVICE_CLASS}),
    "ResourceClaim": whole("resource.k8s.io/v1", "ResourceClaim", {"spec!": CLAIM}),
    "ResourceClaimTemplate": whole("resource.k8s.io/v1", "ResourceClaimTemplate", {"spec!": {"spec!": CLAIM}},
                                   "resource.k8s.io/v1beta1"),
    "VirtualMachineInstance": whole("kubevirt.io/v1", "VirtualMachineInstance", {"spec!": MACHINE}),
    "PodMonitor": whole(
        "monitoring.coreos.com/v1", "PodMonitor", {"spec!": {"selector!": SELECTOR, "podMetricsEndpoints!": [ENDPOINT]}}
    ),
    "ServiceMonitor": whole(
        "monitoring.coreos.com/v1", "ServiceMonitor", {"spec!": {"selector!": SELECTOR, "endpoints!": [ENDPOINT]}}
    ),
    "PrometheusRule": whole(
        "monitoring.coreos.com/v1", "PrometheusRule", {"spec!": {"groups!": [{"name!": str, "rules!": [ALERT]}]}}
    ),
    "Kustomization": {"apiVersion!": {"kustomize.config.k8s.io/v1beta1"}, "kind!": {"Kustomization"}} | KUSTOMIZE,
    "Component": {"apiVersion!": {"kustomize.config.k8s.io/v1alpha1"}, "kind!": {"Component"}} | KUSTOMIZE,
}


def faults_of_fields(value: dict, schema: dict, where: str) -> list[str]:
    found = [
        f"{where}.{key[:-1]}: missing" for key in schema if key.endswith("!") and key[:-1] not in value
    ]
    for key, below in value.items():
        wanted = schema.get(key, schema.get(f"{key}!", schema.get("*")))
        found += [f"{where}.{key}: unknown field"] if wanted is None else faults(below, wanted, f"{where}.{key}")
    return found


def faults(value, schema, where: str) -> list[str]:
    """What is wrong with it, each with its place."""
    if isinstance(schema, tuple):
        return [] if any(not faults(value, one, where) for one in schema) else [f"{where}: {value!r} is none of {schema}"]
    if isinstance(schema, set):
        return [] if isinstance(value, str) and value in schema else [f"{where}: {value!r} is none of {sorted(schema)}"]
    if isinstance(schema, type):
        return [] if type(value) is schema else [f"{where}: {value!r} is no {schema.__name__}"]
    if isinstance(schema, list):
        if not isinstance(value, list):
            return [f"{where}: no list"]
        return [f for i, one in enumerate(value) for f in faults(one, schema[0], f"{where}[{i}]")]
    return faults_of_fields(value, schema, where) if isinstance(value, dict) else [f"{where}: no map"]


def faults_of(document: dict) -> list[str]:
    kind = document.get("kind", "(no kind)")
    if kind not in KINDS:
        return [f"{kind}: unknown kind"]
    return faults(document, KINDS[kind], kind)
