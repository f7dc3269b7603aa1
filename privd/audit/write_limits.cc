#include "privd/audit/write_limits.h"

#include <algorithm>

namespace vfiogate {
namespace {

constexpr std::size_t kMostInAll = 120;
constexpr std::ptrdiff_t kMostOfGroup = 10;

}  // namespace

bool WriteLimits::admit(std::uint32_t uid, std::uint32_t group, Time now) {
  std::deque<Order>& orders = orders_[uid];
  while (!orders.empty() && now - orders.front().at >= std::chrono::minutes(1)) orders.pop_front();
  if (orders.size() >= kMostInAll) return false;
  if (std::ranges::count(orders, group, &Order::group) >= kMostOfGroup) return false;
  orders.push_back({group, now});
  return true;
}

}  // namespace vfiogate
