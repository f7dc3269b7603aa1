#include "cli/usage.h"

#include <gtest/gtest.h>

namespace vfiogate {
namespace {

const std::vector<std::string> kWords{"list",   "show",      "watch",    "bind",
                                      "unbind", "--dry-run", "--driver", "-o"};

TEST(DidYouMean, NamesTheWordThatIsASlipAway) {
  struct Row {
    const char* typed;
    const char* meant;
  };
  for (const Row& row : std::initializer_list<Row>{{"lst", "list"},
                                                   {"lsit", "list"},
                                                   {"List", "list"},
                                                   {"listt", "list"},
                                                   {"wa", "watch"},
                                                   {"unbnid", "unbind"},
                                                   {"bimd", "bind"},
                                                   {"--drvier", "--driver"},
                                                   {"--dryrun", "--dry-run"},
                                                   {"--dry", "--dry-run"}}) {
    const auto meant = nearest(row.typed, kWords);
    ASSERT_TRUE(meant) << row.typed;
    EXPECT_EQ(*meant, row.meant);
  }
}

TEST(DidYouMean, NamesNothingThatIsFar) {
  for (const char* typed : {"", "--", "x", "frobnicate", "li5tings"}) {
    EXPECT_FALSE(nearest(typed, kWords)) << typed;
  }
  EXPECT_FALSE(nearest(std::string(1000, 'l'), kWords));
  EXPECT_EQ(didYouMean("lst", kWords), ": did you mean 'list'?");
  EXPECT_EQ(didYouMean("frobnicate", kWords), "");
}

TEST(DidYouMean, AWordOutsideAListIsAnsweredWithTheList) {
  EXPECT_EQ(noneOf("jsn", "form of output", {"table", "json"}),
            "'jsn' is no form of output: did you mean 'json'? There are table, json");
  EXPECT_EQ(noneOf("xen", "consumer", {"kubevirt", "kata"}),
            "'xen' is no consumer: there are kubevirt, kata");
}

}  // namespace
}  // namespace vfiogate
