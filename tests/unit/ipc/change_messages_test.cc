#include "ipc/codec/request_messages.h"

#include "ipc/codec/limits.h"

#include <gtest/gtest.h>

#include <capnp/message.h>

#include <functional>

namespace vfiogate {
namespace {

Bdf at(const char* address) {
  return Bdf::parse(address).value();
}

template <typename Schema, typename Value>
auto thereAndBack(const Value& value) {
  capnp::MallocMessageBuilder message;
  encode(value, message.initRoot<Schema>());
  return decode(message.getRoot<Schema>().asReader());
}

ChangeOrder order() {
  return {.kind = ChangeKind::kBind,
          .addresses = {at("0000:01:00.0"), at("10000:e1:1f.7")},
          .driver = "mlx5_vfio_pci",
          .overrides = {{Guard::kBootVga, std::nullopt}, {Guard::kUnguarded, at("0000:01:00.0")}},
          .dryRun = true,
          .keep = true};
}

ChangeReport report() {
  return {.outcome = ChangeOutcome::kLeftChanged,
          .error = "0000:01:00.1: the kernel said EBUSY",
          .writes = {{at("0000:01:00.0"), "bus/pci/devices/0000:01:00.0/driver_override", "\n"},
                     {at("0000:01:00.1"), "bus/pci/drivers/snd_hda_intel/unbind", "0000:01:00.1"}},
          .leftAlone = {{at("0000:00:01.0"), "a bridge"}},
          .objections = {{Guard::kUsers, at("0000:01:00.0"), Verdict::kUnknown, "Xorg", "stop it",
                          true},
                         {Guard::kBridge, at("0000:00:01.0"), Verdict::kBlocked, "", "", false}},
          .differences = {"0000:01:00.1: driver_override is vfio-pci", "\xff not UTF-8"},
          .remarks = {"was bound by another boot"},
          .auditSequence = 1ULL << 63U};
}

TEST(ChangeMessages, EncodeThenDecodeIsIdentity) {
  const auto ordered = thereAndBack<schema::ChangeOrder>(order());
  ASSERT_TRUE(ordered) << ordered.error().what;
  EXPECT_EQ(*ordered, order());
  const auto reported = thereAndBack<schema::ChangeReport>(report());
  ASSERT_TRUE(reported) << reported.error().what;
  EXPECT_EQ(*reported, report());
  EXPECT_EQ(*thereAndBack<schema::ChangeReport>(ChangeReport{}), ChangeReport{});
}

TEST(ChangeMessages, EveryWordHasItsOwnOnTheLine) {
  for (unsigned i = 0; i <= static_cast<unsigned>(Guard::kUnguarded); ++i) {
    ChangeOrder one = order();
    one.overrides = {{static_cast<Guard>(i), std::nullopt}};
    EXPECT_EQ(*thereAndBack<schema::ChangeOrder>(one), one);
  }
  for (unsigned i = 0; i <= static_cast<unsigned>(ChangeOutcome::kStuck); ++i) {
    const ChangeReport one{.outcome = static_cast<ChangeOutcome>(i)};
    EXPECT_EQ(thereAndBack<schema::ChangeReport>(one)->outcome, one.outcome);
  }
  // The schema's enumerators are spelled like ours.
  EXPECT_EQ(static_cast<int>(schema::Guard::ROOT_DISK), static_cast<int>(Guard::kRootDisk));
  EXPECT_EQ(static_cast<int>(schema::Guard::NETWORK), static_cast<int>(Guard::kNetwork));
  EXPECT_EQ(static_cast<int>(schema::Guard::IN_USE), static_cast<int>(Guard::kInUse));
  EXPECT_EQ(static_cast<int>(schema::Guard::HELD), static_cast<int>(Guard::kHeld));
  EXPECT_EQ(static_cast<int>(schema::ChangeOutcome::REFUSED),
            static_cast<int>(ChangeOutcome::kRefused));
}

TEST(ChangeMessages, TextsAndListsOfAReportAreCutNotRefused) {
  ChangeReport large;
  large.error = std::string(kMaxText + 5, 'x');
  large.leftAlone.assign(kMaxFunctions + 1, {at("0000:01:00.0"), ""});
  const auto read = thereAndBack<schema::ChangeReport>(large);
  ASSERT_TRUE(read) << read.error().what;
  EXPECT_EQ(read->error.size(), kMaxText);
  EXPECT_EQ(read->leftAlone.size(), kMaxFunctions);
}

template <typename Schema>
struct SpoiltMessage {
  const char* name;
  std::function<void(typename Schema::Builder)> spoil;
  const char* refusal;
};

TEST(ChangeMessages, RefuseOrdersThatMakeNoSense) {
  using Order = schema::ChangeOrder;
  const std::vector<SpoiltMessage<Order>> rows{
      {"no address", [](auto out) { out.initAddresses(0); }, "addresses are none"},
      {"too many", [](auto out) { out.initAddresses(kMostOrdered + 1); },
       "addresses.size is 257, above 256"},
      {"an address out of range", [](auto out) { out.getAddresses()[1].setDevice(32); },
       "addresses[1].address has device 32 and function 7, at most 31 and 7 exist"},
      {"a path for a driver", [](auto out) { out.setDriver("../nvme"); },
       "driver is no driver's name"},
      {"two lines for a driver", [](auto out) { out.setDriver("a\nb"); },
       "driver is no driver's name"},
      {"an endless driver", [](auto out) { out.setDriver(std::string(65, 'x')); },
       "driver is no driver's name"},
      {"an unknown guard",
       [](auto out) { out.getOverrides()[0].setGuard(static_cast<schema::Guard>(17)); },
       "overrides[0].guard is 17, not a known word"},
      {"a guard for no device", [](auto out) { out.getOverrides()[1].getAddress().setFunction(8); },
       "overrides[1].address has device 0 and function 8, at most 31 and 7 exist"},
      {"too many overrides", [](auto out) { out.initOverrides(kMostOrdered + 1); },
       "overrides.size is 257, above 256"},
      {"an unknown kind", [](auto out) { out.setKind(static_cast<schema::ChangeKind>(2)); },
       "kind is 2, not a known word"},
      {"an unbind to a driver", [](auto out) { out.setKind(schema::ChangeKind::UNBIND); },
       "kind is unbind, which takes neither driver nor keep"}};
  for (const auto& row : rows) {
    capnp::MallocMessageBuilder message;
    auto out = message.initRoot<Order>();
    encode(order(), out);
    row.spoil(out);
    const auto read = decode(out.asReader());
    EXPECT_EQ(read ? "accepted" : read.error().what, row.refusal) << row.name;
  }
}

TEST(ChangeMessages, RefuseReportsThatMakeNoSense) {
  using Report = schema::ChangeReport;
  const std::vector<SpoiltMessage<Report>> rows{
      {"an unknown outcome",
       [](auto out) { out.setOutcome(static_cast<schema::ChangeOutcome>(6)); },
       "outcome is 6, not a known word"},
      {"a text too long", [](auto out) { out.setError(std::string(kMaxText + 1, 'x')); },
       "error.size is 4097, above 4096"},
      {"a write nowhere", [](auto out) { out.getWrites()[1].disownAddress(); },
       "writes[1].address is missing"},
      {"an objection nowhere", [](auto out) { out.getObjections()[0].disownAddress(); },
       "objections[0].address is missing"},
      {"too many texts", [](auto out) { out.initRemarks(kMaxFunctions + 1); },
       "remarks.size is 65537, above 65536"},
      {"a long difference",
       [](auto out) { out.initDifferences(1).set(0, std::string(kMaxText + 1, 'x')); },
       "differences[0].text.size is 4097, above 4096"}};
  for (const auto& row : rows) {
    capnp::MallocMessageBuilder message;
    auto out = message.initRoot<Report>();
    encode(report(), out);
    row.spoil(out);
    const auto read = decode(out.asReader());
    EXPECT_EQ(read ? "accepted" : read.error().what, row.refusal) << row.name;
  }
}

}  // namespace
}  // namespace vfiogate
