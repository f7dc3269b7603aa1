// kill -9 of privd, each of its roles, plugind and the kubelet at every step of registration,
// Allocate, PreStart, stream and session, and at random moments: where privd serve runs the roles,
// and where they run side by side and one ends alone. VFIOGATE_KILLS says how many, VFIOGATE_SEED
// repeats a run.

#include "tests/integration/faults/fault_lane.h"

#include <gmock/gmock.h>

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <iomanip>
#include <iostream>
#include <iterator>
#include <random>

namespace vfiogate::test {
namespace {

/// For the short run; with as many as the long one has there is room for every process at every
/// step, so often at least.
constexpr std::size_t kKills = 300;
constexpr std::size_t kKillsOfALongRun = 2'000;
constexpr std::size_t kEach = 20;
constexpr std::size_t kEachOfAll = 10;
constexpr std::size_t kLanes = 4;  ///< every second one with the roles side by side
constexpr std::size_t kArrangements = 2;
constexpr int kTries = 4;  ///< to come upon a step
/// A random moment is one of the first so many microseconds of an operation.
constexpr unsigned kMoments = 30'000;

std::size_t numberFrom(const char* variable, std::size_t otherwise) {
  const char* const text = std::getenv(variable);
  return text == nullptr ? otherwise : std::stoul(text);
}

using Cell = std::pair<Victim, const Step*>;

std::vector<Cell> cellsFor(std::size_t kills) {
  std::vector<Cell> all;
  std::vector<Cell> few;
  for (const Step& step : faultSteps()) {
    for (const Victim victim : kVictims) {
      all.emplace_back(victim, &step);
      if (step.inShortRuns.contains(victim)) few.emplace_back(victim, &step);
    }
  }
  return all.size() * kEachOfAll <= kills ? all : few;
}

/// A run that is made shorter by hand has fewer.
std::size_t eachOf(const std::vector<Cell>& cells, std::size_t kills) {
  return std::min(kEach, kills / cells.size());
}

std::vector<Kill> killsFor(const std::vector<Cell>& cells, std::size_t kills,
                           std::minstd_rand& random) {
  std::vector<Kill> list;
  for (const auto& [victim, step] : cells) {
    for (std::size_t i = 0; i < eachOf(cells, kills); ++i)
      list.push_back({victim, step, step->operation, {}, Arrangement::kServed});
  }
  while (list.size() < kills) {
    const auto& [victim, step] = cells[random() % cells.size()];
    const std::chrono::microseconds delay(random() % kMoments);
    list.push_back({victim, nullptr, step->operation, delay, Arrangement::kServed});
  }
  for (std::size_t i = 1; i < list.size(); i += kArrangements) {
    list[i].arrangement = Arrangement::kSideBySide;
  }
  std::ranges::shuffle(list, random);
  return list;
}

/// To each lane those of its arrangement.
std::array<std::vector<Kill>, kLanes> dealtOut(const std::vector<Kill>& kills) {
  std::array<std::vector<Kill>, kLanes> lanes;
  std::array<std::size_t, kArrangements> next{0, 1};
  for (const Kill& kill : kills) {
    std::size_t& lane = next.at(static_cast<std::size_t>(kill.arrangement));
    lanes.at(lane).push_back(kill);
    lane = (lane + kArrangements) % kLanes;
  }
  return lanes;
}

using Hits = std::array<std::size_t, kArrangements>;

struct LaneReport {
  std::map<std::pair<Victim, std::string>, Hits> hits;
  std::vector<std::string> missed;  ///< operations that went by without the step
  std::size_t grants = 0;
  std::size_t refusedOpen = 0;
  std::chrono::duration<double> killing{};   ///< all its kills took so long
  std::chrono::duration<double> settling{};  ///< until the last group was back
  std::string failure;
};

LaneReport live(const std::vector<Kill>& kills, unsigned seed, Memory memory,
                Arrangement arrangement) {
  LaneReport report;
  FaultLane lane(seed, memory, arrangement);
  const auto began = std::chrono::steady_clock::now();
  for (const Kill& kill : kills) {
    const std::string step = kill.step == nullptr ? "a random moment" : kill.step->str();
    bool hit = false;
    for (int i = 0; i < kTries && !hit && lane.failure().empty(); ++i) {
      hit = lane.carryOut(kill);
      if (!hit) {
        report.missed.push_back(std::string(nameOf(kill.victim)) + " at " + step + ": " +
                                (lane.refusal().empty() ? "admitted" : lane.refusal()));
      }
    }
    if (hit) ++report.hits[{kill.victim, step}].at(static_cast<std::size_t>(arrangement));
    if (lane.failure().empty()) continue;
    report.failure = lane.failure() + "\nafter the kill of " + nameOf(kill.victim) + " at " + step +
                     (arrangement == Arrangement::kSideBySide ? ", side by side" : "");
    break;
  }
  const auto ended = std::chrono::steady_clock::now();
  report.killing = ended - began;
  if (report.failure.empty()) {
    lane.settle();
    report.failure = lane.failure();
  }
  report.settling = std::chrono::steady_clock::now() - ended;
  report.grants = lane.grants();
  report.refusedOpen = lane.refusedOpen();
  if (!report.failure.empty()) report.failure += "\n" + lane.said();
  return report;
}

void print(const LaneReport& sum) {
  std::cout << "served, side by side\n";
  for (const auto& [cell, hits] : sum.hits) {
    std::cout << std::setw(6) << hits[0] << std::setw(6) << hits[1] << "  " << std::left
              << std::setw(16) << nameOf(cell.first) << std::right << cell.second << "\n";
  }
  std::cout << std::fixed << std::setprecision(0) << sum.missed.size()
            << " operations went by without the step; " << sum.grants << " pods were admitted, "
            << sum.refusedOpen
            << " refused what a force-deleted one had open; the slowest lane killed for "
            << sum.killing.count() << " s and was whole " << sum.settling.count() << " s later\n";
  for (const std::string& missed : sum.missed) std::cout << "missed: " << missed << "\n";
}

TEST(FaultMatrix, ALongRunHasEveryProcessAtEveryStep) {
  EXPECT_EQ(cellsFor(kKillsOfALongRun).size(), faultSteps().size() * kVictims.size());
}

TEST(FaultMatrix, KilledAnywhereTheBooksBalance) {
  if (geteuid() != 0) GTEST_SKIP() << "needs root: privd serves only as root";
  const std::size_t seed = numberFrom("VFIOGATE_SEED", std::random_device()());
  const std::size_t count = numberFrom("VFIOGATE_KILLS", kKills);
  std::cout << "seed " << seed << ", " << count << " kills" << std::endl;
  std::minstd_rand random(static_cast<unsigned>(seed));
  const std::vector<Cell> cells = cellsFor(count);
  const std::vector<Kill> kills = killsFor(cells, count, random);
  const auto dealt = dealtOut(kills);
  std::vector<std::future<LaneReport>> lanes;
  for (std::size_t lane = 0; lane < kLanes; ++lane) {
    const auto laneSeed = static_cast<unsigned>(random());
    lanes.push_back(std::async(std::launch::async, live, dealt.at(lane), laneSeed, Memory::kTold,
                               Arrangement(lane % kArrangements)));
  }
  LaneReport sum;
  for (auto& lane : lanes) {
    const LaneReport report = lane.get();
    for (const auto& [cell, hits] : report.hits) {
      for (std::size_t i = 0; i < kArrangements; ++i) sum.hits[cell].at(i) += hits.at(i);
    }
    std::ranges::copy(report.missed, std::back_inserter(sum.missed));
    sum.grants += report.grants;
    sum.refusedOpen += report.refusedOpen;
    sum.killing = std::max(sum.killing, report.killing);
    sum.settling = std::max(sum.settling, report.settling);
    EXPECT_EQ(report.failure, "") << "again with VFIOGATE_SEED=" << seed;
  }
  print(sum);
  EXPECT_GT(sum.grants, count / 4) << "a test that meets nothing shows nothing";
  EXPECT_GT(sum.refusedOpen, count / 100);
  for (const auto& [victim, step] : cells) {
    const Hits& hits = sum.hits[{victim, step->str()}];
    EXPECT_GE(hits[0] + hits[1], eachOf(cells, count)) << nameOf(victim) << " at " << step->str();
    EXPECT_GE(std::min(hits[0], hits[1]), eachOf(cells, count) / kArrangements)
        << nameOf(victim) << " at " << step->str();
  }
}

/// The same without adoption, to show that such a run can fail. The kubelet itself is left alive:
/// it, too, would have nothing to remember its pods by.
TEST(FaultMatrix, WithoutAdoptionTheBooksDoNotBalance) {
  if (geteuid() != 0) GTEST_SKIP() << "needs root: privd serves only as root";
  const std::size_t seed = numberFrom("VFIOGATE_SEED", std::random_device()());
  std::minstd_rand random(static_cast<unsigned>(seed));
  std::vector<Kill> kills = killsFor(cellsFor(kKills), kKills, random);
  std::erase_if(kills, [](const Kill& kill) {
    return kill.victim == Victim::kKubelet || kill.operation == Operation::kRegister;
  });
  const LaneReport report =
      live(kills, static_cast<unsigned>(seed), Memory::kConcealed, Arrangement::kServed);
  const std::string said =
      report.failure.substr(0, report.failure.find('\n', report.failure.find('\n') + 1));
  std::cout << "seed " << seed << ": " << said << std::endl;
  EXPECT_THAT(said, testing::MatchesRegex("I[145]: (.|\n)*"));
}

}  // namespace
}  // namespace vfiogate::test
