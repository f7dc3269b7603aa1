#include "privd/cli/binding/change_text.h"

#include <gtest/gtest.h>

namespace vfiogate {
namespace {

Bdf slot(const char* address) {
  return Bdf::parse(address).value();
}

ChangeOrder bindOrder() {
  return {.addresses = {slot("0000:01:00.0")}};
}

ChangeReport planned() {
  return {.writes = {{slot("0000:01:00.0"), "bus/pci/drivers/nvidia/unbind", "0000:01:00.0"},
                     {slot("0000:01:00.0"), "bus/pci/devices/0000:01:00.0/driver_override", "\n"}},
          .leftAlone = {{slot("0000:00:01.0"), "a bridge takes no VFIO driver"}}};
}

struct ReportRow {
  const char* name;
  ChangeOrder order;
  ChangeReport report;
  const char* out;
  const char* err;
  ReportStyle style = {};
};

void expectText(const ReportRow& row, const HoldersOf& holders = {}) {
  const Printed text = changeText(row.order, row.report, holders, row.style);
  EXPECT_EQ(text.out, row.out) << row.name;
  EXPECT_EQ(text.err, row.err) << row.name;
}

TEST(ChangeText, SaysWhoHasAGroupThatIsAllocated) {
  const std::string reason =
      "plugind has allocated its group: resource=a.dev/gpu ids=0000:01:00.0 ref=7f3a "
      "since=2026-11-23T10:42:07Z named-by=12:34 pod=default/vm uid=6f0c";
  ChangeReport report;
  report.outcome = ChangeOutcome::kRefused;
  report.error = "0000:01:00.0: held: " + reason;
  report.objections = {
      {Guard::kHeld, slot("0000:01:00.0"), Verdict::kBlocked, reason, "end the pod that has it"}};
  expectText({"held", bindOrder(), report, "",
              "privd bind: refused, nothing was written: 0000:01:00.0: held: plugind has allocated "
              "its group to default/vm since 2026-11-23 10:42, as a.dev/gpu\n"
              "  0000:01:00.0  held: plugind has allocated its group to default/vm since "
              "2026-11-23 10:42, as a.dev/gpu\n"
              "                to lift it: end the pod that has it\n"});
}

TEST(ChangeText, SaysWhatWasWrittenAndWhatWasLeftAlone) {
  ChangeReport report = planned();
  report.auditSequence = 12;
  report.remarks = {
      "0000:01:00.0: privd never bound it: it goes to the driver that the kernel finds"};
  expectText(
      {"done",
       bindOrder(),
       report,
       "ORDER  DEVICE        ATTRIBUTE                                     TEXT\n"
       "1      0000:01:00.0  bus/pci/drivers/nvidia/unbind                 0000:01:00.0\n"
       "2      0000:01:00.0  bus/pci/devices/0000:01:00.0/driver_override  (empty line: none)\n"
       "Left alone:\n"
       "  0000:00:01.0  a bridge takes no VFIO driver\n"
       "0000:01:00.0: privd never bound it: it goes to the driver that the kernel finds\n"
       "Done: 2 writes (audit record 12).\n",
       "",
       {.plan = true}});
  expectText({"done, without -v", bindOrder(), report,
              "Left alone:\n"
              "  0000:00:01.0  a bridge takes no VFIO driver\n"
              "0000:01:00.0: privd never bound it: it goes to the driver that the kernel finds\n"
              "Done: 2 writes (audit record 12).\n",
              ""});
}

TEST(ChangeText, ARefusalComesFirstAndItsPlanOnlyWhereItIsAskedFor) {
  ChangeReport report = planned();
  report.outcome = ChangeOutcome::kRefused;
  ChangeOrder dry = bindOrder();
  dry.dryRun = true;
  const Printed brief = changeText(bindOrder(), report, {}, {});
  EXPECT_EQ(brief.out, "");
  EXPECT_TRUE(brief.errFirst);
  EXPECT_NE(changeText(bindOrder(), report, {}, {.plan = true}).out.find("ORDER"),
            std::string::npos);
  const Printed whole = changeText(dry, report, {}, {});
  EXPECT_NE(whole.out.find("ORDER"), std::string::npos);
  EXPECT_TRUE(whole.errFirst);
}

TEST(ChangeText, HasOneEndForEachOutcome) {
  ChangeOrder dry = bindOrder();
  dry.dryRun = true;
  ChangeOrder unbind = bindOrder();
  unbind.kind = ChangeKind::kUnbind;
  const ChangeReport one{.writes = {{slot("0000:01:00.0"), "a", "b"}}};
  const char* const table =
      "ORDER  DEVICE        ATTRIBUTE  TEXT\n1      0000:01:00.0  a          b\n";
  const auto ended = [](ChangeOutcome outcome, std::string error) {
    return ChangeReport{.outcome = outcome, .error = std::move(error)};
  };
  expectText({"already so", bindOrder(), ended(ChangeOutcome::kAlreadySo, ""),
              "Already so: nothing to do.\n", ""});
  expectText(
      {"dry run", dry, one,
       (std::string(table) + "Dry run: nothing was written; it would take 1 write.\n").c_str(),
       ""});
  expectText({"refused", unbind, ended(ChangeOutcome::kRefused, "there is no 0000:01:00.0"), "",
              "privd unbind: refused, nothing was written: there is no 0000:01:00.0\n"});
  expectText({"dry run refused", dry, ended(ChangeOutcome::kRefused, ""), "",
              "privd bind: would be refused\n"});
  ChangeReport failed = ended(ChangeOutcome::kFailed, "the kernel said EBUSY");
  failed.auditSequence = 3;
  expectText({"failed", bindOrder(), failed, "",
              "privd bind: failed, everything is as it was found (audit record 3): the kernel said "
              "EBUSY\n"});
  ChangeReport changed = ended(ChangeOutcome::kLeftChanged, "EIO");
  changed.differences = {"0000:01:00.1: no driver, was snd_hda_intel"};
  expectText({"left changed", bindOrder(), changed, "",
              "privd bind: failed, and not everything is as it was found: EIO\n"
              "Not as it was found:\n"
              "  0000:01:00.1: no driver, was snd_hda_intel\n"});
  expectText({"stuck", bindOrder(), ended(ChangeOutcome::kStuck, ""), "",
              "privd bind: stuck: the kernel has not come back from a write, which may still take "
              "place\n"});
}

TEST(ChangeText, ARefusalNamesTheReasonTheProcessAndWhatLiftsIt) {
  const Bdf card = slot("0000:01:00.0");
  ChangeReport report{.outcome = ChangeOutcome::kRefused};
  report.objections = {
      {Guard::kUsers, card, Verdict::kBlocked, "nvidia is in use", "stop its users", false},
      {Guard::kNetwork, slot("0000:02:00.0"), Verdict::kUnknown, "no interface in sight", "",
       false},
      {Guard::kBootVga, card, Verdict::kBlocked, "the firmware's display", "", true}};
  const HoldersOf holders{
      {card, Holders{{{4711, "Xorg", 1000, "", "/dev/nvidia0"},
                      {4712, "evil\n\x1b[31m", std::nullopt, "6f0c2d3e-7d0c-4c40-9f6d-3f1f6f6b0d55",
                       "/dev/dri/card0"}},
                     3}}};
  expectText({"refused", bindOrder(), report,
              "Overridden:\n"
              "  0000:01:00.0  boot-vga: the firmware's display\n",
              "privd bind: refused, nothing was written\n"
              "  0000:01:00.0  users: nvidia is in use\n"
              "                pid 4711 Xorg, uid 1000, has /dev/nvidia0 open\n"
              "                pid 4712 evil??[31m, pod 6f0c2d3e-7d0c-4c40-9f6d-3f1f6f6b0d55, has "
              "/dev/dri/card0 open\n"
              "                3 processes could not be looked into: only root may\n"
              "                to lift it: stop its users\n"
              "  0000:02:00.0  network (not known): no interface in sight\n"},
             holders);
}

TEST(ChangeText, TheJsonSaysAllOfIt) {
  ChangeReport report = planned();
  report.outcome = ChangeOutcome::kLeftChanged;
  report.error = "EIO";
  report.objections = {{Guard::kInUse, slot("0000:01:00.0"), Verdict::kUnknown, "r", "l", true}};
  report.differences = {"d"};
  report.remarks = {"m"};
  report.auditSequence = 7;
  const HoldersOf holders{
      {slot("0000:01:00.0"), Holders{{{7, "qemu", 107, "", "/dev/vfio/31"}}, 0}}};
  EXPECT_EQ(changeJson(bindOrder(), report, holders), nlohmann::ordered_json::parse(R"({
    "version": 1, "kind": "bind", "dryRun": false, "outcome": "left-changed", "error": "EIO",
    "writes": [
      {"address": "0000:01:00.0", "attribute": "bus/pci/drivers/nvidia/unbind", "text": "0000:01:00.0"},
      {"address": "0000:01:00.0", "attribute": "bus/pci/devices/0000:01:00.0/driver_override",
       "text": "\n"}],
    "leftAlone": [{"address": "0000:00:01.0", "why": "a bridge takes no VFIO driver"}],
    "objections": [{"guard": "in-use", "address": "0000:01:00.0", "verdict": "unknown",
      "reason": "r", "lift": "l", "overridden": true,
      "openedBy": [{"pid": 7, "command": "qemu", "uid": 107, "podUid": null, "node": "/dev/vfio/31"}]}],
    "differences": ["d"], "remarks": ["m"], "auditSequence": 7})"));
  EXPECT_EQ(changeJson(bindOrder(), ChangeReport{}, {})["error"], nullptr);
  EXPECT_EQ(changeJson(bindOrder(), ChangeReport{}, {})["auditSequence"], nullptr);
}

}  // namespace
}  // namespace vfiogate
