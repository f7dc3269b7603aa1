#pragma once
// The main paths of privd's processes, each gone once under its filter, on a node of a few files
// away from everything real.

#include "cli/self_test/self_test.h"
#include "ipc/base/result.h"
#include "ipc/socket/unix_socket.h"
#include "ipc/types/bdf.h"
#include "privd/base/open_file.h"
#include "privd/state/state_directory.h"
#include "seccomp/rule.h"

#include <kj/debug.h>

#include <cstring>
#include <span>
#include <string>

namespace vfiogate {

/// Made below the directory for temporary files, gone when this is destroyed. Has one PCI function
/// without driver, alone in its group, and a driver vfio-pci. Throws
/// std::filesystem::filesystem_error or std::system_error.
class ScratchNode {
public:
  ScratchNode();

  /// The only device that it has.
  static Bdf device();
  /// In its vital product data.
  static constexpr const char* kSerial = "MT2112X01234";
  /// A place in it: "sys", "dev", "state", "cdi", "kubelet", "audit.jsonl", "aliases", or "" for
  /// itself.
  std::string at(const std::string& name) const { return directory_.path() + "/" + name; }

private:
  ScratchDirectory directory_{0700};
};

/// For a child of its own (watchChild), as root: power is given up, `table` loaded, and then
/// each path is gone on the scratch node. Says on stdout ">" with the name of each step as it
/// begins, one a line, and "!" with what went wrong. Returns the exit code.
int goHardwarePaths(const ScratchNode& node, std::span<const Rule> table);

/// The same of the gate: each of its requests is asked once.
int goGatePaths(const ScratchNode& node, std::span<const Rule> table);

/// The same of the binder, with its fork server.
int goBinderPaths(const ScratchNode& node, std::span<const Rule> table);

/// What the outcome was, or throws with what went wrong.
template <typename T, typename E, typename Words>
T got(Result<T, E> result, Words words) {
  KJ_REQUIRE(result.has_value(), words(result.error()).c_str());
  return kj::mv(result).value();
}

/// The words for got(), by the kind of its error.
inline std::string ofErrno(int error) {
  return strerror(error);
}
inline std::string ofRead(const ReadError& error) {
  return strerror(error.error);
}
inline std::string ofState(const StateFailure& error) {
  return error.str();
}
inline std::string ofText(const std::string& text) {
  return text;
}
inline std::string ofSocket(const SocketError& error) {
  return std::string(error.step) + ": " + strerror(error.error);
}

}  // namespace vfiogate
