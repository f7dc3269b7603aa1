// The kernel's events are hints: what the kubelet is shown does not depend on how they arrive.
// Three nodes side by side get them as they are, not at all, and three times out of order.
// VFIOGATE_SEED repeats a run, VFIOGATE_EVENTS says how long the storm is.

#include "tests/integration/events/event_sequences.h"
#include "tests/integration/events/event_storm.h"

#include <gtest/gtest.h>

#include <unistd.h>

#include <cstdlib>
#include <iostream>
#include <random>

namespace vfiogate::test {
namespace {

#ifdef VFIOGATE_SANITIZED
constexpr std::size_t kEvents = 2'000;
#else
constexpr std::size_t kEvents = 10'000;
#endif

std::size_t numberFrom(const char* variable, std::size_t otherwise) {
  const char* const text = std::getenv(variable);
  return text == nullptr ? otherwise : std::stoul(text);
}

class EventDelivery : public testing::Test {
protected:
  static void SetUpTestSuite() {
    const bool may = geteuid() == 0 && access("/dev/fuse", R_OK | W_OK) == 0;
    ready = may && !sim::enterOwnNamespaces();
    seed = static_cast<unsigned>(numberFrom("VFIOGATE_SEED", std::random_device()()));
    std::cout << "seed " << seed << "\n";
  }
  static void TearDownTestSuite() { sequences.reset(); }

  void SetUp() override {
    if (!ready) GTEST_SKIP() << "needs root, /dev/fuse and namespaces of its own";
  }

  static bool ready;
  static unsigned seed;
  static std::unique_ptr<EventSequences> sequences;
};

bool EventDelivery::ready = false;
unsigned EventDelivery::seed = 0;
std::unique_ptr<EventSequences> EventDelivery::sequences;

TEST_F(EventDelivery, SequencesLeadToTheSameFrames) {
  sequences = std::make_unique<EventSequences>(seed);
  sequences->play();
}

// What left in the sequences has its last 60 s in the frame meanwhile.
TEST_F(EventDelivery, StormEndsInTheSameFrames) {
  const std::size_t events = numberFrom("VFIOGATE_EVENTS", kEvents);
  std::cout << events << " events\n";
  EventStorm(seed).rage(events);
}

TEST_F(EventDelivery, SequencesEndInTheSameFrames) {
  if (!sequences) GTEST_SKIP() << "goes with the first one";
  sequences->settle();
}

}  // namespace
}  // namespace vfiogate::test
