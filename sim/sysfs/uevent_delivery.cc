#include "sim/sysfs/uevent_delivery.h"

#include <utility>

namespace vfiogate::sim {

UeventDelivery UeventDelivery::thrice(unsigned seed) {
  UeventDelivery delivery;
  delivery.random_.emplace(seed);
  return delivery;
}

std::vector<Uevent> UeventDelivery::take(std::vector<Uevent> fresh, Instant now) {
  if (!random_) return fresh;
  if (!fresh.empty()) lastCame_ = now;
  for (int copy = 0; copy < 3; ++copy) held_.insert(held_.end(), fresh.begin(), fresh.end());
  const std::size_t keep = now - lastCame_ >= kQuiet ? 0 : kHeldBack;
  std::vector<Uevent> out;
  while (held_.size() > keep) {
    std::swap(held_[(*random_)() % held_.size()], held_.back());
    out.push_back(std::move(held_.back()));
    held_.pop_back();
  }
  return out;
}

std::optional<UeventDelivery::Instant> UeventDelivery::due() const {
  if (held_.empty()) return std::nullopt;
  return lastCame_ + kQuiet;
}

}  // namespace vfiogate::sim
