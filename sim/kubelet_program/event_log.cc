#include "sim/kubelet_program/kubelet_commands.h"

#include <array>
#include <chrono>
#include <ctime>

namespace vfiogate::sim {
namespace {

constexpr std::size_t kMost = 1000;

std::string timeOfDay() {
  using std::chrono::milliseconds;
  const auto now = std::chrono::system_clock::now();
  const std::time_t seconds = std::chrono::system_clock::to_time_t(now);
  std::tm broken{};
  localtime_r(&seconds, &broken);
  std::array<char, 16> text{};
  const std::size_t size = std::strftime(text.data(), text.size(), "%H:%M:%S", &broken);
  const auto part =
      std::chrono::duration_cast<milliseconds>(now.time_since_epoch()) % std::chrono::seconds(1);
  const std::string digits = std::to_string(part.count());
  return std::string(text.data(), size) + "." + std::string(3 - digits.size(), '0') + digits;
}

}  // namespace

void EventLog::add(const std::string& what) {
  const std::lock_guard lock(mutex_);
  lines_.push_back(timeOfDay() + " " + what);
  if (lines_.size() > kMost) lines_.pop_front();
  if (also_) also_(lines_.back());
}

std::string EventLog::last(std::size_t count) const {
  const std::lock_guard lock(mutex_);
  std::string text;
  const std::size_t from = lines_.size() > count ? lines_.size() - count : 0;
  for (std::size_t i = from; i < lines_.size(); ++i) text += lines_[i] + "\n";
  return text.empty() ? "nothing happened yet\n" : text;
}

}  // namespace vfiogate::sim
