"""What the account may do at the API server, as data: with DRA these rules, policies and no others, without it nothing."""

ACCOUNT = "system:serviceaccount:vfiogate:vfiogate"
DRIVER = "vfio.vfiogate.dev"
GROUP = ["resource.k8s.io"]
RULES = [
    {"apiGroups": GROUP, "resources": ["resourceclaims"], "verbs": ["get"]},
    {"apiGroups": GROUP, "resources": ["resourceslices"],
     "verbs": ["get", "list", "watch", "create", "update", "delete"]},
    {"apiGroups": [""], "resources": ["nodes"], "verbs": ["get"]},
    {"apiGroups": GROUP, "resources": ["resourceclaims/status"], "verbs": ["update"]},
    {"apiGroups": GROUP, "resources": ["resourceclaims/driver"], "resourceNames": [DRIVER],
     "verbs": ["associated-node:update"]},
]
# Policy -> what of the group it is asked about.
POLICIES = {
    "vfiogate-dra-slices": (["resourceslices"], ["CREATE", "UPDATE", "DELETE"]),
    "vfiogate-dra-claims": (["resourceclaims/status"], ["UPDATE"]),
}


def of_kind(kind: str, found: list[dict]) -> dict[str, dict]:
    return {document["metadata"]["name"]: document for document in found if document["kind"] == kind}


def broken_role(found: list[dict]) -> list[str]:
    roles, bindings = of_kind("ClusterRole", found), of_kind("ClusterRoleBinding", found)
    if list(roles) != ["vfiogate-dra"] or roles["vfiogate-dra"]["rules"] != RULES:
        return [f"role: {roles}"]
    wanted = {
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "vfiogate-dra"},
        "subjects": [{"kind": "ServiceAccount", "name": "vfiogate", "namespace": "vfiogate"}],
    }
    there = [{key: binding[key] for key in wanted} for binding in bindings.values()]
    return [] if there == [wanted] else [f"binding: {there}"]


def broken_policy(name: str, policy: dict, bindings: list[dict]) -> list[str]:
    spec, (resources, operations) = policy["spec"], POLICIES[name]
    rule = {"apiGroups": GROUP, "apiVersions": ["v1", "v1beta2", "v1beta1"], "operations": operations, "resources": resources}
    found = []
    if spec["failurePolicy"] != "Fail":
        found.append(f"fails-open: {name}")
    if spec["matchConstraints"] != {"matchPolicy": "Equivalent", "resourceRules": [rule]}:
        found.append(f"asked-about: {name}: {spec['matchConstraints']}")
    if [c["expression"] for c in spec["matchConditions"]] != [f'request.userInfo.username == "{ACCOUNT}"']:
        found.append(f"account: {name}: {spec['matchConditions']}")
    if [b["validationActions"] for b in bindings if b["policyName"] == name] != [["Deny"]]:
        found.append(f"not-bound: {name}")
    return found


def broken(found: list[dict], dra: bool = False, policies: bool = True) -> list[str]:
    """What does not hold, each as "name: what"."""
    wanted = sorted(POLICIES) if dra and policies else []
    there = of_kind("ValidatingAdmissionPolicy", found)
    bindings = [b["spec"] for b in of_kind("ValidatingAdmissionPolicyBinding", found).values()]
    if sorted(there) != wanted:
        return [f"policies: {sorted(there)}"]
    wrong = [fault for name in wanted for fault in broken_policy(name, there[name], bindings)]
    if dra:
        return wrong + broken_role(found)
    granted = [d["kind"] for d in found if d["kind"].endswith(("Role", "RoleBinding"))]
    return wrong + ([f"role: {granted}"] if granted else [])
