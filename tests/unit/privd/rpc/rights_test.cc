#include "privd/gate/rights.h"

#include <gtest/gtest.h>

namespace vfiogate {
namespace {

constexpr RolePolicy kPolicy{.plugindUid = 64532,
                             .plugindRights = {.watch = true, .kubelet = false, .cdi = true}};

TEST(Rights, PlugindHasWhatItsRoleHas) {
  EXPECT_EQ(rightsOf(kPolicy, Origin::kDialled, 64532), kPolicy.plugindRights);
}

TEST(Rights, I6_PlugindNeverOperatesWhateverItsRoleSays) {
  constexpr RolePolicy kGenerous{.plugindUid = 64532,
                                 .plugindRights = {.watch = true, .operate = true}};
  EXPECT_EQ(rightsOf(kGenerous, Origin::kDialled, 64532), (Rights{.watch = true}));
}

TEST(Rights, NobodyElseIsPlugindNotEvenRoot) {
  EXPECT_EQ(rightsOf(kPolicy, Origin::kDialled, 0), std::nullopt);
  EXPECT_EQ(rightsOf(kPolicy, Origin::kDialled, 1000), std::nullopt);
}

TEST(Rights, RootIsNeverPlugindWhateverTheOptionsSay) {
  constexpr RolePolicy kRoot{.plugindUid = 0, .plugindRights = {.watch = true, .kubelet = true}};
  EXPECT_EQ(rightsOf(kRoot, Origin::kDialled, 0), std::nullopt);
}

TEST(Rights, RootHasAllRightsWhereItConnects) {
  EXPECT_EQ(rightsOf(kPolicy, Origin::kAccepted, 0),
            (Rights{.watch = true, .kubelet = true, .cdi = true, .bind = true, .operate = true}));
}

TEST(Rights, PlugindsUidHasNoneWhereItConnects) {
  EXPECT_EQ(rightsOf(kPolicy, Origin::kAccepted, 64532), std::nullopt);
}

}  // namespace
}  // namespace vfiogate
