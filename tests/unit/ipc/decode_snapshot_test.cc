#include "ipc/codec/snapshot_codec.h"

#include "ipc/codec/limits.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <capnp/message.h>
#include <capnp/serialize.h>

#include <functional>

namespace vfiogate {
namespace {

using capnp::uint;
using testing::HasSubstr;
using testing::StartsWith;

std::string refusalOf(schema::Update::Reader update) {
  const auto decoded = decode(update);
  return decoded ? "accepted" : decoded.error().what;
}

/// One way to spoil an update that has one device, one group with two members, and its words.
struct Spoiled {
  const char* name;
  std::function<void(schema::Snapshot::Builder)> spoil;
  const char* refusal;
};

void PrintTo(const Spoiled& row, std::ostream* out) {
  *out << row.name;
}

class RefusesFull : public testing::TestWithParam<Spoiled> {};

TEST_P(RefusesFull, AndNamesFieldAndValue) {
  capnp::MallocMessageBuilder message;
  auto update = message.initRoot<schema::Update>();
  auto full = update.initFull();
  full.initDevices(2)[1].initAddress().setBus(1);
  auto members = full.initGroups(1)[0].initMembers(2);
  members[1].setFunction(1);
  ASSERT_EQ(refusalOf(update), "accepted");
  GetParam().spoil(full);
  EXPECT_EQ(refusalOf(update), GetParam().refusal);
}

const std::string kTooLong(kMaxText + 1, 'x');

INSTANTIATE_TEST_SUITE_P(
    Update, RefusesFull,
    testing::Values(
        Spoiled{"device", [](auto s) { s.getDevices()[1].getAddress().setDevice(32); },
                "devices[1].address has device 32 and function 0, at most 31 and 7 exist"},
        Spoiled{"function", [](auto s) { s.getDevices()[1].getAddress().setFunction(8); },
                "devices[1].address has device 0 and function 8, at most 31 and 7 exist"},
        Spoiled{"vendor", [](auto s) { s.getDevices()[0].setVendor(0x10000); },
                "devices[0].vendor is 65536, above 65535"},
        Spoiled{"class", [](auto s) { s.getDevices()[0].setClassCode(1 << 24); },
                "devices[0].classCode is 16777216, above 16777215"},
        Spoiled{"revision", [](auto s) { s.getDevices()[0].setRevision(256); },
                "devices[0].revision is 256, above 255"},
        Spoiled{"headerType", [](auto s) { s.getDevices()[0].setHeaderType(128); },
                "devices[0].headerType is 128, above 127"},
        Spoiled{"vfioDev", [](auto s) { s.getDevices()[0].setVfioDev(1LL << 32); },
                "devices[0].vfioDev is 4294967296, above 4294967295"},
        Spoiled{"group", [](auto s) { s.getDevices()[0].setGroup(1LL << 32); },
                "devices[0].group is 4294967296, above 4294967295"},
        Spoiled{"enableCount", [](auto s) { s.getDevices()[0].setEnableCount(1LL << 40); },
                "devices[0].enableCount is 1099511627776, above 4294967295"},
        Spoiled{"physicalFunction",
                [](auto s) { s.getDevices()[0].initPhysicalFunction().setDevice(40); },
                "devices[0].physicalFunction has device 40 and function 0, at most 31 and 7 exist"},
        Spoiled{"role",
                [](auto s) { s.getDevices()[0].setSriov(static_cast<schema::SriovRole>(3)); },
                "devices[0].sriov is 3, not a role"},
        Spoiled{"use", [](auto s) { s.getGroups()[0].setUse(static_cast<schema::Use>(9)); },
                "groups[0].use is 9, not a use"},
        Spoiled{"text", [](auto s) { s.getDevices()[0].setDriver(kTooLong); },
                "devices[0].driver.size is 4097, above 4096"},
        Spoiled{"nestedText", [](auto s) { s.getDevices()[0].initProblems(3)[2].setWhy(kTooLong); },
                "devices[0].problems[2].why.size is 4097, above 4096"},
        Spoiled{
            "uuid",
            [](auto s) { s.initMediated(2)[0].setUuid("3F5E2C10-0001-4A5B-8C6D-000000000001"); },
            "mediated[0].uuid is no UUID in lower case"},
        Spoiled{"sameMediated",
                [](auto s) {
                  auto list = s.initMediated(2);
                  for (auto each : list) each.setUuid("3f5e2c10-0001-4a5b-8c6d-000000000001");
                },
                "mediated[1].uuid is 3f5e2c10-0001-4a5b-8c6d-000000000001, named before"},
        Spoiled{"mediatedInAGroup",
                [](auto s) {
                  auto list = s.getGroups()[0].initMediated(2);
                  for (auto i : {0U, 1U}) list.set(i, "3f5e2c10-0001-4a5b-8c6d-000000000001");
                },
                "groups[0].mediated is not ascending"},
        Spoiled{"tooManyMediated", [](auto s) { s.initMediated(kMaxMediated + 1); },
                "mediated.size is 1025, above 1024"},
        Spoiled{"problems", [](auto s) { s.getDevices()[0].initProblems(kMaxProblems + 1); },
                "devices[0].problems.size is 65, above 64"},
        Spoiled{"mediated", [](auto s) { s.getDevices()[0].initMediated(kMaxMediated + 1); },
                "devices[0].mediated.size is 1025, above 1024"},
        Spoiled{"members", [](auto s) { s.getGroups()[0].initMembers(kMaxFunctions + 1); },
                "groups[0].members.size is 16385, above 16384"},
        Spoiled{"order", [](auto s) { s.getGroups()[0].getMembers()[0].setBus(9); },
                "groups[0].members[1].address is 0000:00:00.1, not above the one before it"},
        Spoiled{"sameMember", [](auto s) { s.getGroups()[0].getMembers()[1].setFunction(0); },
                "groups[0].members[1].address is 0000:00:00.0, not above the one before it"},
        Spoiled{"egmWithoutGpus", [](auto s) { s.initEgm(1); }, "egm[0].gpus is empty"},
        Spoiled{"egmTwice",
                [](auto s) {
                  for (schema::EgmRegion::Builder region : s.initEgm(2)) region.initGpus(1);
                },
                "egm[1].number is 0, not above the one before it"},
        Spoiled{"egmGpuTwice", [](auto s) { s.initEgm(1)[0].initGpus(2); },
                "egm[0].gpus[1].address is 0000:00:00.0, not above the one before it"},
        Spoiled{"sameDevice", [](auto s) { s.getDevices()[1].getAddress().setBus(0); },
                "devices[1].address is 0000:00:00.0, named before"},
        Spoiled{"sameGroup", [](auto s) { s.initGroups(2); }, "groups[1].id is 0, named before"}),
    [](const auto& row) { return row.param.name; });

schema::Delta::Builder deltaIn(schema::Update::Builder update) {
  update.setGeneration(5);
  auto delta = update.initDelta();
  delta.setBase(4);
  return delta;
}

TEST(RefusesDelta, ThatLeadsNowhere) {
  capnp::MallocMessageBuilder message;
  auto update = message.initRoot<schema::Update>();
  deltaIn(update).setBase(5);
  EXPECT_EQ(refusalOf(update), "delta.base is 5, not below generation 5");
}

TEST(RefusesDelta, ThatChangesAndRemovesTheSameDevice) {
  capnp::MallocMessageBuilder message;
  auto update = message.initRoot<schema::Update>();
  auto delta = deltaIn(update);
  delta.initChanged(1)[0].initAddress().setBus(3);
  delta.initRemoved(2)[1].setBus(3);
  EXPECT_EQ(refusalOf(update), "removed[1].address is 0000:03:00.0, named before");
}

TEST(RefusesDelta, ThatChangesAndRemovesTheSameGroup) {
  capnp::MallocMessageBuilder message;
  auto update = message.initRoot<schema::Update>();
  auto delta = deltaIn(update);
  delta.initChangedGroups(1)[0].setId(12);
  delta.initRemovedGroups(1).set(0, 12);
  EXPECT_EQ(refusalOf(update), "removedGroups[0].id is 12, named before");
}

TEST(RefusesDelta, ThatChangesAndRemovesTheSameMediatedDevice) {
  constexpr const char* kUuid = "3f5e2c10-0001-4a5b-8c6d-000000000001";
  capnp::MallocMessageBuilder message;
  auto update = message.initRoot<schema::Update>();
  auto delta = deltaIn(update);
  delta.initChangedMediated(1)[0].setUuid(kUuid);
  delta.initRemovedMediated(1).set(0, kUuid);
  EXPECT_EQ(refusalOf(update), std::string("uuid is ") + kUuid + ", named before");
}

TEST(RefusesUpdate, OfAKindFromTheFuture) {
  capnp::MallocMessageBuilder message;
  auto update = message.initRoot<schema::Update>();
  update.initFull();
  // The discriminant follows epoch and generation.
  auto data = capnp::AnyStruct::Builder(kj::cp(update)).getDataSection();
  data[16] = 2;
  EXPECT_EQ(refusalOf(update), "which is 2, neither full nor delta");
}

TEST(RefusesUpdate, WhosePointersLeadOutOfTheMessage) {
  capnp::MallocMessageBuilder message;
  message.initRoot<schema::Update>().initFull().initDevices(4);
  const auto whole = message.getSegmentsForOutput()[0];
  const kj::ArrayPtr<const capnp::word> segments[] = {whole.slice(0, whole.size() - 10)};
  capnp::SegmentArrayMessageReader reader(segments);
  EXPECT_THAT(refusalOf(reader.getRoot<schema::Update>()), StartsWith("not a well-formed message"));
}

TEST(RefusesUpdate, BeyondWhatTheReaderMayWalk) {
  capnp::MallocMessageBuilder message;
  message.initRoot<schema::Update>().initFull().initDevices(100);
  capnp::SegmentArrayMessageReader reader(message.getSegmentsForOutput(),
                                          {.traversalLimitInWords = 500});
  EXPECT_THAT(refusalOf(reader.getRoot<schema::Update>()), HasSubstr("traversal limit"));
}

TEST(EncodesSnapshot, CutToWhatTheReaderAccepts) {
  Snapshot snapshot;
  const Bdf address = Bdf::make(0, 1, 0, 0).value();
  PciDevice device{.address = address};
  device.driver = std::string(kMaxText + 100, 'd');
  device.problems.assign(kMaxProblems + 5, {"vendor", "absent"});
  device.numaNode = 0xffffffff;
  snapshot.devices.emplace(address, device);
  capnp::MallocMessageBuilder message;
  auto root = message.initRoot<schema::Snapshot>();
  encode(snapshot, root, noControl);
  const auto decoded = decode(root.asReader());
  ASSERT_TRUE(decoded) << decoded.error().what;
  const PciDevice& got = decoded->snapshot.devices.at(address);
  EXPECT_EQ(got.driver.size(), kMaxText);
  EXPECT_EQ(got.problems.size(), kMaxProblems);
  EXPECT_EQ(got.numaNode, std::nullopt);
}

class RereadCounter final : public schema::GroupControl::Server {
public:
  explicit RereadCounter(int& rereads) : rereads_(rereads) {}

protected:
  kj::Promise<void> reread(RereadContext /*context*/) override {
    ++rereads_;
    return kj::READY_NOW;
  }

private:
  int& rereads_;
};

TEST(EncodesSnapshot, WithTheControlOfEachGroupThatMayBeControlled) {
  kj::EventLoop loop;
  kj::WaitScope waitScope(loop);
  int rereads = 0;
  schema::GroupControl::Client control = kj::heap<RereadCounter>(rereads);
  Snapshot snapshot;
  for (const std::uint32_t id : {3U, 4U}) {
    snapshot.groups.emplace(IommuGroupId(id), IommuGroup{.id = IommuGroupId(id)});
  }
  capnp::MallocMessageBuilder message;
  auto root = message.initRoot<schema::Update>();
  encode(Update{1, 1, snapshot}, root,
         [&](const IommuGroup& group) -> kj::Maybe<schema::GroupControl::Client> {
           if (group.id == IommuGroupId(4)) return control;
           return nullptr;
         });
  auto decoded = decode(root.asReader());
  ASSERT_TRUE(decoded) << decoded.error().what;
  GroupControlClients controls = std::move(decoded).value().controls;
  ASSERT_EQ(controls.size(), 1U);
  auto& held = controls.at(IommuGroupId(4));
  held.rereadRequest().send().ignoreResult().wait(waitScope);
  EXPECT_EQ(rereads, 1);
}

}  // namespace
}  // namespace vfiogate
