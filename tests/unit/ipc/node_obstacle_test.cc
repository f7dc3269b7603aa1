#include "ipc/types/viability.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace vfiogate {
namespace {

std::vector<std::string> codes(bool vfioPci, SysfsWriting writing,
                               BindingAsked asked = BindingAsked::kYes) {
  std::vector<std::string> codes;
  for (const NodeObstacle& obstacle :
       obstaclesOf({.vfioPci = vfioPci, .sysfsWriting = writing}, asked)) {
    EXPECT_FALSE(obstacle.fix.empty());
    codes.emplace_back(obstacle.code);
  }
  return codes;
}

TEST(NodeObstacle, IsNamedByWhatIsKnown) {
  using Codes = std::vector<std::string>;
  EXPECT_EQ(codes(true, SysfsWriting::kPossible), Codes{});
  EXPECT_EQ(codes(true, SysfsWriting::kUnknown), Codes{});
  EXPECT_EQ(codes(false, SysfsWriting::kPossible), Codes{"vfio_pci_not_loaded"});
  EXPECT_EQ(codes(true, SysfsWriting::kReadOnly), Codes{"readonly_sysfs"});
  EXPECT_EQ(codes(true, SysfsWriting::kDenied), Codes{"apparmor_denied"});
  EXPECT_EQ(codes(false, SysfsWriting::kDenied), (Codes{"vfio_pci_not_loaded", "apparmor_denied"}));
}

TEST(NodeObstacle, NothingStandsInTheWayOfBindingsThatNobodyAsksFor) {
  EXPECT_TRUE(codes(false, SysfsWriting::kReadOnly, BindingAsked::kNo).empty());
  EXPECT_TRUE(codes(false, SysfsWriting::kDenied, BindingAsked::kNo).empty());
}

TEST(NodeObstacle, NoIommuModeIsOneWhateverIsAskedFor) {
  Snapshot snapshot{.vfioPci = true};
  EXPECT_TRUE(obstaclesOf(snapshot, BindingAsked::kNo).empty()) << "there may be no device at all";
  const IommuGroupId first(1);
  const IommuGroupId second(2);
  snapshot.groups.emplace(first, IommuGroup{.id = first, .noIommu = true});
  ASSERT_EQ(obstaclesOf(snapshot, BindingAsked::kNo).size(), 1U);
  EXPECT_EQ(obstaclesOf(snapshot, BindingAsked::kNo)[0].code, "no_iommu");
  snapshot.groups.emplace(second, IommuGroup{.id = second});
  EXPECT_TRUE(obstaclesOf(snapshot, BindingAsked::kNo).empty()) << "something can be allocated";
}

}  // namespace
}  // namespace vfiogate
