#pragma once
// Presents a simulated kernel as a file system, by FUSE.

#include "ipc/base/result.h"
#include "sim/sysfs/fuse/fuse_nodes.h"
#include "sim/sysfs/kernel/sim_kernel.h"

#include <sys/types.h>

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>

struct fuse_buf;
struct fuse_req;
struct fuse_session;

#define FUSE_USE_VERSION 314  // what Debian 12 has
#include <fuse3/fuse_lowlevel.h>

namespace vfiogate::sim {

/// One thread serves all: a request that waits is answered when its task ends, meanwhile others are
/// served. A writer that waits cannot be interrupted, not even by SIGKILL, as in the real kernel.
class FuseServer {
public:
  /// Mounts at `directory`, which must exist; a mount left over there by a dead server is taken
  /// away first. Fails with the reason, for people. `kernel` must outlive the server.
  /// `openNodes`: device nodes can be opened (README.md says what they are then).
  static Result<std::unique_ptr<FuseServer>, std::string> mount(SimKernel& kernel,
                                                                const std::string& directory,
                                                                bool openNodes);

  /// Unmounts; callers that wait get ECONNABORTED or ENOTCONN.
  ~FuseServer();
  FuseServer(const FuseServer&) = delete;
  FuseServer& operator=(const FuseServer&) = delete;

  /// Readable when serveOne() has something to do.
  int fd() const;

  /// Takes one request. False: the file system was unmounted.
  bool serveOne();

  /// Whether a process has the node open; `path` is below the root, as "dev/vfio/12". Always false
  /// unless nodes can be opened.
  bool isNodeOpen(const std::string& path) const;

  /// Answers the request that started the task; without effect if none did.
  void answer(const Ended& ended);

private:
  friend struct FuseRequests;  // the callbacks that libfuse wants

  struct Handle {
    std::string path;
    std::uint64_t identity = 0;
    bool filled = false;  ///< `text` is what the first read said: the rest must fit it
    std::string text;
  };
  struct Pending {
    fuse_req* request = nullptr;
    bool writing = false;
    std::size_t size = 0;
    std::uint64_t handle = 0;
  };

  FuseServer(SimKernel& kernel, std::string directory, bool openNodes);

  /// The errno for a thread that looks the node up in order to open it; 0 for all others.
  int openRefusal(const TreeNode& node, const std::string& path, int thread) const;

  /// Null if it is gone, or another object has taken its place.
  const TreeNode* current(std::uint64_t number);
  const TreeNode* current(const Handle& handle);

  SimKernel& kernel_;
  std::string directory_;
  bool openNodes_;
  fuse_session* session_ = nullptr;
  bool mounted_ = false;
  std::unique_ptr<fuse_buf> request_;  ///< a megabyte, which libfuse makes at the first one
  FuseNodes nodes_;
  std::map<std::uint64_t, Handle> handles_;
  std::uint64_t lastHandle_ = 0;
  std::map<TaskId, Pending> pending_;
};

const fuse_lowlevel_ops& fuseOperations();

/// The flags with which this thread, which waits for the file system now, opens a file. Null: it
/// does something else, or opens with O_PATH, or that cannot be told (which takes CAP_SYS_PTRACE).
std::optional<std::uint64_t> openFlags(pid_t thread);

/// Whether any process has `path` open, other than with O_PATH. `path` is absolute, and looks the
/// same from there.
bool isOpenAnywhere(const std::string& path);

}  // namespace vfiogate::sim
