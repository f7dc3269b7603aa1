#include "privd/base/directory_names.h"

#include <dirent.h>
#include <unistd.h>

#include <cerrno>
#include <string_view>

namespace vfiogate {
namespace {

constexpr std::size_t kMostNames = 65536;

}  // namespace

Result<std::vector<std::string>, ReadError> directoryNames(kj::AutoCloseFd directory) {
  const int fd = directory.release();
  DIR* stream = fdopendir(fd);
  if (stream == nullptr) {
    const int error = errno;
    close(fd);
    return Failure{ReadError{error}};
  }
  std::vector<std::string> names;
  int error = 0;
  while (error == 0) {
    errno = 0;
    const dirent* entry = readdir(stream);
    if (entry == nullptr) {
      error = errno;
      break;
    }
    const std::string_view name = entry->d_name;
    if (name == "." || name == "..") continue;
    if (names.size() == kMostNames) error = EOVERFLOW;
    names.emplace_back(name);
  }
  closedir(stream);
  if (error != 0) return Failure{ReadError{error}};
  return names;
}

}  // namespace vfiogate
