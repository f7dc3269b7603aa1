#include "sim/sysfs/fuse/fuse_server.h"

#include <fcntl.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>

namespace vfiogate::sim {
namespace {

/// A server that died leaves a mount that answers nothing.
void clearDeadMount(const std::string& directory) {
  struct stat status {};
  if (::stat(directory.c_str(), &status) != 0 && errno == ENOTCONN) {
    ::umount2(directory.c_str(), MNT_DETACH);
  }
}

}  // namespace

Result<std::unique_ptr<FuseServer>, std::string> FuseServer::mount(SimKernel& kernel,
                                                                   const std::string& directory,
                                                                   bool openNodes) {
  if (::access("/dev/fuse", R_OK | W_OK) != 0) {
    return Failure{std::string("/dev/fuse: ") + std::strerror(errno) +
                   "; the simulated sysfs needs it (module fuse; in a container: --device "
                   "/dev/fuse)"};
  }
  clearDeadMount(directory);
  struct stat status {};
  if (::stat(directory.c_str(), &status) != 0 || !S_ISDIR(status.st_mode)) {
    return Failure{directory + " is no directory"};
  }
  std::unique_ptr<FuseServer> server(new FuseServer(kernel, directory, openNodes));
  const std::string flags = std::string("default_permissions,allow_other,nosuid,noexec,") +
                            (openNodes ? "dev" : "nodev") + ",fsname=sim-sysfs,subtype=sim-sysfs";
  const char* arguments[] = {"sim-sysfs", "-o", flags.c_str()};
  fuse_args options = FUSE_ARGS_INIT(3, const_cast<char**>(arguments));
  server->session_ =
      fuse_session_new(&options, &fuseOperations(), sizeof(fuse_lowlevel_ops), server.get());
  fuse_opt_free_args(&options);
  if (server->session_ == nullptr) return Failure{std::string("libfuse refused its options")};
  server->mounted_ = fuse_session_mount(server->session_, directory.c_str()) == 0;
  if (!server->mounted_) return Failure{"cannot mount at " + directory + ", see above"};
  // A request that was announced is gone again if its process was killed meanwhile.
  const int fd = server->fd();
  if (::fcntl(fd, F_SETFL, ::fcntl(fd, F_GETFL) | O_NONBLOCK) != 0) {
    return Failure{std::string("/dev/fuse: ") + std::strerror(errno)};
  }
  return server;
}

FuseServer::FuseServer(SimKernel& kernel, std::string directory, bool openNodes)
    : kernel_(kernel),
      directory_(std::filesystem::absolute(directory).lexically_normal()),
      openNodes_(openNodes),
      request_(std::make_unique<fuse_buf>()) {}

FuseServer::~FuseServer() {
  std::free(request_->mem);
  if (session_ == nullptr) return;
  if (mounted_) fuse_session_unmount(session_);
  fuse_session_destroy(session_);
}

int FuseServer::fd() const {
  return fuse_session_fd(session_);
}

bool FuseServer::isNodeOpen(const std::string& path) const {
  return openNodes_ && isOpenAnywhere(directory_ + "/" + path);
}

int FuseServer::openRefusal(const TreeNode& node, const std::string& path, int thread) const {
  if (!openNodes_ || (!node.busy && !node.exclusive)) return 0;
  const auto flags = openFlags(thread);
  if (!flags) return 0;
  const bool alone = node.exclusive || (*flags & O_EXCL) != 0;
  if (alone && node.busy) return EBUSY;
  return node.exclusive && isNodeOpen(path) ? EBUSY : 0;
}

bool FuseServer::serveOne() {
  const int got = fuse_session_receive_buf(session_, request_.get());
  if (got > 0) fuse_session_process_buf(session_, request_.get());
  return got > 0 || got == -EINTR || got == -EAGAIN;
}

void FuseServer::answer(const Ended& ended) {
  const auto found = pending_.find(ended.id);
  if (found == pending_.end()) return;
  const Pending pending = found->second;
  pending_.erase(found);
  if (ended.error != 0) {
    fuse_reply_err(pending.request, ended.error);
    return;
  }
  if (pending.writing) {
    fuse_reply_write(pending.request, pending.size);
    return;
  }
  const auto handle = handles_.find(pending.handle);
  if (handle != handles_.end()) {
    handle->second.filled = true;
    handle->second.text = ended.text;
  }
  fuse_reply_buf(pending.request, ended.text.data(), std::min(pending.size, ended.text.size()));
}

const TreeNode* FuseServer::current(std::uint64_t number) {
  const KnownNode* known = nodes_.find(number);
  if (known == nullptr) return nullptr;
  const TreeNode* node = kernel_.tree().find(known->path);
  return node != nullptr && node->identity == known->identity ? node : nullptr;
}

const TreeNode* FuseServer::current(const Handle& handle) {
  const TreeNode* node = kernel_.tree().find(handle.path);
  return node != nullptr && node->identity == handle.identity ? node : nullptr;
}

}  // namespace vfiogate::sim
