// Random lives of a node against a model that knows only parties and addresses.

#include <gtest/gtest.h>

#include <cstdlib>
#include <iostream>
#include <random>

#include "tests/property/node_life.h"

namespace vfiogate {
namespace {

using test::Life;

// A node without releases fills up soon: many short lives see more than a long one.
constexpr unsigned kLives = 1'250;
constexpr int kSteps = 80;

TEST(Lending, I1I4I5HoldThroughRandomLives) {
  const char* const chosen = std::getenv("VFIOGATE_SEED");
  const unsigned seed =
      chosen == nullptr ? std::random_device()() : static_cast<unsigned>(std::stoul(chosen));
  RecordProperty("seed", std::to_string(seed));
  int grants = 0;
  int reoffers = 0;
  int refusals = 0;
  for (unsigned number = 0; number < kLives; ++number) {
    Life life(seed + number);
    for (int step = 0; step < kSteps; ++step) {
      life.step();
      ASSERT_FALSE(HasFailure()) << "again with VFIOGATE_SEED=" << seed + number << ", step "
                                 << step;
    }
    grants += life.grants();
    reoffers += life.reoffers();
    refusals += life.refusals();
  }
  // A test that meets nothing shows nothing.
  EXPECT_GT(grants, 1'000);
  EXPECT_GT(reoffers, 100);
  EXPECT_GT(refusals, 1'000);
  std::cout << "seed " << seed << ": " << grants << " grants, " << reoffers << " re-offers, "
            << refusals << " refusals\n";
}

}  // namespace
}  // namespace vfiogate
