#include "plugind/config/findings.h"

#include <algorithm>

namespace vfiogate {

void Findings::refuse(std::uint32_t line, const std::string& path, const std::string& text) {
  problems_.push_back({fileName_, line, path, text});
}

void Findings::refuse(const std::string& path, const std::string& text) {
  refuse(lineOf(path), path, text);
}

void Findings::warn(const std::string& path, const std::string& text) {
  warnings_.push_back({fileName_, lineOf(path), path, text});
}

void Findings::hint(const std::string& path, const std::string& text) {
  hints_.push_back({fileName_, lineOf(path), path, text});
}

std::vector<ConfigRemark> Findings::problems() const {
  constexpr std::size_t kShown = 20;
  std::vector<ConfigRemark> sorted = problems_;
  std::ranges::stable_sort(sorted, {}, &ConfigRemark::line);
  if (sorted.size() > kShown) {
    const std::string rest = std::to_string(sorted.size() - kShown);
    sorted.resize(kShown);
    sorted.push_back({fileName_, 0, "", "and " + rest + " more problems"});
  }
  return sorted;
}

std::uint32_t Findings::lineOf(std::string path) const {
  while (!path.empty()) {
    const auto found = lines_.find(path);
    if (found != lines_.end()) return found->second;
    const std::size_t cut = path.find_last_of(".[");
    path.erase(cut == std::string::npos ? 0 : cut);
  }
  return 0;
}

}  // namespace vfiogate
