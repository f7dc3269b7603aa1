#pragma once
// The virtual machine's own hardware, by the names of tests/machine/machine.sh.

#include <chrono>
#include <string>
#include <vector>

namespace vfiogate::sim {

struct Ran {
  int status;
  std::string output;
};

Ran run(const std::vector<std::string>& command);
/// With the words of tests/machine/guest/library.sh.
Ran runInLibrary(const std::string& script);

std::string firstLine(const std::string& text);

std::string addressOf(const std::string& name);
std::string idsOf(const std::string& name);
std::string groupOf(const std::string& address);
std::string enableOf(const std::string& address);
/// "none": no driver.
std::string driverOf(const std::string& address);

/// A change of the machine, and when: from just before to just after the write that counts.
struct Act {
  std::string problem;  ///< empty: done
  std::chrono::steady_clock::time_point began = std::chrono::steady_clock::now();
  std::chrono::steady_clock::time_point ended = began;
};

/// One write to an attribute below /sys/bus/pci.
Act writeAttribute(const std::string& path, const std::string& text);
/// The write that counts is the last: the bind.
Act bindToVfio(const std::string& address);
Act unbindFromVfio(const std::string& address);

}  // namespace vfiogate::sim
