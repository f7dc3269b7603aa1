#!/usr/bin/env python3
"""The stand-in API server itself: versions, conflicts, selectors, watches, rules, faults, tokens."""

import http.client
import json
import pathlib
import sys
import tempfile
import threading
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import api_server  # noqa: E402

SLICES = "/apis/resource.k8s.io/v1/resourceslices"
CLAIMS = "/apis/resource.k8s.io/v1/namespaces/default/resourceclaims"


def slice_of(name: str, node: str = "n1", **spec) -> dict:
    return {"metadata": {"name": name},
            "spec": {"driver": "d.example", "nodeName": node, "pool": {"name": node, "generation": 1, "resourceSliceCount": 1},
                     "devices": [{"name": "a", "attributes": {"model": {"string": "x"}}}]} | spec}


class Served(unittest.TestCase):
    OPTIONS: tuple = ()

    def setUp(self):
        self.server = api_server.make_server([*self.OPTIONS, "--node", "n1"])
        threading.Thread(target=self.server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()

    def tearDown(self):
        self.server.api.stopping.set()
        self.server.api.store.end_watches(False)
        self.server.shutdown()
        self.server.server_close()

    def connect(self) -> http.client.HTTPConnection:
        connection = http.client.HTTPConnection("127.0.0.1", self.server.server_address[1], timeout=30)
        self.addCleanup(connection.close)
        return connection

    def ask(self, method: str, path: str, body=None, **headers):
        connection = self.connect()
        connection.request(method, path, json.dumps(body) if body is not None else None, headers)
        answer = connection.getresponse()
        text = answer.read()
        return answer.status, json.loads(text) if text else None

    def ask_plain(self, path: str) -> tuple[int, str]:
        connection = self.connect()
        connection.request("GET", path)
        answer = connection.getresponse()
        return answer.status, answer.read().decode()

    def good(self, *arguments, **headers):
        status, answer = self.ask(*arguments, **headers)
        self.assertIn(status, (200, 201), answer)
        return answer

    def refused(self, code: int, word: str, *arguments, **headers):
        status, answer = self.ask(*arguments, **headers)
        self.assertEqual(status, code, answer)
        self.assertEqual((answer["kind"], answer["code"]), ("Status", code))
        self.assertIn(word, answer["reason"] + answer["message"])


class Objects(Served):
    def test_versions_rise_and_conflicts_are_told(self):
        first = self.good("POST", SLICES, slice_of("s"))
        self.refused(409, "AlreadyExists", "POST", SLICES, slice_of("s"))
        changed = json.loads(json.dumps(first))
        changed["spec"]["devices"][0]["name"] = "b"
        second = self.good("PUT", f"{SLICES}/s", changed)
        self.assertGreater(int(second["metadata"]["resourceVersion"]), int(first["metadata"]["resourceVersion"]))
        self.assertEqual(second["metadata"]["uid"], first["metadata"]["uid"])
        self.refused(409, "Conflict", "PUT", f"{SLICES}/s", changed)
        same = self.good("PUT", f"{SLICES}/s", second)
        self.assertEqual(same["metadata"]["resourceVersion"], second["metadata"]["resourceVersion"])
        self.refused(422, "resourceVersion", "PUT", f"{SLICES}/s", slice_of("s"))

    def test_deletes_keep_their_preconditions(self):
        uid = self.good("POST", SLICES, slice_of("s"))["metadata"]["uid"]
        self.refused(409, "uid", "DELETE", f"{SLICES}/s", {"preconditions": {"uid": "other"}})
        self.refused(409, "resourceVersion", "DELETE", f"{SLICES}/s", {"preconditions": {"resourceVersion": "1"}})
        self.assertEqual(self.good("DELETE", f"{SLICES}/s", {"preconditions": {"uid": uid}})["status"], "Success")
        self.refused(404, "NotFound", "GET", f"{SLICES}/s")
        self.refused(404, "NotFound", "DELETE", f"{SLICES}/s")

    def test_selectors_choose_for_lists_and_the_wipe(self):
        for name, node in (("a", "n1"), ("b", "n1"), ("c", "n2")):
            self.good("POST", SLICES, slice_of(name, node))
        listed = self.good("GET", f"{SLICES}?fieldSelector=spec.nodeName%3Dn1,spec.driver%3Dd.example")
        self.assertEqual([item["metadata"]["name"] for item in listed["items"]], ["a", "b"])
        self.refused(400, "not supported", "GET", f"{SLICES}?fieldSelector=spec.pool%3Dn1")
        self.good("DELETE", f"{SLICES}?fieldSelector=spec.nodeName%3Dn1")
        self.assertEqual([item["metadata"]["name"] for item in self.good("GET", SLICES)["items"]], ["c"])

    def test_lists_come_in_pages_where_a_limit_is_asked_for(self):
        for name in "abcde":
            self.good("POST", SLICES, slice_of(name))
        names, token = [], ""
        for _ in range(3):
            page = self.good("GET", f"{SLICES}?limit=2&continue={token}")
            names.append([item["metadata"]["name"] for item in page["items"]])
            token = page["metadata"].get("continue")
        self.assertEqual((names, token), ([["a", "b"], ["c", "d"], ["e"]], None))

    def test_nodes_and_what_is_not_there(self):
        self.assertTrue(self.good("GET", "/api/v1/nodes/n1")["metadata"]["uid"])
        self.refused(404, "NotFound", "GET", "/api/v1/nodes/n9")
        self.assertEqual(self.ask_plain("/api/v1/pods"), (404, "404 page not found\n"))


class Claims(Served):
    RESULT = {"request": "main", "driver": "d.example", "pool": "n1", "device": "a"}

    def make(self) -> dict:
        return self.good("POST", CLAIMS, {"metadata": {"name": "c", "uid": "11111111-2222-3333-4444-555555555555"},
                                          "status": {"allocation": {"devices": {"results": [self.RESULT]}}}})

    def report(self, **change) -> dict:
        entry = {"driver": "d.example", "pool": "n1", "device": "a", "conditions": [
            {"type": "Ready", "status": "True", "reason": "Ready", "message": "", "lastTransitionTime": "2026-01-01T00:00:00Z"}]}
        return entry | change

    def test_the_status_is_written_apart_from_the_rest(self):
        claim = self.make()
        self.assertEqual(claim["metadata"]["uid"], "11111111-2222-3333-4444-555555555555")
        claim["status"]["devices"] = [self.report()]
        claim["spec"] = {"devices": {"requests": []}}
        stored = self.good("PUT", f"{CLAIMS}/c/status", claim)
        self.assertEqual(stored["status"]["devices"], [self.report()])
        self.assertNotIn("spec", stored)
        self.refused(409, "Conflict", "PUT", f"{CLAIMS}/c/status", claim)

    def test_only_allocated_devices_are_reported_and_well(self):
        claim = self.make()
        for change, word in (({"device": "b"}, "must be an allocated device"),
                             ({"conditions": [{"type": "Ready", "status": "True", "message": "",
                                               "lastTransitionTime": "x", "reason": ""}]}, "reason")):
            claim["status"]["devices"] = [self.report(**change)]
            self.refused(422, word, "PUT", f"{CLAIMS}/c/status", claim)

    def test_an_allocation_is_cleared_and_never_changed(self):
        claim = self.make()
        claim["status"]["devices"] = [self.report()]
        claim = self.good("PUT", f"{CLAIMS}/c/status", claim)
        claim["status"]["allocation"]["devices"]["results"][0]["device"] = "b"
        self.refused(422, "immutable", "PUT", f"{CLAIMS}/c/status", claim)
        self.good("POST", "/_control", {"deallocate": "default/c"})
        self.assertEqual(self.good("GET", f"{CLAIMS}/c")["status"], {})

    def test_a_merge_patch_changes_what_it_names(self):
        self.make()
        patch = {"metadata": {"annotations": {"a": "b"}}}
        self.refused(415, "merge-patch", "PATCH", f"{CLAIMS}/c", patch, **{"Content-Type": "application/json"})
        patched = self.good("PATCH", f"{CLAIMS}/c", patch, **{"Content-Type": "application/merge-patch+json"})
        self.assertEqual(patched["metadata"]["annotations"], {"a": "b"})
        self.assertIn("allocation", patched["status"])


class Watches(Served):
    def watch(self, since: str, more: str = ""):
        connection = self.connect()
        connection.request("GET", f"{SLICES}?watch=1&resourceVersion={since}&fieldSelector=spec.nodeName%3Dn1{more}")
        return connection.getresponse()

    def version(self) -> str:
        return self.good("GET", SLICES)["metadata"]["resourceVersion"]

    def test_tells_all_since_a_version_and_of_the_selected_only(self):
        since = self.version()
        self.good("POST", SLICES, slice_of("a"))
        self.good("POST", SLICES, slice_of("other", "n2"))
        stream = self.watch(since)
        self.assertEqual(stream.status, 200)
        told = json.loads(stream.readline())
        self.assertEqual((told["type"], told["object"]["metadata"]["name"]), ("ADDED", "a"))
        self.good("DELETE", f"{SLICES}/a")
        told = json.loads(stream.readline())
        self.assertEqual(told["type"], "DELETED")
        self.assertEqual(told["object"]["metadata"]["resourceVersion"], self.version())

    def test_ends_when_its_time_is_over(self):
        self.assertEqual(self.watch(self.version(), "&timeoutSeconds=0").read(), b"")

    def test_versions_that_expired_are_gone(self):
        since = self.version()
        stream = self.watch(since)
        self.good("POST", "/_control", {"expireWatches": True})
        told = json.loads(stream.readline())
        self.assertEqual((told["type"], told["object"]["code"]), ("ERROR", 410))
        self.assertEqual(stream.readline(), b"")
        self.refused(410, "Expired", "GET", f"{SLICES}?watch=1&resourceVersion={since}")
        self.assertEqual(self.watch(self.version(), "&timeoutSeconds=0").status, 200)


class Rules(Served):
    def test_slices_that_break_a_rule_are_refused_by_the_field(self):
        device = {"name": "a"}
        taint = {"taints": [{"key": "k", "effect": "NoSchedule"}]}
        counter = {"name": "groups", "counters": {"g1": {"value": "1"}}}
        rows = [
            ("spec.devices", {"devices": [dict(device, name=f"d{i}") for i in range(129)]}),
            ("spec.devices", {"devices": [dict(device, name=f"d{i}", **taint) for i in range(65)]}),
            ("spec.devices", {"devices": [device, device]}),
            ("spec.devices[0].name", {"devices": [{"name": "0000:01:00.0"}]}),
            ("spec.devices[0].attributes", {"devices": [dict(device, attributes={f"a{i}": {"int": 1} for i in range(33)})]}),
            ("attributes[1a]", {"devices": [dict(device, attributes={"1a": {"int": 1}})]}),
            ("attributes[a]", {"devices": [dict(device, attributes={"a": {"int": 1, "bool": True}})]}),
            ("attributes[a].string", {"devices": [dict(device, attributes={"a": {"string": "x" * 65}})]}),
            ("attributes[a].version", {"devices": [dict(device, attributes={"a": {"version": "1.2"}})]}),
            ("taints[0].effect", {"devices": [dict(device, taints=[{"key": "k", "effect": "no"}])]}),
            ("sharedCounters", {"sharedCounters": [counter]}),
            ("sharedCounters", {"devices": [], "sharedCounters": [dict(counter, name=f"s{i}") for i in range(9)]}),
            ("counters", {"devices": [], "sharedCounters": [
                dict(counter, counters={f"g{i}": {"value": "1"} for i in range(33)})]}),
            ("resourceSliceCount", {"pool": {"name": "n1", "generation": 1, "resourceSliceCount": 0}}),
            ("generation", {"pool": {"name": "n1", "generation": -1, "resourceSliceCount": 1}}),
            ("exactly one", {"allNodes": True}),
        ]
        for word, change in rows:
            with self.subTest(word=word, change=str(change)[:80]):
                self.refused(422, word, "POST", SLICES, slice_of("s", **change))
        self.good("POST", SLICES, slice_of("s", devices=[dict(device, name=f"d{i}") for i in range(128)]))
        self.good("POST", SLICES, slice_of("t", devices=[dict(device, name=f"d{i}", **taint) for i in range(64)]))
        self.refused(422, "metadata.name", "POST", SLICES, slice_of("Bad_Name"))

    def test_what_a_slice_is_for_never_changes(self):
        stored = self.good("POST", SLICES, slice_of("s"))
        for field, change in (("spec.driver", {"driver": "e.example"}), ("spec.nodeName", {"nodeName": "n2"}),
                              ("spec.pool.name", {"pool": {"name": "p", "generation": 1, "resourceSliceCount": 1}})):
            self.refused(422, field, "PUT", f"{SLICES}/s", dict(stored, spec=stored["spec"] | change))

    def test_a_pool_is_seen_as_the_scheduler_sees_it(self):
        consuming = [{"name": "a", "consumesCounters": [{"counterSet": "groups", "counters": {"g1": {"value": "1"}}}]}]
        pool = {"name": "n1", "generation": 2, "resourceSliceCount": 2}
        self.good("POST", SLICES, slice_of("a", devices=consuming, pool=pool))
        self.good("POST", SLICES, slice_of("stale"))
        [seen] = self.good("GET", "/_pools")
        self.assertFalse(seen["complete"])
        self.assertEqual(seen["problems"], ["device a consumes groups/g1, which the pool does not have"])
        self.good("POST", SLICES, slice_of("b", devices=[], pool=pool, sharedCounters=[
            {"name": "groups", "counters": {"g1": {"value": "1"}}}]))
        [seen] = self.good("GET", "/_pools")
        self.assertEqual((seen["complete"], seen["problems"], seen["devices"]), (True, [], ["a"]))


class Gates(Served):
    OPTIONS = ("--drop", "counters,taints")

    def test_fields_of_gates_that_are_off_vanish_in_silence(self):
        device = {"name": "a", "taints": [{"key": "k", "effect": "NoSchedule"}],
                  "consumesCounters": [{"counterSet": "g", "counters": {"g1": {"value": "1"}}}]}
        stored = self.good("POST", SLICES, slice_of("s", devices=[device]))
        self.assertEqual(stored["spec"]["devices"], [{"name": "a"}])
        counters = [{"name": "g", "counters": {"g1": {"value": "1"}}}]
        self.assertNotIn("sharedCounters", self.good("POST", SLICES, slice_of("t", devices=[], sharedCounters=counters))["spec"])
        self.good("POST", "/_control", {"dropFields": []})
        self.assertIn("taints", self.good("POST", SLICES, slice_of("u", devices=[device]))["spec"]["devices"][0])


class FaultsOnOrder(Served):
    def order(self, **order):
        self.good("POST", "/_control", {"fail": [order]})

    def test_answers_by_order_as_often_as_told(self):
        self.order(match=f"GET {SLICES}", status=429, retryAfter=1, times=2)
        connection = self.connect()
        for _ in range(2):
            connection.request("GET", SLICES)
            answer = connection.getresponse()
            self.assertEqual((answer.status, answer.headers["Retry-After"]), (429, "1"))
            answer.read()
        self.good("GET", SLICES)

    def test_connections_break_where_told(self):
        self.order(match="GET /api", drop="before")
        with self.assertRaises((http.client.RemoteDisconnected, ConnectionError)):
            self.ask("GET", "/api/v1/nodes/n1")
        self.order(match="GET /api", drop="mid-body")
        with self.assertRaises(http.client.IncompleteRead):
            self.ask("GET", "/api/v1/nodes/n1")
        self.order(match="GET /api", raw="nonsense\r\n\r\n")
        with self.assertRaises(http.client.BadStatusLine):
            self.ask("GET", "/api/v1/nodes/n1")
        self.good("GET", "/api/v1/nodes/n1")

    def test_answers_of_any_size(self):
        self.order(match="GET /api", bodyBytes=5_000_000)
        self.assertEqual(len(self.good("GET", "/api/v1/nodes/n1")), 5_000_000 - 2)

    def test_what_is_no_order_is_refused(self):
        for order in ({"match": "GET /", "stats": 500}, {"status": 500}, {"match": "GET /", "drop": "later"}):
            self.assertEqual(self.ask("POST", "/_control", {"fail": [order]})[0], 400)
        self.assertEqual(self.ask("POST", "/_control", {"fial": []})[0], 400)

    def test_the_journal_tells_who_asked_what(self):
        self.ask("GET", "/api/v1/nodes/n9", **{"User-Agent": "me/1", "Authorization": "Bearer t"})
        [entry] = self.good("GET", "/_journal")
        told = {key: entry[key] for key in ("method", "path", "status", "userAgent", "token")}
        self.assertEqual(told, {"method": "GET", "path": "/api/v1/nodes/n9", "status": 404, "userAgent": "me/1", "token": "t"})
        self.good("POST", "/_control", {"clearJournal": True})
        self.assertEqual(self.good("GET", "/_journal"), [])


class Tokens(Served):
    def setUp(self):
        place = tempfile.TemporaryDirectory()
        self.addCleanup(place.cleanup)
        self.file = pathlib.Path(place.name) / "token"
        self.file.write_text("one\n")
        self.OPTIONS = ("--token-file", str(self.file))
        super().setUp()

    def test_only_the_token_that_stands_in_the_file_now_is_let_in(self):
        path = "/api/v1/nodes/n1"
        self.good("GET", path, Authorization="Bearer one")
        self.refused(401, "Unauthorized", "GET", path)
        self.refused(401, "Unauthorized", "GET", path, Authorization="Bearer two")
        self.file.write_text("two\n")
        self.good("GET", path, Authorization="Bearer two")
        self.refused(401, "Unauthorized", "GET", path, Authorization="Bearer one")


class Versions(Served):
    """One store, read and written as each version has it."""

    OPTIONS = ("--serve", "v1,v1beta2,v1beta1")
    SLICES = "/apis/resource.k8s.io/{}/resourceslices"

    def spec_as(self, version: str) -> dict:
        return self.good("GET", self.SLICES.format(version) + "/s")["spec"]["devices"]

    def test_what_is_written_as_one_reads_as_another(self):
        flat = {"name": "a", "attributes": {"model": {"string": "x"}}}
        nested = {"name": "a", "basic": {"attributes": {"model": {"string": "x"}}}}
        for version, device in (("v1", flat), ("v1beta2", flat), ("v1beta1", nested)):
            made = self.good("POST", self.SLICES.format(version), slice_of("s", devices=[device]))
            self.assertEqual(made["apiVersion"], f"resource.k8s.io/{version}")
            self.assertEqual([self.spec_as(each) for each in ("v1", "v1beta2", "v1beta1")], [[flat], [flat], [nested]])
            self.good("DELETE", self.SLICES.format(version) + "/s")

    def test_a_version_keeps_what_it_knows(self):
        both = {"name": "a", "attributes": {"b": {"int": 1}}, "basic": {"attributes": {"c": {"int": 2}}}}
        self.good("POST", self.SLICES.format("v1beta1"), slice_of("s", devices=[both]))
        self.assertEqual(self.spec_as("v1"), [{"name": "a", "attributes": {"c": {"int": 2}}}])
        self.refused(422, "basic", "POST", self.SLICES.format("v1beta1"), slice_of("t"))
        self.refused(400, "does not match", "POST", self.SLICES.format("v1"),
                     slice_of("t") | {"apiVersion": "resource.k8s.io/v1beta1"})

    def test_requests_of_claims(self):
        exactly = {"deviceClassName": "gpu", "count": 1}
        claims = "/apis/resource.k8s.io/{}/namespaces/default/resourceclaims"
        claim = {"metadata": {"name": "c"}, "spec": {"devices": {"requests": [{"name": "g"} | exactly]}}}
        self.good("POST", claims.format("v1beta1"), claim)
        seen = self.good("GET", claims.format("v1") + "/c")
        self.assertEqual(seen["spec"]["devices"]["requests"], [{"name": "g", "exactly": exactly}])
        self.assertEqual(self.good("GET", claims.format("v1beta1"))["items"][0]["spec"], claim["spec"])

    def test_a_watch_tells_as_its_version_has_it(self):
        watch = self.connect()
        watch.request("GET", self.SLICES.format("v1beta1") + "?watch=1&resourceVersion=0&timeoutSeconds=1")
        self.good("POST", self.SLICES.format("v1"), slice_of("s"))
        event = json.loads(watch.getresponse().readline())
        self.assertEqual(event["object"]["apiVersion"], "resource.k8s.io/v1beta1")
        self.assertIn("basic", event["object"]["spec"]["devices"][0])

    def test_what_is_not_served(self):
        self.good("POST", "/_control", {"serve": ["v1beta2"]})
        for path in ("/apis/resource.k8s.io/v1", self.SLICES.format("v1"), "/apis/resource.k8s.io/v2"):
            self.assertEqual(self.ask_plain(path), (404, "404 page not found\n"))
        self.good("GET", SLICES, **{"X-Every-Version": "yes"})
        names = [one["name"] for one in self.good("GET", "/apis/resource.k8s.io/v1beta2")["resources"]]
        self.assertEqual(names, ["resourceclaims", "resourceclaims/status", "resourceslices"])


class CountersBeside(Served):
    OPTIONS = ("--counters-beside",)

    def test_counters_are_of_the_slice_of_their_devices(self):
        counters = {"c": {"value": "1"}}
        device = {"name": "a", "consumesCounters": [{"counterSet": "set", "counters": counters}]}
        self.refused(422, "consumesCounters", "POST", SLICES, slice_of("s", devices=[device]))
        self.good("POST", SLICES, slice_of("s", devices=[device], sharedCounters=[{"name": "set", "counters": counters}]))


if __name__ == "__main__":
    unittest.main()
