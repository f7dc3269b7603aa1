#include "cli/table.h"

#include <array>
#include <ctime>
#include <limits>
#include <regex>

namespace vfiogate {
namespace {

constexpr std::int64_t kDay = 86'400;

}  // namespace

std::string momentText(std::int64_t moment, std::int64_t now) {
  const std::time_t time = moment;
  std::tm parts = {};
  std::array<char, 64> text = {};
  if (localtime_r(&time, &parts) == nullptr) return "?";
  const bool young = moment <= now && now - moment < kDay;
  const std::size_t size = young
                               ? std::strftime(text.data(), text.size(), "%H:%M:%S", &parts)
                               : std::strftime(text.data(), text.size(), "%Y-%m-%d %H:%M", &parts);
  return {text.data(), size};
}

std::string momentText(const std::string& rfc3339, std::int64_t now) {
  std::tm parts = {};
  const char* const rest = strptime(rfc3339.c_str(), "%Y-%m-%dT%H:%M:%S", &parts);
  if (rest == nullptr || !rfc3339.ends_with('Z')) return rfc3339;
  return momentText(std::int64_t{timegm(&parts)}, now);
}

std::string datedText(const std::string& rfc3339) {
  return momentText(rfc3339, std::numeric_limits<std::int64_t>::min());
}

std::string momentsIn(const std::string& text, std::int64_t now) {
  static const std::regex kTime(R"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z)");
  std::string shown;
  auto rest = text.cbegin();
  for (std::sregex_iterator found(text.begin(), text.end(), kTime), end; found != end; ++found) {
    shown.append(rest, (*found)[0].first);
    shown += momentText(found->str(), now);
    rest = (*found)[0].second;
  }
  return shown.append(rest, text.cend());
}

std::int64_t secondsSince1970() {
  return std::time(nullptr);
}

}  // namespace vfiogate
