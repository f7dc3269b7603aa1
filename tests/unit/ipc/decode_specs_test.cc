#include "ipc/codec/request_messages.h"

#include <gtest/gtest.h>

#include <capnp/message.h>

#include <functional>

namespace vfiogate {
namespace {

using Params = schema::Session::DeclareSpecsParams;

std::string refusalOf(Params::Reader params) {
  const auto decoded = decode(params.getSpecs());
  return decoded ? "accepted" : decoded.error().what;
}

/// Two specs, the first with two devices.
void fill(Params::Builder params) {
  auto specs = params.initSpecs(2);
  specs[0].setResource("vfiogate.dev/gpu");
  specs[0].setHandles(schema::Handles::BOTH);
  specs[0].setWholeGroups(true);
  auto devices = specs[0].initDevices(2);
  devices[0].setBus(1);
  devices[1].setBus(1);
  devices[1].setFunction(1);
  specs[1].setResource("vfiogate.dev/nic");
}

TEST(DecodeSpecs, ReadsWhatWasDeclared) {
  capnp::MallocMessageBuilder message;
  auto params = message.initRoot<Params>();
  fill(params);
  const auto specs = decode(params.asReader().getSpecs());
  ASSERT_TRUE(specs);
  ASSERT_EQ(specs->size(), 2U);
  const StaticSpec want{.resource = "vfiogate.dev/gpu",
                        .backend = Backend::kBoth,
                        .wholeGroups = true,
                        .devices = {*Bdf::parse("0000:01:00.0"), *Bdf::parse("0000:01:00.1")}};
  EXPECT_EQ(specs->front(), want);
  EXPECT_EQ(specs->back(), (StaticSpec{.resource = "vfiogate.dev/nic", .devices = {}}));
}

TEST(DecodeSpecs, ReadsNoneAtAll) {
  capnp::MallocMessageBuilder message;
  EXPECT_EQ(decode(message.initRoot<Params>().asReader().getSpecs())->size(), 0U);
}

/// One way to spoil the declaration, and its words.
struct Spoiled {
  const char* name;
  std::function<void(Params::Builder)> spoil;
  const char* refusal;
};

void PrintTo(const Spoiled& row, std::ostream* out) {
  *out << row.name;
}

class RefusesSpecs : public testing::TestWithParam<Spoiled> {};

TEST_P(RefusesSpecs, AndNamesFieldAndValue) {
  capnp::MallocMessageBuilder message;
  auto params = message.initRoot<Params>();
  fill(params);
  ASSERT_EQ(refusalOf(params), "accepted");
  GetParam().spoil(params);
  EXPECT_EQ(refusalOf(params), GetParam().refusal);
}

INSTANTIATE_TEST_SUITE_P(
    Declaration, RefusesSpecs,
    testing::Values(
        Spoiled{"twice", [](auto p) { p.getSpecs()[1].setResource("vfiogate.dev/gpu"); },
                "specs[1].resource is named twice"},
        Spoiled{"order", [](auto p) { p.getSpecs()[0].getDevices()[1].setFunction(0); },
                "specs[0].devices[1].address is out of order or named twice: 0000:01:00.0"},
        Spoiled{"address", [](auto p) { p.getSpecs()[0].getDevices()[1].setDevice(32); },
                "specs[0].devices[1].address has device 32 and function 1, at most 31 and 7 exist"},
        Spoiled{"handles",
                [](auto p) { p.getSpecs()[1].setHandles(static_cast<schema::Handles>(4)); },
                "specs[1].handles is 4, not a known way"},
        Spoiled{"specs", [](auto p) { p.initSpecs(65); }, "specs.size is 65, above 64"},
        Spoiled{"devices", [](auto p) { p.getSpecs()[1].initDevices(4097); },
                "specs[1].devices.size is 4097, above 4096"},
        Spoiled{"devicesInAll",
                [](auto p) {
                  auto devices = p.getSpecs()[1].initDevices(4095);
                  for (capnp::uint i = 0; i < devices.size(); ++i) {
                    devices[i].setSegment(1 + i);
                  }
                },
                "specs[1].devices are too many in all"}),
    [](const auto& row) { return row.param.name; });

}  // namespace
}  // namespace vfiogate
