// Random lives of a node against the assertions of ledger.md 16; a failing one is made short.

#include <gtest/gtest.h>

#include <cstdlib>
#include <iostream>
#include <random>

#include "tests/property/ledger_world.h"

namespace vfiogate {
namespace {

using test::LedgerWorld;
using test::Step;

#ifdef NDEBUG
constexpr std::size_t kSteps = 1'000'000;
#else
constexpr std::size_t kSteps = 30'000;  // with sanitizers, three minutes of a processor
#endif
constexpr std::size_t kLife = 250;

std::size_t numberFrom(const char* variable, std::size_t otherwise) {
  const char* const text = std::getenv(variable);
  return text == nullptr ? otherwise : std::stoul(text);
}

/// What lives came to.
struct Met {
  int grants = 0;
  int returns = 0;
};

/// What a life breaks; empty: nothing.
std::string live(const std::vector<Step>& steps, Met* met = nullptr) {
  LedgerWorld world;
  for (const Step& step : steps) {
    if (auto broken = world.step(step); !broken.empty()) return broken;
  }
  std::string broken = world.settle();
  if (met != nullptr) {
    met->grants += world.grants();
    met->returns += world.returns();
  }
  return broken;
}

/// The assertion's name, so that a shorter life shows the same flaw.
std::string kindOf(const std::string& broken) {
  return broken.substr(0, broken.find(':'));
}

/// Delta debugging: leaves out ever smaller parts while the same assertion breaks.
std::vector<Step> shorten(std::vector<Step> steps) {
  const std::string kind = kindOf(live(steps));
  for (std::size_t size = steps.size() / 2; size > 0;) {
    bool shorter = false;
    for (std::size_t begin = 0; begin < steps.size();) {
      std::vector<Step> without = steps;
      const auto from = without.begin() + static_cast<std::ptrdiff_t>(begin);
      const auto count = static_cast<std::ptrdiff_t>(std::min(size, steps.size() - begin));
      without.erase(from, from + count);
      if (kindOf(live(without)) == kind) {
        steps = std::move(without);
        shorter = true;
      } else {
        begin += size;
      }
    }
    if (!shorter || size > steps.size()) size /= 2;
  }
  return steps;
}

TEST(LedgerProperty, I1I4T5OrderAndLiveHoldThroughRandomLives) {
  const std::size_t seed = numberFrom("VFIOGATE_SEED", std::random_device()());
  const std::size_t lives = numberFrom("VFIOGATE_STEPS", kSteps) / kLife;
  std::cout << "seed " << seed << ", " << lives * kLife << " steps\n";
  Met met;
  for (std::size_t life = 0; life < lives; ++life) {
    std::minstd_rand random(static_cast<unsigned>(seed + life));
    std::vector<Step> steps(kLife);
    for (Step& step : steps) {
      step.act = static_cast<int>(random() % LedgerWorld::kActs);
      step.pick = static_cast<unsigned>(random() >> 8);
    }
    const std::string broken = live(steps, &met);
    if (broken.empty()) continue;
    std::string text;
    for (const Step& step : shorten(steps)) {
      text += " {" + std::to_string(step.act) + ", " + std::to_string(step.pick) + "},";
    }
    FAIL() << broken << "\nagain with VFIOGATE_SEED=" << seed + life << "; shortest:" << text;
  }
  std::cout << met.grants << " grants, " << met.returns << " returns\n";
  EXPECT_GT(met.grants, static_cast<int>(lives)) << "a test that meets nothing shows nothing";
  EXPECT_GT(met.returns, static_cast<int>(lives) / 4);
}

}  // namespace
}  // namespace vfiogate
