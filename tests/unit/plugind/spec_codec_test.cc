#include "plugind/privd/spec_codec.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <capnp/message.h>

#include <cerrno>

namespace vfiogate {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

const ResourceName kGpu = *ResourceName::parse("vfiogate.dev/gpu");
const ResourceName kNic = *ResourceName::parse("vfiogate.dev/nic");
const Bdf kA = *Bdf::parse("0000:01:00.0");
const Bdf kB = *Bdf::parse("0000:02:00.0");

std::vector<StaticSpec> specs() {
  return {{.resource = kGpu.str(), .devices = {kA, kB}}, {.resource = kNic.str(), .devices = {}}};
}

class SpecClient : public testing::Test {
protected:
  ~SpecClient() noexcept override = default;

  /// In place: a has nodes, b has none; the other resource failed.
  SpecClient() {
    auto outcomes = answer_.initOutcomes(2);
    auto nodes = outcomes[0].initInPlace(2).init(0, 2);
    nodes.set(0, "/dev/vfio/vfio");
    nodes.set(1, "/dev/vfio/12");
    outcomes[1].setFailed(ENOSPC);
  }

  capnp::MallocMessageBuilder message_;
  schema::SpecsAnswer::Builder answer_ = message_.initRoot<schema::SpecsAnswer>();
};

TEST_F(SpecClient, TakesWhatIsInPlaceAndWhatIsNot) {
  const auto taken = decode(answer_.asReader(), specs());
  ASSERT_TRUE(taken);
  EXPECT_EQ(taken->specs.at(kGpu).trouble, "");
  ASSERT_EQ(taken->specs.at(kGpu).nodes.size(), 1U);
  EXPECT_THAT(taken->specs.at(kGpu).nodes.at(kA), ElementsAre("/dev/vfio/vfio", "/dev/vfio/12"));
  EXPECT_THAT(taken->specs.at(kNic).trouble, HasSubstr("No space left on device"));
  EXPECT_TRUE(taken->passing);
}

TEST_F(SpecClient, SaysWhatWouldHelp) {
  const auto troubleOf = [&]() {
    return decode(answer_.asReader(), specs())->specs.at(kNic).trouble;
  };
  auto outcome = answer_.getOutcomes()[1];
  outcome.setNotKind();
  EXPECT_THAT(troubleOf(), HasSubstr("naming: pci_vendor_device"));
  outcome.setForeignPrefix();
  EXPECT_THAT(troubleOf(), HasSubstr("--resource-prefix"));
  outcome.setBadName();
  EXPECT_NE(troubleOf(), "");
  EXPECT_FALSE(decode(answer_.asReader(), specs())->passing) << "another try changes nothing";
  answer_.setDenied();
  EXPECT_THAT(troubleOf(), HasSubstr("add cdi to its --plugind-rights"));
}

TEST_F(SpecClient, RefusesAnAnswerAboutSomethingElse) {
  EXPECT_FALSE(decode(answer_.asReader(), {specs().front()}));
  auto fewer = specs();
  fewer.front().devices.pop_back();
  EXPECT_FALSE(decode(answer_.asReader(), fewer));
}

}  // namespace
}  // namespace vfiogate
