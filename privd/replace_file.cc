#include "privd/replace_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>

namespace vfiogate {
namespace {

/// 0, or an errno.
int writeAll(int fd, const std::string& text) {
  std::size_t written = 0;
  while (written < text.size()) {
    const ssize_t more = write(fd, text.data() + written, text.size() - written);
    if (more < 0 && errno != EINTR) return errno;
    if (more > 0) written += static_cast<std::size_t>(more);
  }
  return fsync(fd) == 0 ? 0 : errno;
}

}  // namespace

Result<Done, ReadError> replaceFile(int directory, const std::string& temporary,
                                    const std::string& name, const std::string& text, mode_t mode) {
  auto created = createAt(directory, temporary.c_str(), mode);
  if (!created && created.error().error == EEXIST) {  // of a privd that died meanwhile
    if (unlinkat(directory, temporary.c_str(), 0) != 0 && errno != ENOENT) {
      return Failure{ReadError{errno}};
    }
    created = createAt(directory, temporary.c_str(), mode);
  }
  if (!created) return Failure{created.error()};
  int error = writeAll(kj::mv(created).value(), text);
  if (error == 0 && renameat(directory, temporary.c_str(), directory, name.c_str()) != 0) {
    error = errno;
  }
  if (error == 0) return Done{};
  // It says nothing to anybody, whether it can be taken away or not.
  [[maybe_unused]] const int ignored = unlinkat(directory, temporary.c_str(), 0);
  return Failure{ReadError{error}};
}

}  // namespace vfiogate
