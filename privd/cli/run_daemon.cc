#include "privd/cli/commands.h"

#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <iostream>
#include <string>
#include <system_error>
#include <vector>

namespace vfiogate {

int runDaemon(char* const* arguments) {
  const char* const self = "/proc/self/exe";
  std::error_code error;
  const auto beside = std::filesystem::read_symlink(self, error).parent_path();
  if (error) {
    std::cerr << "privd serve: " << self << ": " << error.message()
              << ": mount /proc, or run privd-daemon\n";
    return 1;
  }
  std::string daemon = beside / "privd-daemon";
  std::vector<char*> words{daemon.data()};
  for (; *arguments != nullptr; ++arguments) words.push_back(*arguments);
  words.push_back(nullptr);
  execv(daemon.c_str(), words.data());
  std::cerr << "privd serve: " << daemon << ": " << strerror(errno)
            << ": the daemon is installed beside privd\n";
  return 1;
}

}  // namespace vfiogate
