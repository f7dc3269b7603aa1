#include "sim/kubelet/base/socket_tree.h"

#include <sys/inotify.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <system_error>

namespace vfiogate::sim {
namespace {

namespace fs = std::filesystem;

bool isHidden(const fs::path& path) {
  return path.filename().string().starts_with('.');
}

}  // namespace

SocketTree::SocketTree(const std::string& directory)
    : inotify_(inotify_init1(IN_CLOEXEC | IN_NONBLOCK)) {
  if (inotify_ < 0) throw std::system_error(errno, std::generic_category(), "inotify");
  if (fs::create_directories(directory)) {
    fs::permissions(directory,
                    fs::perms::owner_all | fs::perms::group_read | fs::perms::group_exec);
  }
  walk(directory);
}

SocketTree::~SocketTree() {
  close(inotify_);
}

void SocketTree::walk(const fs::path& directory) {
  // Watched first: what appears during the walk is then seen twice rather than never.
  const int watch =
      inotify_add_watch(inotify_, directory.c_str(), IN_CREATE | IN_MOVED_TO | IN_DELETE);
  if (watch < 0) return;  // it is gone again
  directories_[watch] = directory;
  std::error_code gone;
  for (const auto& entry : fs::directory_iterator(directory, gone)) {
    if (entry.is_directory(gone)) {
      walk(entry.path());
    } else if (!isHidden(entry.path())) {
      appeared(entry.path());
    }
  }
}

void SocketTree::appeared(const fs::path& path) {
  std::error_code gone;
  // Its target counts, where it is a link.
  if (fs::is_socket(fs::status(path, gone))) sockets_[path.string()] = ++drawn_;
}

void SocketTree::update() {
  alignas(inotify_event) std::array<char, 4096> buffer{};
  for (ssize_t size = 0; (size = read(inotify_, buffer.data(), buffer.size())) > 0;) {
    for (ssize_t at = 0; at < size;) {
      inotify_event event{};
      std::memcpy(&event, buffer.data() + at, sizeof event);
      const char* name = buffer.data() + at + sizeof event;
      at += static_cast<ssize_t>(sizeof event + event.len);
      const auto directory = directories_.find(event.wd);
      if (event.len == 0 || directory == directories_.end()) continue;
      const fs::path path = directory->second / name;
      if ((event.mask & IN_DELETE) != 0) {
        sockets_.erase(path.string());
      } else if (!isHidden(path)) {
        if ((event.mask & IN_ISDIR) != 0) {
          walk(path);
        } else {
          appeared(path);
        }
      }
    }
  }
}

}  // namespace vfiogate::sim
