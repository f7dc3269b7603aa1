#include "privd/base/write_whole.h"

#include <unistd.h>

#include <cerrno>

namespace vfiogate {

int writeWhole(int fd, std::string_view text) {
  while (!text.empty()) {
    const ssize_t more = write(fd, text.data(), text.size());
    if (more < 0 && errno != EINTR) return errno;
    if (more > 0) text.remove_prefix(static_cast<std::size_t>(more));
  }
  return 0;
}

}  // namespace vfiogate
