#include "plugind/privd/posted_file.h"

#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace vfiogate {
namespace {

constexpr std::uint32_t kLargest = 1U << 20U;

}  // namespace

Result<std::string, std::string> readPosted(int fd, std::uint32_t size) {
  if (size > kLargest) return Failure{std::string("the file is above 1 MiB")};
  std::string text(size, '\0');
  for (std::size_t filled = 0; filled < size;) {
    const ssize_t got = read(fd, text.data() + filled, size - filled);
    if (got < 0) return Failure{std::string("read: ") + strerror(errno)};
    if (got == 0) return Failure{std::string("the file is shorter than privd says")};
    filled += static_cast<std::size_t>(got);
  }
  return text;
}

}  // namespace vfiogate
