// How often and when events go out.

#include <gmock/gmock.h>

#include <map>

#include "sim/sysfs/uevent_delivery.h"

namespace vfiogate::sim {
namespace {

using std::chrono::milliseconds;

std::vector<Uevent> eventsNamed(unsigned from, unsigned count) {
  std::vector<Uevent> events;
  for (unsigned i = from; i < from + count; ++i) {
    events.push_back({"change", "/devices/" + std::to_string(i), "pci", {}});
  }
  return events;
}

TEST(UeventDelivery, AsIsGivesEachOnceInOrder) {
  UeventDelivery delivery;
  EXPECT_EQ(delivery.take(eventsNamed(0, 100), {}), eventsNamed(0, 100));
  EXPECT_EQ(delivery.due(), std::nullopt);
}

TEST(UeventDelivery, ThriceGivesEachThreeTimesOutOfOrderAndLosesNone) {
  UeventDelivery delivery = UeventDelivery::thrice(7);
  const UeventDelivery::Instant start{};
  std::vector<std::string> order;
  const auto note = [&order](const std::vector<Uevent>& events) {
    for (const Uevent& event : events) order.push_back(event.devpath);
  };
  for (unsigned i = 0; i < 100; ++i) note(delivery.take(eventsNamed(i, 1), start));
  EXPECT_EQ(order.size(), 300 - UeventDelivery::kHeldBack);
  EXPECT_EQ(delivery.due(), start + UeventDelivery::kQuiet);
  note(delivery.take({}, start + milliseconds(1)));
  EXPECT_EQ(order.size(), 300 - UeventDelivery::kHeldBack) << "it is not quiet yet";
  note(delivery.take({}, start + UeventDelivery::kQuiet));
  EXPECT_EQ(delivery.due(), std::nullopt);

  std::map<std::string, int> times;
  for (const std::string& path : order) ++times[path];
  EXPECT_EQ(times.size(), 100U);
  EXPECT_THAT(times, testing::Each(testing::Pair(testing::_, 3)));
  std::vector<std::string> sorted = order;
  std::ranges::stable_sort(sorted, {}, [](const std::string& path) { return path.size(); });
  EXPECT_NE(order, sorted) << "in order";
}

}  // namespace
}  // namespace vfiogate::sim
