// The words of a change of drivers.

#include "ipc/types/binding_change.h"

#include <gtest/gtest.h>

#include <set>

namespace vfiogate {
namespace {

TEST(BindingChange, EveryGuardHasANameOfItsOwnByWhichItIsFound) {
  std::set<std::string_view> names;
  for (unsigned i = 0; i < kGuards; ++i) {
    const Guard guard = static_cast<Guard>(i);
    EXPECT_EQ(guardNamed(nameOf(guard)), guard);
    EXPECT_TRUE(names.insert(nameOf(guard)).second) << nameOf(guard);
  }
  EXPECT_EQ(guardNamed("root_disk"), std::nullopt);
  EXPECT_EQ(guardNamed(""), std::nullopt);
}

TEST(BindingChange, TheExitCodeSaysWhetherSomethingWasLeftChanged) {
  EXPECT_EQ(exitCodeOf(ChangeOutcome::kDone), 0);
  EXPECT_EQ(exitCodeOf(ChangeOutcome::kAlreadySo), 0);
  EXPECT_EQ(exitCodeOf(ChangeOutcome::kRefused), 1);
  EXPECT_EQ(exitCodeOf(ChangeOutcome::kFailed), 1);
  EXPECT_EQ(exitCodeOf(ChangeOutcome::kLeftChanged), 3);
  EXPECT_EQ(exitCodeOf(ChangeOutcome::kStuck), 3);
  EXPECT_EQ(nameOf(ChangeOutcome::kStuck), "stuck");
  EXPECT_EQ(nameOf(ChangeOutcome::kAlreadySo), "already-so");
}

}  // namespace
}  // namespace vfiogate
