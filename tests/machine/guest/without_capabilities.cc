// without_capabilities COMMAND...: runs it as the user who calls, without any capability and
// without a way to get one.

#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>

#include "tests/machine/guest/no_capabilities.h"

int main(int argc, char** argv) {
  if (argc < 2) {
    std::fprintf(stderr, "usage: without_capabilities COMMAND...\n");
    return 2;
  }
  std::string why = vfiogate::machine::dropCapabilities();
  if (why.empty()) {
    ::execvp(argv[1], argv + 1);
    why = std::string(argv[1]) + ": " + std::strerror(errno);
  }
  std::fprintf(stderr, "without_capabilities: %s\n", why.c_str());
  return 126;
}
