// vfio_open NODE ADDRESS VENDOR:DEVICE COMMAND...: opens a device as a virtual machine monitor
// does, by its group's node below /dev/vfio (12, noiommu-12) or its own (devices/vfio3), compares
// the ids in its configuration space with those given, runs the command meanwhile.

#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>

#include "tests/machine/guest/vfio_device.h"

namespace {

int fail(const std::string& why) {
  std::fprintf(stderr, "vfio_open: %s\n", why.c_str());
  return 1;
}

int runMeanwhile(char** command) {
  const pid_t pid = ::fork();
  if (pid == 0) {
    ::execvp(command[0], command);
    ::_exit(fail(std::string(command[0]) + ": " + std::strerror(errno)));
  }
  int status = 0;
  ::waitpid(pid, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 5) {
    std::fprintf(stderr, "usage: vfio_open NODE ADDRESS VENDOR:DEVICE COMMAND...\n");
    return 2;
  }
  std::string why;
  vfiogate::machine::VfioDevice device = vfiogate::machine::openDevice(argv[1], argv[2], why);
  if (!why.empty()) return fail(why);
  const std::string ids = vfiogate::machine::readIds(device, why);
  if (!why.empty()) return fail(why);
  if (ids != argv[3])
    return fail(std::string(argv[2]) + " has the ids " + ids + ", not " + argv[3]);
  const int status = runMeanwhile(argv + 4);
  vfiogate::machine::closeDevice(device);
  return status;
}
