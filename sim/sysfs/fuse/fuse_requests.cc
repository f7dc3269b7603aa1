#include "sim/sysfs/fuse/fuse_server.h"

#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <fstream>
#include <functional>
#include <vector>

#include "ipc/base/hex.h"

namespace vfiogate::sim {
namespace {

constexpr off_t kAttributeSize = 4096;  // what sysfs says of every attribute
constexpr int kCapSysAdmin = 21;
constexpr std::size_t kMostWritten = 4096;

FuseServer& serverOf(fuse_req_t request) {
  return *static_cast<FuseServer*>(fuse_req_userdata(request));
}

mode_t typeOf(NodeKind kind) {
  switch (kind) {
    case NodeKind::kDirectory:
      return S_IFDIR;
    case NodeKind::kLink:
      return S_IFLNK;
    case NodeKind::kCharDevice:
      return S_IFCHR;
    case NodeKind::kBlockDevice:
      return S_IFBLK;
    case NodeKind::kFile:
      break;
  }
  return S_IFREG;
}

/// The inode number stays with the object, not with the FUSE client's number for it.
struct stat statusOf(const TreeNode& node, const KnownNode& known, bool openNodes) {
  struct stat status {};
  status.st_mode = typeOf(node.kind) | node.mode;
  status.st_ino = std::hash<std::string>()(known.path) ^ (known.identity * 0x9e3779b97f4a7c15U);
  status.st_nlink = 1;
  status.st_size = node.kind == NodeKind::kFile ? kAttributeSize : 0;
  if (node.kind == NodeKind::kLink) status.st_size = static_cast<off_t>(node.text.size());
  const bool isNode = node.kind == NodeKind::kCharDevice || node.kind == NodeKind::kBlockDevice;
  if (isNode) status.st_rdev = ::makedev(node.major, node.minor);
  // The host's own devices must be out of reach: what can be opened is its null device, or nothing.
  if (isNode && openNodes) {
    status.st_rdev = node.kind == NodeKind::kCharDevice ? ::makedev(1, 3) : ::makedev(0, 0);
  }
  return status;
}

/// Whether the caller has CAP_SYS_ADMIN, as the kernel would ask.
bool hasSysAdmin(pid_t pid) {
  std::ifstream status("/proc/" + std::to_string(pid) + "/status");
  for (std::string line; std::getline(status, line);) {
    if (!line.starts_with("CapEff:")) continue;
    const std::size_t digits = line.find_last_of(" \t") + 1;
    const auto low = parseHexDigits(line.substr(line.size() - 8), 8);
    return digits < line.size() && low && ((*low >> kCapSysAdmin) & 1U) != 0;
  }
  return false;
}

}  // namespace

struct FuseRequests {
  static void lookup(fuse_req_t request, fuse_ino_t parent, const char* name) {
    FuseServer& server = serverOf(request);
    const KnownNode* known = server.nodes_.find(parent);
    if (known == nullptr || server.current(parent) == nullptr) {
      fuse_reply_err(request, ENOENT);
      return;
    }
    const std::string path = known->path.empty() ? name : known->path + "/" + name;
    const TreeNode* node = server.kernel_.tree().find(path);
    if (node == nullptr) {
      fuse_reply_err(request, ENOENT);
      return;
    }
    const int error = server.openRefusal(*node, path, fuse_req_ctx(request)->pid);
    if (error != 0) {
      fuse_reply_err(request, error);
      return;
    }
    fuse_entry_param entry{};  // all timeouts 0: what changes is seen at once
    entry.ino = server.nodes_.lookup(path, node->identity, node->write == nullptr);
    entry.attr = statusOf(*node, *server.nodes_.find(entry.ino), server.openNodes_);
    fuse_reply_entry(request, &entry);
  }

  static void forget(fuse_req_t request, fuse_ino_t number, std::uint64_t lookups) {
    serverOf(request).nodes_.forget(number, lookups);
    fuse_reply_none(request);
  }

  static void forgetMany(fuse_req_t request, std::size_t count, fuse_forget_data* forgets) {
    for (std::size_t index = 0; index < count; ++index) {
      serverOf(request).nodes_.forget(forgets[index].ino, forgets[index].nlookup);
    }
    fuse_reply_none(request);
  }

  static void getattr(fuse_req_t request, fuse_ino_t number, fuse_file_info* /*file*/) {
    FuseServer& server = serverOf(request);
    const TreeNode* node = server.current(number);
    if (node == nullptr) {
      fuse_reply_err(request, ENOENT);
      return;
    }
    const struct stat status = statusOf(*node, *server.nodes_.find(number), server.openNodes_);
    fuse_reply_attr(request, &status, 0);
  }

  /// A shell's `>` truncates, which sysfs takes and ignores.
  static void setattr(fuse_req_t request, fuse_ino_t number, struct stat* /*wanted*/, int which,
                      fuse_file_info* file) {
    if ((which & ~(FUSE_SET_ATTR_SIZE | FUSE_SET_ATTR_MTIME | FUSE_SET_ATTR_MTIME_NOW |
                   FUSE_SET_ATTR_ATIME | FUSE_SET_ATTR_ATIME_NOW | FUSE_SET_ATTR_CTIME)) != 0) {
      fuse_reply_err(request, EPERM);
      return;
    }
    getattr(request, number, file);
  }

