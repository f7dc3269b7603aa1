#include "privd/gate/rights.h"

#include <gtest/gtest.h>

namespace vfiogate {
namespace {

constexpr RolePolicy kPolicy{.plugindUid = 64532,
                             .plugindRights = {.watch = true, .kubelet = false, .cdi = true}};

TEST(Rights, PlugindHasWhatItsRoleHas) {
  EXPECT_EQ(rightsOf(kPolicy, 64532), kPolicy.plugindRights);
}

TEST(Rights, NobodyElseIsPlugindNotEvenRoot) {
  EXPECT_EQ(rightsOf(kPolicy, 0), std::nullopt);
  EXPECT_EQ(rightsOf(kPolicy, 1000), std::nullopt);
}

TEST(Rights, RootIsNeverPlugindWhateverTheOptionsSay) {
  constexpr RolePolicy kRoot{.plugindUid = 0, .plugindRights = {.watch = true, .kubelet = true}};
  EXPECT_EQ(rightsOf(kRoot, 0), std::nullopt);
}

}  // namespace
}  // namespace vfiogate
