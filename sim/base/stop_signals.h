#pragma once
// How a program of ours is told to end: by Ctrl-C, or by whoever started it.

#include <kj/io.h>

#include <sys/signalfd.h>

#include <csignal>

namespace vfiogate::test {

/// Readable at SIGINT and SIGTERM, which are no longer deadly. Before any thread starts.
inline kj::AutoCloseFd stopSignals() {
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGINT);
  sigaddset(&signals, SIGTERM);
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  return kj::AutoCloseFd(signalfd(-1, &signals, SFD_CLOEXEC));
}

}  // namespace vfiogate::test