  static void readlink(fuse_req_t request, fuse_ino_t number) {
    const TreeNode* node = serverOf(request).current(number);
    if (node == nullptr) {
      fuse_reply_err(request, ENOENT);
    } else {
      fuse_reply_readlink(request, node->text.c_str());
    }
  }

  /// Sysfs holds root, too, to what an attribute can do.
  static int refusal(const TreeNode& node, int flags) {
    const int access = flags & O_ACCMODE;
    const bool reads = access == O_RDONLY || access == O_RDWR;
    const bool writes = access == O_WRONLY || access == O_RDWR;
    if (reads && (node.mode & 0444) == 0) return EACCES;
    return writes && (node.mode & 0222) == 0 ? EACCES : 0;
  }

  static void open(fuse_req_t request, fuse_ino_t number, fuse_file_info* file) {
    FuseServer& server = serverOf(request);
    const TreeNode* node = server.current(number);
    const int error = node == nullptr ? ENOENT : refusal(*node, file->flags);
    if (error != 0) {
      fuse_reply_err(request, error);
      return;
    }
    const KnownNode& known = *server.nodes_.find(number);
    server.handles_[++server.lastHandle_] = {known.path, known.identity, false, ""};
    file->fh = server.lastHandle_;
    file->direct_io = 1;
    fuse_reply_open(request, file);
  }

  static void release(fuse_req_t request, fuse_ino_t /*number*/, fuse_file_info* file) {
    serverOf(request).handles_.erase(file->fh);
    fuse_reply_err(request, 0);
  }

  static void read(fuse_req_t request, fuse_ino_t /*number*/, std::size_t size, off_t offset,
                   fuse_file_info* file) {
    FuseServer& server = serverOf(request);
    const auto& handle = server.handles_.at(file->fh);
    if (offset > 0 && handle.filled) {
      const auto from = std::min(static_cast<std::size_t>(offset), handle.text.size());
      fuse_reply_buf(request, handle.text.data() + from, std::min(size, handle.text.size() - from));
      return;
    }
    if (server.current(handle) == nullptr) {
      fuse_reply_err(request, ENODEV);
      return;
    }
    const TaskId task = server.kernel_.read(handle.path);
    server.pending_[task] = {request, false, size, file->fh};
  }

  static void write(fuse_req_t request, fuse_ino_t /*number*/, const char* bytes, std::size_t size,
                    off_t /*offset*/, fuse_file_info* file) {
    FuseServer& server = serverOf(request);
    const auto& handle = server.handles_.at(file->fh);
    if (server.current(handle) == nullptr) {
      fuse_reply_err(request, ENODEV);
      return;
    }
    const std::size_t taken = std::min(size, kMostWritten);
    const bool sysAdmin = hasSysAdmin(fuse_req_ctx(request)->pid);
    const TaskId task = server.kernel_.write(handle.path, std::string(bytes, taken), sysAdmin);
    server.pending_[task] = {request, true, taken, file->fh};
  }

  static void opendir(fuse_req_t request, fuse_ino_t number, fuse_file_info* file) {
    if (serverOf(request).current(number) == nullptr) {
      fuse_reply_err(request, ENOENT);
    } else {
      fuse_reply_open(request, file);
    }
  }

  static void readdir(fuse_req_t request, fuse_ino_t number, std::size_t size, off_t offset,
                      fuse_file_info* /*file*/) {
    FuseServer& server = serverOf(request);
    const TreeNode* node = server.current(number);
    if (node == nullptr) {
      fuse_reply_err(request, ENOENT);
      return;
    }
    const std::string path = server.nodes_.find(number)->path;
    std::vector<std::string> names{".", ".."};
    names.insert(names.end(), node->names.begin(), node->names.end());
    std::vector<char> buffer(size);
    std::size_t used = 0;
    for (auto at = static_cast<std::size_t>(offset); at < names.size(); ++at) {
      const TreeNode* child =
          server.kernel_.tree().find(path.empty() ? names[at] : path + "/" + names[at]);
      struct stat status {};
      status.st_mode = child == nullptr ? S_IFDIR : typeOf(child->kind);
      status.st_ino = at + 2;
      const std::size_t need =
          fuse_add_direntry(request, buffer.data() + used, size - used, names[at].c_str(), &status,
                            static_cast<off_t>(at + 1));
      if (need > size - used) break;
      used += need;
    }
    fuse_reply_buf(request, buffer.data(), used);
  }
};

const fuse_lowlevel_ops& fuseOperations() {
  static const fuse_lowlevel_ops kOperations = [] {
    fuse_lowlevel_ops operations{};
    operations.lookup = FuseRequests::lookup;
    operations.forget = FuseRequests::forget;
    operations.forget_multi = FuseRequests::forgetMany;
    operations.getattr = FuseRequests::getattr;
    operations.setattr = FuseRequests::setattr;
    operations.readlink = FuseRequests::readlink;
    operations.open = FuseRequests::open;
    operations.release = FuseRequests::release;
    operations.read = FuseRequests::read;
    operations.write = FuseRequests::write;
    operations.opendir = FuseRequests::opendir;
    operations.readdir = FuseRequests::readdir;
    return operations;
  }();
  return kOperations;
}

}  // namespace vfiogate::sim
