// What `plugind status` is told.

#include "plugind/core/ledger/ledger_view.h"

#include "tests/unit/plugind/ledger/ledger_case.h"

namespace vfiogate {
namespace {

using test::kA;
using test::kB;
using test::kC;
using test::LedgerCase;

TEST_F(LedgerCase, ViewTellsHoldersSinceReferenceAndTheLastRefusal) {
  node.start();
  hold("p1", "gpu", {kA});
  ASSERT_EQ(node.allocate("other", {kB}), "group-lent");
  const auto views = viewOf(node.ledger.state());
  ASSERT_EQ(views.size(), 2U);
  EXPECT_EQ(views[0].group, IommuGroupId(31));
  EXPECT_EQ(nameOf(views[0].holding), "lent");
  ASSERT_EQ(views[0].holders.size(), 1U);
  EXPECT_EQ(views[0].holders[0].ref.str(), "7f3a");
  EXPECT_EQ(views[0].holders[0].podUid, "p1");
  ASSERT_TRUE(views[0].lastRefusal);
  EXPECT_EQ(views[0].lastRefusal->refusal.reason, "group-lent");
  EXPECT_EQ(nameOf(views[1].holding), "free");
}

}  // namespace
}  // namespace vfiogate
