#include "tests/support/seen/traced_stops.h"

#include <sys/wait.h>

namespace vfiogate::test {

TracedStops::TracedStops() {
  sigemptyset(&waited_);
  for (const int signal : {SIGCHLD, SIGTERM, SIGINT}) sigaddset(&waited_, signal);
  pthread_sigmask(SIG_BLOCK, &waited_, &before_);
}

TracedStops::~TracedStops() {
  leave();
}

void TracedStops::leave() const {
  pthread_sigmask(SIG_SETMASK, &before_, nullptr);
}

pid_t TracedStops::next(pid_t program, int& status) const {
  for (;;) {
    const pid_t thread = waitpid(-1, &status, __WALL | WNOHANG);
    if (thread > 0) return thread;
    if (thread < 0) return 0;
    int signal = 0;
    sigwait(&waited_, &signal);
    if (signal != SIGCHLD) kill(program, signal);
  }
}

}  // namespace vfiogate::test
