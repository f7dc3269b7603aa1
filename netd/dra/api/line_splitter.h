#pragma once
// Lines out of pieces as they come.

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>

namespace vfiogate {

/// Keeps what has no end yet, at most `most` bytes.
class LineSplitter {
public:
  explicit LineSplitter(std::size_t most) : most_(most) {}

  /// Tells `line` each line that `piece` ends, without its end; empty ones are skipped. False: a
  /// line is longer than that, and nothing more is to be fed.
  template <typename Line>
  bool feed(std::string_view piece, Line&& line) {
    while (!piece.empty()) {
      const std::size_t end = std::min(piece.find('\n'), piece.size());
      if (begun_.size() + end > most_) return false;
      begun_.append(piece.substr(0, end));
      if (end == piece.size()) return true;
      if (!begun_.empty()) line(begun_);
      begun_.clear();
      piece.remove_prefix(end + 1);
    }
    return true;
  }

private:
  const std::size_t most_;
  std::string begun_;
};

}  // namespace vfiogate
