// plugind, privd and commands side by side, killed at any time: what a pod has is never unbound.
// VFIOGATE_SEED repeats one, VFIOGATE_INTERLEAVINGS says how many steps it has.

#include "tests/integration/bind/interleavings.h"

#include <chrono>
#include <cstdlib>
#include <iostream>

namespace vfiogate::test {
namespace {

constexpr std::size_t kSteps = 300;

std::size_t numberFrom(const char* variable, std::size_t otherwise) {
  const char* const text = std::getenv(variable);
  return text == nullptr ? otherwise : std::stoul(text);
}

TEST_F(Interleavings, I1_I7_WhatAPodHasIsNeverUnboundAndTheLogIsWhole) {
  const std::size_t seed = numberFrom("VFIOGATE_SEED", std::random_device()());
  const std::size_t steps = numberFrom("VFIOGATE_INTERLEAVINGS", kSteps);
  std::cout << "seed " << seed << ", " << steps << " steps" << std::endl;
  begin(static_cast<unsigned>(seed));
  const auto began = std::chrono::steady_clock::now();
  for (std::size_t i = 0; i < steps && !HasFailure(); ++i) {
    SCOPED_TRACE("step " + std::to_string(i) +
                 ", again with VFIOGATE_SEED=" + std::to_string(seed));
    step();
  }
  if (!HasFailure()) settle();
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - began;
  std::cout << counts() << ", in " << took.count() << " s\n";
  ASSERT_FALSE(HasFailure()) << node_->said();
  EXPECT_GT(allocated_, steps / 50) << "a test that meets nothing shows nothing";
  EXPECT_GT(refused_, steps / 50);
}

}  // namespace
}  // namespace vfiogate::test
