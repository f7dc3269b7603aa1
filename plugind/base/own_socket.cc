#include "plugind/base/own_process.h"

#include "ipc/socket/unix_socket.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>

namespace vfiogate {
namespace {

std::string failureOf(const char* step, int error, const std::string& directory) {
  return std::string(step) + ": " + strerror(error) + "; the directory " + directory +
         " must be there and belong to uid " + std::to_string(geteuid());
}

/// Empty: nobody listens.
std::string listenerAt(const std::string& path) {
  const auto dialled = dialAt(path.c_str());
  if (!dialled) return dialled.error().error == EAGAIN ? "another process, which is busy" : "";
  const auto pid = peerOf(dialled->get()).pid;
  return pid ? "pid=" + std::to_string(*pid) : "a process of another PID namespace";
}

}  // namespace

Result<kj::AutoCloseFd, std::string> listenAlone(const std::string& path) {
  const std::filesystem::path place(path);
  const std::string directory = place.has_parent_path() ? place.parent_path().string() : ".";
  const kj::AutoCloseFd lock(
      ::open((path + ".lock").c_str(), O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600));
  if (lock.get() < 0) return Failure{failureOf("lock", errno, directory)};
  if (flock(lock, LOCK_EX | LOCK_NB) != 0) {
    if (errno != EWOULDBLOCK) return Failure{failureOf("lock", errno, directory)};
    return Failure{std::string("another plugind is about to listen there")};
  }
  if (const std::string holder = listenerAt(path); !holder.empty()) {
    return Failure{"already taken: " + holder +
                   " listens there; end it, or choose another --listen"};
  }
  auto made = listenAt(directory.c_str(), place.filename().c_str(), WhoMayConnect::kEverybody);
  if (!made) return Failure{failureOf(made.error().step, made.error().error, directory)};
  return kj::mv(made).value();
}

}  // namespace vfiogate
