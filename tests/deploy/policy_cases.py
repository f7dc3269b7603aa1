"""What the account may do, and what the admission policies and the classes' selectors say, by an evaluator of CEL, which
node runs. An API server evaluates them in tests/cluster, `Account`."""

import copy
import json
import pathlib

import dra_worlds
import grants
import tools
from sources import KUBERNETES, TREE, Case, documents, of_kind, run

MANIFESTS = KUBERNETES / "components/dra/manifests.yaml"
EXAMPLES = TREE / "deploy/examples/dra"


def granted() -> list[dict]:
    return documents(MANIFESTS.read_text())


def policy(name: str) -> dict:
    return grants.of_kind("ValidatingAdmissionPolicy", granted())[name]["spec"]


def examples() -> list[dict]:
    return [document for file in sorted(EXAMPLES.glob("*.yaml")) for document in documents(file.read_text())]


def rules_of(found: list[dict]) -> list[dict]:
    return of_kind("ClusterRole", found)[0]["rules"]


def slices_policy(found: list[dict]) -> dict:
    return grants.of_kind("ValidatingAdmissionPolicy", found)["vfiogate-dra-slices"]["spec"]


WORSE = [
    ("role", "all claims", lambda f: rules_of(f)[0]["verbs"].append("list")),
    ("role", "deletecollection", lambda f: rules_of(f)[1]["verbs"].append("deletecollection")),
    ("role", "all that is", lambda f: rules_of(f).append({"apiGroups": ["*"], "resources": ["*"], "verbs": ["*"]})),
    ("role", "allocating", lambda f: rules_of(f)[4].update(resources=["resourceclaims/binding"])),
    ("role", "every driver", lambda f: rules_of(f)[4].pop("resourceNames")),
    ("role", "any node", lambda f: rules_of(f)[4].update(verbs=["arbitrary-node:update"])),
    ("role", "secrets", lambda f: rules_of(f)[2]["resources"].append("secrets")),
    ("binding", "everybody",
     lambda f: of_kind("ClusterRoleBinding", f)[0]["subjects"].append({"kind": "Group", "name": "system:authenticated"})),
    ("fails-open", "failurePolicy", lambda f: slices_policy(f).update(failurePolicy="Ignore")),
    ("asked-about", "not of deletions",
     lambda f: slices_policy(f)["matchConstraints"]["resourceRules"][0]["operations"].remove("DELETE")),
    ("account", "of others", lambda f: slices_policy(f)["matchConditions"][0].update(expression="false")),
    ("not-bound", "only warned",
     lambda f: of_kind("ValidatingAdmissionPolicyBinding", f)[0]["spec"].update(validationActions=["Warn"])),
    ("policies", "none", lambda f: f.remove(of_kind("ValidatingAdmissionPolicy", f)[0])),
]


class Grants(Case):
    """The rights of netd-dra's account, without any tool."""

    def test_the_component_grants_these_rights_and_no_others(self):
        self.assertEqual(grants.broken(granted(), dra=True), [])
        self.assertEqual({line.split(":")[0] for line in grants.broken(granted(), dra=False)}, {"policies"})

    def test_each_right_too_many_is_seen_by_its_name(self):
        for rule, what, mutate in WORSE:
            with self.subTest(rule=rule, what=what):
                worse = copy.deepcopy(granted())
                mutate(worse)
                self.assertEqual({line.split(":")[0] for line in grants.broken(worse, dra=True)}, {rule})


class Policies(Case):
    """What CEL says."""

    @classmethod
    def setUpClass(cls):
        try:
            cls.node, cls.library = tools.cel()
        except tools.Unavailable as reason:
            cls.skipTest(cls, str(reason))

    def evaluated(self, jobs: list[dict]) -> list[list]:
        """Of each job's expressions the values, all by one run; an error in any fails."""
        script = pathlib.Path(__file__).with_name("cel.mjs")
        done = run(self.node, script, self.library, input=json.dumps(jobs))
        self.assertEqual(done.returncode, 0, done.stderr)
        return json.loads(done.stdout)

    def said(self, spec: dict, worlds: list[dict]) -> list[list[str] | None]:
        """For each the messages of what does not hold; None: the policy is not asked."""
        conditions, validations = spec["matchConditions"], spec["validations"]
        expressions = [part["expression"] for part in conditions + validations]
        jobs = [{"world": world, "variables": spec["variables"], "expressions": expressions} for world in worlds]
        found = []
        for values in self.evaluated(jobs):
            asked, held = all(values[:len(conditions)]), values[len(conditions):]
            messages = [v["message"] for v, holds in zip(validations, held) if holds is not True]
            found.append(messages if asked else None)
        return found

    def assert_said(self, name: str, cases: list[tuple[dict, list[str] | None]]):
        spec = policy(name)
        for (world, wanted), there in zip(cases, self.said(spec, [world for world, _ in cases]), strict=True):
            with self.subTest(world):
                self.assertEqual(there, wanted)
        said = {message for _, wanted in cases for message in wanted or []}
        self.assertEqual(said, {v["message"] for v in spec["validations"]}, "each message is said in some case")

    def test_slices_are_of_the_token_s_node_and_of_the_driver(self):
        self.assert_said("vfiogate-dra-slices", dra_worlds.SLICES)

    def test_of_a_claim_s_status_only_its_own_devices_are_written(self):
        self.assert_said("vfiogate-dra-claims", dra_worlds.CLAIMS)

    def test_each_class_takes_the_devices_that_it_says(self):
        classes = {d["metadata"]["name"]: d["spec"] for d in of_kind("DeviceClass", examples())}
        self.assertEqual(sorted(classes), sorted(dra_worlds.CLASSES))
        for name, spec in classes.items():
            expressions = [s["cel"]["expression"] for s in spec["selectors"]]
            jobs = [{"world": {"device": d}, "variables": [], "expressions": expressions} for d in dra_worlds.DEVICES.values()]
            taken = {key for key, values in zip(dra_worlds.DEVICES, self.evaluated(jobs)) if all(values)}
            self.assertEqual(taken, dra_worlds.CLASSES[name], name)
