#pragma once
// A node of a few files on which the processes' main paths are tried, away from everything real.

#include "ipc/types/bdf.h"

#include <string>

namespace vfiogate {

/// Made below the directory for temporary files, gone when this is destroyed. Has one PCI function
/// without driver, alone in its group, and a driver vfio-pci. Throws
/// std::filesystem::filesystem_error or std::system_error.
class ScratchNode {
public:
  ScratchNode();
  ~ScratchNode();
  ScratchNode(const ScratchNode&) = delete;
  ScratchNode& operator=(const ScratchNode&) = delete;

  static Bdf device();
  /// A place in it: "sys", "dev", "state", "cdi", "kubelet", "audit.jsonl", "aliases", or "" for
  /// itself.
  std::string at(const std::string& name) const { return path_ + "/" + name; }

private:
  std::string path_;
};

}  // namespace vfiogate
