#include "seccomp/load_filter.h"

#include <gtest/gtest.h>

#include <seccomp.h>

#include <array>

namespace vfiogate {
namespace {

constexpr std::array kImpossible{Rule{SCMP_SYS(read), intIs(9, 0, "no such argument"), "why"}};

TEST(LoadFilter, NamesTheRowThatCannotBeLoadedAndLoadsNothing) {
  const auto failed = loadFilter(kImpossible);
  ASSERT_TRUE(failed);
  EXPECT_EQ(failed->str(), "seccomp row: why: Invalid argument");
}

}  // namespace
}  // namespace vfiogate
