#pragma once
// A kubelet is another process than the gate: in a test they are one.

#include <kj/debug.h>

#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

namespace vfiogate {

/// Whoever dials this listening socket from now on finds there another process than this one.
inline void anotherListens(int listener) {
  constexpr int kBacklog = 16;
  const pid_t other = fork();
  if (other == 0) _exit(listen(listener, kBacklog) == 0 ? 0 : 1);
  int status = 0;
  KJ_SYSCALL(waitpid(other, &status, 0));
  KJ_ASSERT(status == 0, "listen() failed there");
}

}  // namespace vfiogate
