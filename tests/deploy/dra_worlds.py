"""Requests that the admission policies are asked about, and devices that selectors of classes see."""

DRIVER = "vfio.vfiogate.dev"
NODE_NAME = "authentication.kubernetes.io/node-name"
OURS = "system:serviceaccount:vfiogate:vfiogate"


def request(operation: str, node: str | None = "n1", user: str = OURS) -> dict:
    return {"operation": operation, "userInfo": {"username": user, "extra": {NODE_NAME: [node]} if node else {}}}


def piece(node: str | None = "n1", driver: str = DRIVER) -> dict:
    return {"spec": {"driver": driver, **({"nodeName": node} if node else {"allNodes": True})}}


def slices(operation: str, before: dict | None, after: dict | None, **who) -> dict:
    return {"request": request(operation, **who), "oldObject": before, "object": after}


WRITE = "a slice of another node or another driver cannot be written"
CHANGE = "a slice of another node or another driver cannot be changed"
NO_NODE = "the token names no node"
# what is asked, and what is said to it; None: the policy is not about this
SLICES = [
    (slices("CREATE", None, piece()), []),
    (slices("UPDATE", piece(), piece()), []),
    (slices("DELETE", piece(), None), []),
    (slices("CREATE", None, piece("n2")), [WRITE]),
    (slices("CREATE", None, piece(None)), [WRITE]),
    (slices("CREATE", None, piece(driver="gpu.example.com")), [WRITE]),
    (slices("UPDATE", piece("n2"), piece()), [CHANGE]),
    (slices("UPDATE", piece(), piece("n2")), [WRITE]),
    (slices("UPDATE", piece(driver="gpu.example.com"), piece()), [CHANGE]),
    (slices("DELETE", piece("n2"), None), [CHANGE]),
    (slices("DELETE", piece(None), None), [CHANGE]),
    (slices("DELETE", piece(driver="gpu.example.com"), None), [CHANGE]),
    (slices("CREATE", None, piece(), node=None), [NO_NODE, WRITE]),
    (slices("CREATE", None, piece(None), node=None), [NO_NODE]),
    (slices("DELETE", piece("n2"), None, user="system:node:n1"), None),
]


def device(node: str = "n1", driver: str = DRIVER) -> dict:
    return {"request": "gpu", "driver": driver, "pool": node, "device": "0000-17-00-0"}


def claim(results: list[dict] | None, said: list[dict] | None = None, users: list[str] | None = None) -> dict:
    status = {}
    if results is not None:
        status["allocation"] = {"devices": {"results": results}}
    if said is not None:
        status["devices"] = said
    if users is not None:
        status["reservedFor"] = [{"resource": "pods", "name": name} for name in users]
    return {"spec": {}, "status": status} if status else {"spec": {}}


def claims(before: dict, after: dict, **who) -> dict:
    return {"request": request("UPDATE", **who), "oldObject": before, "object": after}


MINE, THEIRS = device(), device(driver="gpu.example.com")
NOT_OURS = "the claim has no device of this driver on the token's node"
SCHEDULER = "what is allocated and reserved is the scheduler's"
OTHERS = "what other drivers say of their devices is theirs"
CLAIMS = [
    (claims(claim([MINE]), claim([MINE], [MINE])), []),
    (claims(claim([MINE], [MINE], ["p"]), claim([MINE], [], ["p"])), []),
    (claims(claim([MINE, THEIRS], [THEIRS]), claim([MINE, THEIRS], [THEIRS, MINE])), []),
    (claims(claim([MINE, THEIRS], [THEIRS]), claim([MINE, THEIRS], [MINE])), [OTHERS]),
    (claims(claim([MINE]), claim([MINE], [THEIRS])), [OTHERS]),
    (claims(claim([MINE]), claim([MINE, device("n2")])), [SCHEDULER]),
    (claims(claim([MINE]), claim(None, [MINE])), [SCHEDULER]),
    (claims(claim([MINE]), claim(None)), [SCHEDULER]),
    (claims(claim([MINE], users=["p"]), claim([MINE])), [SCHEDULER]),
    (claims(claim([MINE]), claim([MINE], users=["p"])), [SCHEDULER]),
    (claims(claim(None), claim(None, [MINE])), [NOT_OURS, SCHEDULER]),
    (claims(claim(None), claim([MINE])), [NOT_OURS, SCHEDULER]),
    (claims(claim([THEIRS]), claim([THEIRS], [MINE])), [NOT_OURS, SCHEDULER]),
    (claims(claim([device("n2")]), claim([device("n2")], [device("n2")])), [NOT_OURS, SCHEDULER]),
    (claims(claim([MINE]), claim([MINE], [MINE]), node=None), [NOT_OURS, SCHEDULER]),
    (claims(claim([THEIRS]), claim(None), user="system:kube-scheduler"), None),
]


def published(**attributes) -> dict:
    common = {"resource": "vfiogate.dev/10de_2684", "vendor": "10de", "device": "2684", "class": "030000"}
    return {"driver": DRIVER, "attributes": {
        DRIVER: common | attributes, "resource.kubernetes.io": {"pciBusID": "0000:17:00.0", "pcieRoot": "pci0000:16"},
    }}


CARD = published()
FUNCTION = published(resource="vfiogate.dev/fast-nic", vendor="15b3", device="101e", **{"class": "020000"}, sriov="vf", numaNode=0)
PORT = published(resource="vfiogate.dev/15b3_101d", vendor="15b3", device="101d", **{"class": "020000"})
GROUPED = published(resource="vfiogate.dev/group")
FOREIGN = {"driver": "gpu.example.com", "attributes": {DRIVER: {}, "gpu.example.com": {"vendor": "10de"}}}
DEVICES = {"card": CARD, "function": FUNCTION, "port": PORT, "grouped": GROUPED, "foreign": FOREIGN}
# class of deploy/examples/dra -> which of the devices it takes
CLASSES = {
    "nvidia-gpu.vfiogate.dev": {"card", "grouped"},
    "nvidia-gpu-legacy.vfiogate.dev": {"card", "grouped"},
    "network-function.vfiogate.dev": {"function"},
    "fast-nic.vfiogate.dev": {"function"},
    "group.vfiogate.dev": {"grouped"},
    "ad102.vfiogate.dev": {"card"},
}
