#pragma once
// A simulated kernel with a shipped topology, and short words for what tests do to it.

#include <gtest/gtest.h>

#include <cerrno>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "sim/sysfs/kernel/sim_kernel.h"
#include "sim/sysfs/kernel/users.h"
#include "sim/sysfs/topology/topology_file.h"

namespace vfiogate::sim {

/// What stands for an errno when an operation has not ended.
inline constexpr int kHangs = -1;

inline Topology shippedTopology(const std::string& name) {
  const char* source = std::getenv("VFIOGATE_SOURCE");
  const std::string path = std::string(source == nullptr ? "." : source) + "/tests/topologies/";
  std::ifstream file(path + name + ".yaml");
  std::ostringstream text;
  text << file.rdbuf();
  auto parsed = parseTopology(text.str());
  if (!parsed) {
    ADD_FAILURE() << path << name << ".yaml:" << parsed.error().line << ": " << parsed.error().why;
    return {};
  }
  return std::move(parsed).value();
}

inline Bdf at(const std::string& address) {
  return Bdf::parse(address).value();
}

class Node61 {
public:
  explicit Node61(const std::string& topology) : Node61(shippedTopology(topology)) {}
  explicit Node61(const Topology& topology) : kernel(topology) {}

  /// Writes through links, as a person does. An errno, 0, or kHangs.
  int write(const std::string& path, const std::string& text, bool sysAdmin = true) {
    const auto real = resolve(kernel.tree(), "sys/" + path);
    if (!real) return ENOENT;
    lastWrite = kernel.write(*real, text, sysAdmin);
    return end(lastWrite);
  }

  int end(TaskId id) {
    const auto ended = kernel.takeEnd(id);
    return ended ? ended->error : kHangs;
  }

  /// The text, or "errno N", or "hangs".
  std::string read(const std::string& path) {
    const auto real = resolve(kernel.tree(), "sys/" + path);
    if (!real) return "errno " + std::to_string(ENOENT);
    const auto ended = kernel.takeEnd(kernel.read(*real));
    if (!ended) return "hangs";
    return ended->error == 0 ? ended->text : "errno " + std::to_string(ended->error);
  }

  std::string attribute(const std::string& address, const std::string& name) {
    return read("bus/pci/devices/" + address + "/" + name);
  }

  int writeAttribute(const std::string& address, const std::string& name, const std::string& text) {
    return write("bus/pci/devices/" + address + "/" + name, text);
  }

  int bind(const std::string& address, const std::string& driver) {
    return write("bus/pci/drivers/" + driver + "/bind", address + "\n");
  }

  int unbind(const std::string& address, const std::string& driver) {
    return write("bus/pci/drivers/" + driver + "/unbind", address + "\n");
  }

  /// driver_override, unbind, bind: what an operator does.
  void giveToVfio(const std::string& address) {
    EXPECT_EQ(writeAttribute(address, "driver_override", "vfio-pci\n"), 0);
    const std::string driver = driverOf(address);
    if (!driver.empty()) {
      EXPECT_EQ(unbind(address, driver), 0);
    }
    EXPECT_EQ(bind(address, "vfio-pci"), 0);
  }

  std::string driverOf(const std::string& address) {
    const std::string link = "sys/bus/pci/devices/" + address + "/driver";
    const auto real = resolve(kernel.tree(), link);
    return real ? real->substr(real->rfind('/') + 1) : "";
  }

  int open(const std::string& address, const std::string& holder = "vm") {
    return kernel.change([&](World& world) { return openDevice(world, at(address), holder); });
  }

  int close(const std::string& address, const std::string& holder = "vm") {
    return kernel.change([&](World& world) { return closeDevice(world, at(address), holder); });
  }

  std::vector<std::string> events() {
    std::vector<std::string> briefs;
    for (const Uevent& event : kernel.takeEvents()) briefs.push_back(event.brief());
    return briefs;
  }

  bool exists(const std::string& path) { return kernel.tree().find(path) != nullptr; }

  SimKernel kernel;
  TaskId lastWrite = 0;
};

}  // namespace vfiogate::sim
