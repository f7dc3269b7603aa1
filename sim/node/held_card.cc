#include "sim/node/held_card.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace vfiogate::sim {
namespace {

/// Open for both, so that opening and writing wait for nobody.
int makePipe(const std::string& path) {
  unlink(path.c_str());
  mkfifo(path.c_str(), 0600);
  return open(path.c_str(), O_RDWR | O_CLOEXEC);
}

}  // namespace

HeldCard::HeldCard(const std::string& directory, const std::string& group,
                   const std::string& address, const std::string& ids)
    : pipe_(directory + "/held"),
      writing_(makePipe(pipe_)),
      process_({"/bin/without_capabilities", "/bin/vfio_open", group, address, ids, "/bin/sh", "-c",
                "echo held; read -r line <" + pipe_}) {}

HeldCard::~HeldCard() {
  sayEnd();
}

int HeldCard::close() {
  sayEnd();
  return process_.wait();
}

void HeldCard::sayEnd() const {
  // Nobody is left to be told if the write fails.
  static_cast<void>(!write(writing_, "\n", 1));
}

}  // namespace vfiogate::sim
