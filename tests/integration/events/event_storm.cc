#include "tests/integration/events/event_storm.h"

#include "sim/sysfs/topology/topology_file.h"
#include "tests/support/sanitizers.h"
#include "tests/support/seen/source_file.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <functional>
#include <iostream>
#include <random>
#include <thread>

namespace vfiogate::test {
namespace {

using Clock = std::chrono::steady_clock;

/// Half of the legs are short: their last event comes while the first reread is made or awaited.
constexpr std::size_t kShortLeg = 4;
constexpr std::size_t kLongLeg = 400;
/// Legs after which a node is waited for, so that a lost event is noticed while nothing makes up
/// for it. Without events that takes a second each time.
constexpr std::size_t kLegsSeen = 1;
constexpr std::size_t kLegsSeenWithoutEvents = 8;
constexpr std::size_t kMostGrowth = 1024;  // KiB, from the first quarter on
/// For what a call that is just ending still has open.
constexpr std::chrono::seconds kCallsEnd{30};

constexpr const char* kConfig =
    "holdDown: 0s\n"  // every leg is waited for, and all of these flap
    "resources:\n"
    "  - {select: {vendor: [\"10de\", \"15b3\", \"1af4\"]}}\n"
    "  - {select: {vendor: \"8086\", device: [\"1593\", \"1889\"]}}\n"
    "  - {select: {vendor: \"8086\", device: \"100e\"}, groupUnit: all}\n"
    "  - {select: {vendor: [\"14e4\", \"1002\"]}, groupUnit: all}\n";

sim::Topology readTopology() {
  return sim::parseTopology(sourceText("tests/topologies/event-storm.yaml")).value();
}

/// Only what is judged as soon as it is seen.
std::set<std::string> promptlyHealthy(const ShownFrame& frame) {
  std::set<std::string> healthy;
  for (const auto& [id, good] : frame) {
    if (good && !EventRehearsal::strangersOpen(id)) healthy.insert(id);
  }
  return healthy;
}

/// What became of one node.
struct Life {
  std::string wrong;
  /// Each process's in the first quarter: the fewest descriptors, the last memory.
  std::map<std::string, Upkeep> early;
  double seconds = 0;
};

std::string give(EventNode& node, const std::vector<EventAct>& acts) {
  std::string wrong;
  for (const EventAct& act : acts) {
    const std::string answer = node.hardware(act.command);
    if (answer == act.answer) continue;
    wrong += "the rehearsal went otherwise: " + act.command + ": " + answer;
  }
  return wrong;
}

using Alike = std::function<bool(const ShownFrame& shown, const ShownFrame& wanted)>;

/// Waits until every resource's frame is like the one in `wanted`; empty, or which one is not.
std::string awaitFrames(EventNode& node, const ShownFrames& wanted, const Alike& alike) {
  std::set<std::string> resources;
  for (const auto& [resource, frame] : wanted) resources.insert(resource);
  for (const std::string& resource : node.kubelet().resources()) resources.insert(resource);
  for (const std::string& resource : resources) {
    const auto found = wanted.find(resource);
    const ShownFrame frame = found == wanted.end() ? ShownFrame() : found->second;
    const ShownFrame shown =
        node.await(resource, [&](const ShownFrame& now) { return alike(now, frame); });
    if (alike(shown, frame)) continue;
    return "is " + inWords({{resource, shown}}) + "must be " + inWords({{resource, frame}});
  }
  return "";
}

bool same(const ShownFrame& shown, const ShownFrame& wanted) {
  return shown == wanted;
}

bool equallyHealthy(const ShownFrame& shown, const ShownFrame& wanted) {
  return promptlyHealthy(shown) == promptlyHealthy(wanted);
}

void watch(EventNode& node, Life& life, bool begun) {
  for (const auto& [program, now] : node.upkeep()) {
    Upkeep& early = life.early[program];
    const std::size_t fewest =
        begun ? std::min(early.descriptors, now.descriptors) : now.descriptors;
    early = {.descriptors = fewest, .kilobytes = now.kilobytes};
  }
}

Life live(EventNode& node, const std::vector<EventStorm::Leg>& legs) {
  const auto began = Clock::now();
  const std::size_t every = node.name() == "dropped" ? kLegsSeenWithoutEvents : kLegsSeen;
  Life life;
  for (std::size_t i = 0; i < legs.size() && life.wrong.empty(); ++i) {
    life.wrong = give(node, legs[i].acts);
    if (!life.wrong.empty() || (i + 1) % every != 0) continue;
    life.wrong = awaitFrames(node, legs[i].frames, equallyHealthy);
    if (!life.wrong.empty()) life.wrong += "after leg " + std::to_string(i);
    if (i < legs.size() / 4 || i + 1 == every) watch(node, life, i + 1 > every);
  }
  life.seconds = std::chrono::duration<double>(Clock::now() - began).count();
  return life;
}

/// With ThreadSanitizer hardware may have been away where there were fewest: plugind took longer
/// than it waits.
constexpr std::size_t kAway = kWatchesThreads ? 1 : 0;

/// Nor ended: nobody starts a program anew here, and a dead one has no descriptors.
void expectNothingGrew(EventNode& node, const Life& life) {
  const auto fewest = [&]() {
    return std::ranges::all_of(node.upkeep(), [&life](const auto& one) {
      return one.second.descriptors == life.early.at(one.first).descriptors;
    });
  };
  const auto until = Clock::now() + kCallsEnd;
  while (!fewest() && Clock::now() < until) std::this_thread::yield();
  for (const auto& [program, is] : node.upkeep()) {
    const Upkeep& was = life.early.at(program);
    const std::string who = node.name() + ", " + program;
    // Nor was it gone from the beginning.
    EXPECT_GT(was.descriptors, 0U) << who;
    std::cout << who << ": " << is.descriptors << " descriptors, " << was.kilobytes
              << " KiB after a quarter, " << is.kilobytes << " KiB in the end\n";
    EXPECT_GE(is.descriptors, was.descriptors) << who;
    EXPECT_LE(is.descriptors, was.descriptors + kAway) << who;
    if (!kOwnAllocator) continue;
    EXPECT_LE(is.kilobytes, was.kilobytes + kMostGrowth) << who;
  }
}

}  // namespace

EventStorm::EventStorm(unsigned seed)
    : seed_(seed),
      rehearsal_(readTopology(), seed),
      nodes_(startEventNodes("event-storm.yaml", kConfig, seed)) {}

std::string EventStorm::again(const EventNode& node) const {
  return node.name() + ", again with VFIOGATE_SEED=" + std::to_string(seed_) + "\n" +
         rehearsal_.show();
}

void EventStorm::giveAll(const std::vector<EventAct>& acts) {
  for (auto& node : nodes_) EXPECT_EQ(give(*node, acts), "") << again(*node);
  const ShownFrames wanted = rehearsal_.frames(held_);
  for (auto& node : nodes_) {
    EXPECT_EQ(awaitFrames(*node, wanted, same), "") << again(*node) << node->said();
  }
}

void EventStorm::begin() {
  std::vector<EventAct> acts;
  for (const char* command :
       {"plug 0000:03:00.0", "plug 0000:05:00.0", "plug 0000:22:00.2", "vfs 0000:3b:00.0 16"}) {
    acts.push_back(rehearsal_.take(command));
  }
  giveAll(acts);
  for (auto& node : nodes_) {
    const std::set<std::string> got{node->run("p1", "vfiogate.dev/10de_2230"),
                                    node->run("p2", "vfiogate.dev/14e4_16d7")};
    if (held_.empty()) held_ = got;
    EXPECT_EQ(got, held_) << node->name();
  }
  EXPECT_EQ(held_.count(""), 0U) << "a pod does not run";
  giveAll({});
}

EventStorm::Leg EventStorm::drawLeg(std::size_t count) {
  Leg leg;
  while (leg.happened < count || !leg.acts.back().tells) {
    leg.acts.push_back(rehearsal_.draw());
    leg.happened += leg.acts.back().happened ? 1 : 0;
  }
  leg.frames = rehearsal_.frames(held_);
  return leg;
}

std::vector<EventStorm::Leg> EventStorm::drawLegs(std::size_t events) {
  std::minstd_rand random(seed_);
  std::vector<Leg> legs;
  for (std::size_t happened = 0; happened < events; happened += legs.back().happened) {
    const std::size_t most = random() % 2 == 0 ? kShortLeg : kLongLeg;
    legs.push_back(drawLeg(1 + random() / 4 % most));
  }
  return legs;
}

std::vector<EventAct> EventStorm::drawEnd() {
  std::vector<EventAct> acts;
  while (!rehearsal_.quiet() || acts.empty() || !acts.back().tells) {
    acts.push_back(rehearsal_.draw());
  }
  return acts;
}

void EventStorm::rage(std::size_t events) {
  begin();
  ASSERT_FALSE(testing::Test::HasFailure());
  // ThreadSanitizer makes a kubelet slow: where it calls back later than plugind waits, plugind
  // registers again, before the storm.
  std::vector<std::size_t> lost(nodes_.size());
  for (std::size_t i = 0; kWatchesThreads && i < nodes_.size(); ++i) {
    lost[i] = nodes_[i]->streamsLost();
  }
  const std::vector<Leg> legs = drawLegs(events);
  std::vector<Life> lives(nodes_.size());
  {
    std::vector<std::jthread> hands;
    for (std::size_t i = 0; i < nodes_.size(); ++i) {
      hands.emplace_back([&, i]() { lives[i] = live(*nodes_[i], legs); });
    }
  }
  for (std::size_t i = 0; i < nodes_.size(); ++i) {
    std::cout << nodes_[i]->name() << ": " << lives[i].seconds << " s\n";
    ASSERT_EQ(lives[i].wrong, "") << again(*nodes_[i]) << nodes_[i]->said();
  }
  giveAll(drawEnd());
  std::cout << legs.size() << " legs, " << rehearsal_.uevents() << " kernel events\n";
  for (std::size_t i = 0; i < nodes_.size(); ++i) {
    EventNode& node = *nodes_[i];
    EXPECT_EQ(node.hardware("show"), rehearsal_.show()) << node.name();
    EXPECT_EQ(node.frames(), rehearsal_.frames(held_)) << node.name();
    EXPECT_EQ(node.streamsLost(), lost[i]) << node.name() << "\n" << node.said();
    EXPECT_EQ(node.kubelet().crash(), "") << node.name();
    expectNothingGrew(node, lives[i]);
  }
}

}  // namespace vfiogate::test
