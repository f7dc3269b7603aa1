#include "plugind/dra/serve/wire_text.h"

#include <algorithm>

namespace vfiogate {

std::string wireText(std::string_view text) {
  constexpr std::string_view kDots = "...";
  std::string plain(text.substr(0, kLongestWireText));
  if (text.size() > kLongestWireText) {
    plain.replace(kLongestWireText - kDots.size(), kDots.size(), kDots);
  }
  const auto foreign = [](char c) { return static_cast<unsigned char>(c) >= 0x80; };
  std::ranges::replace_if(plain, foreign, '?');
  return plain;
}

}  // namespace vfiogate
