#pragma once
// Writing a text to a file, however many writes it takes.

#include <string_view>

namespace vfiogate {

/// 0, or an errno: then nobody knows how much of it is there. `fd` is borrowed, and blocks.
int writeWhole(int fd, std::string_view text);

}  // namespace vfiogate
