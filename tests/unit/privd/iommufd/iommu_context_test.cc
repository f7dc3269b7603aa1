// What is no iommufd is none, and the capability is in force for no more than one call.

#include "privd/iommufd/iommu_context.h"

#include "sim/base/temp_dir.h"

#include <gmock/gmock.h>

#include <unistd.h>

#include <cerrno>
#include <string>
#include <vector>

namespace vfiogate::test {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

class IommuContextTest : public testing::Test {
protected:
  /// "open: 2".
  std::string failureOf(const std::string& path, bool may = true) {
    const auto opened = openContext(path, [this, may](bool raised) {
      raised_.push_back(raised);
      errno = EPERM;
      return may;
    });
    return opened ? "none" : opened.error().step + (": " + std::to_string(opened.error().error));
  }

  TempDir dir_;
  std::vector<bool> raised_;
};

TEST_F(IommuContextTest, SaysThatThereIsNoDevice) {
  EXPECT_EQ(failureOf(dir_ / "iommu"), "open: " + std::to_string(ENOENT));
  EXPECT_THAT(raised_, IsEmpty());
}

TEST_F(IommuContextTest, FollowsNoLink) {
  ASSERT_EQ(symlink("/dev/null", (dir_ / "iommu").c_str()), 0);
  EXPECT_EQ(failureOf(dir_ / "iommu"), "open: " + std::to_string(ELOOP));
}

TEST_F(IommuContextTest, SaysThatADeviceIsNoIommufdAndLowersTheCapabilityAgain) {
  EXPECT_EQ(failureOf("/dev/null"), "option: " + std::to_string(ENOTTY));
  EXPECT_THAT(raised_, ElementsAre(true, false));
}

TEST_F(IommuContextTest, AsksForNothingWithoutTheCapability) {
  EXPECT_EQ(failureOf("/dev/null", false), "capability: " + std::to_string(EPERM));
  EXPECT_THAT(raised_, ElementsAre(true));
}

}  // namespace
}  // namespace vfiogate::test
