#pragma once
// A process that holds a real card open through VFIO until it is told to close it.

#include "sim/base/child_process.h"

#include <kj/io.h>

#include <string>

namespace vfiogate::sim {

/// Runs vfio_open of tests/machine, which has the group and the device open for as long as its
/// command runs: a shell that waits for a line.
class HeldCard {
public:
  /// Makes a pipe in `directory`.
  HeldCard(const std::string& directory, const std::string& group, const std::string& address,
           const std::string& ids);
  /// Closes it; else a reader of the shell's output would wait for ever.
  ~HeldCard();
  HeldCard(const HeldCard&) = delete;
  HeldCard& operator=(const HeldCard&) = delete;

  /// False: it ended without.
  bool isOpen() { return process_.says("held"); }
  std::string output() { return process_.output(); }

  /// Returns the exit status.
  int close();

private:
  void sayEnd() const;

  const std::string pipe_;
  kj::AutoCloseFd writing_;
  test::ChildProcess process_;
};

}  // namespace vfiogate::sim
