#include "tests/bench/own_place.h"

#include "tests/bench/node_under_test.h"

#include <sched.h>
#include <sys/mount.h>

#include <cstdlib>

namespace vfiogate::bench {

OwnPlace::OwnPlace() {
  const char* path = place_.path().c_str();
  if (unshare(CLONE_NEWNS) != 0 || mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0 ||
      mount("tmpfs", path, "tmpfs", 0, "mode=755") != 0) {
    giveUp("no namespaces of its own (needs root with CAP_SYS_ADMIN)");
  }
  setenv("TMPDIR", path, 1);
}

OwnPlace::~OwnPlace() {
  unsetenv("TMPDIR");
  umount2(place_.path().c_str(), MNT_DETACH);
}

}  // namespace vfiogate::bench
