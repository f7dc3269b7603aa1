#include "privd/base/open_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>

namespace vfiogate {

Result<Done, ReadError> replaceFile(int directory, const std::string& temporary,
                                    const std::string& name, const std::string& text, mode_t mode,
                                    Synced synced) {
  auto created = createAt(directory, temporary.c_str(), mode);
  if (!created && created.error().error == EEXIST) {  // of a privd that died meanwhile
    if (unlinkat(directory, temporary.c_str(), 0) != 0 && errno != ENOENT) {
      return Failure{ReadError{errno}};
    }
    created = createAt(directory, temporary.c_str(), mode);
  }
  if (!created) return Failure{created.error()};
  const kj::AutoCloseFd file = kj::mv(created).value();
  int error = writeWhole(file.get(), text);
  if (error == 0 && synced == Synced::kFirst && fsync(file.get()) != 0) error = errno;
  if (error == 0 && renameat(directory, temporary.c_str(), directory, name.c_str()) != 0) {
    error = errno;
  }
  if (error == 0) return Done{};
  // It says nothing to anybody, whether it can be taken away or not.
  [[maybe_unused]] const int ignored = unlinkat(directory, temporary.c_str(), 0);
  return Failure{ReadError{error}};
}

int writeWhole(int fd, std::string_view text) {
  while (!text.empty()) {
    const ssize_t more = write(fd, text.data(), text.size());
    if (more < 0 && errno != EINTR) return errno;
    if (more > 0) text.remove_prefix(static_cast<std::size_t>(more));
  }
  return 0;
}

}  // namespace vfiogate
