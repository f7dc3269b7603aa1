#include "sim/node/machine_hardware.h"

#include "sim/base/child_process.h"

#include <kj/io.h>

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>

namespace vfiogate::sim {
namespace {

constexpr const char* kPci = "/sys/bus/pci/";
constexpr const char* kVfio = "vfio-pci";

std::string deviceDirectory(const std::string& address) {
  return kPci + ("devices/" + address);
}

/// The last part of where the link points to; empty: no link.
std::string linkEnd(const std::string& path) {
  std::error_code gone;
  return std::filesystem::read_symlink(path, gone).filename();
}

}  // namespace

Ran run(const std::vector<std::string>& command) {
  test::ChildProcess process(command);
  const int status = process.wait();
  return {status, process.outputWhole()};
}

Ran runInLibrary(const std::string& script) {
  return run({"/bin/sh", "-c", ". /test/library.sh; " + script});
}

std::string firstLine(const std::string& text) {
  return text.substr(0, text.find('\n'));
}

std::string addressOf(const std::string& name) {
  return firstLine(runInLibrary("address_of " + name).output);
}

std::string idsOf(const std::string& name) {
  return firstLine(runInLibrary("ids_of " + name).output);
}

std::string groupOf(const std::string& address) {
  return linkEnd(deviceDirectory(address) + "/iommu_group");
}

std::string enableOf(const std::string& address) {
  std::ifstream file(deviceDirectory(address) + "/enable");
  std::string count;
  file >> count;
  return count;
}

std::string driverOf(const std::string& address) {
  const std::string driver = linkEnd(deviceDirectory(address) + "/driver");
  return driver.empty() ? "none" : driver;
}

Act writeAttribute(const std::string& path, const std::string& text) {
  const std::string whole = kPci + path;
  const kj::AutoCloseFd file(open(whole.c_str(), O_WRONLY | O_CLOEXEC));
  Act act;
  const bool written =
      file.get() >= 0 && write(file, text.data(), text.size()) == static_cast<ssize_t>(text.size());
  if (!written) act.problem = whole + ": " + std::strerror(errno);
  act.ended = std::chrono::steady_clock::now();
  return act;
}

Act bindToVfio(const std::string& address) {
  const std::string device = "devices/" + address;
  Act act = writeAttribute(device + "/driver_override", kVfio);
  if (act.problem.empty() && driverOf(address) != "none") {
    act = writeAttribute(device + "/driver/unbind", address);
  }
  return act.problem.empty() ? writeAttribute("drivers/vfio-pci/bind", address) : act;
}

Act unbindFromVfio(const std::string& address) {
  return writeAttribute("drivers/vfio-pci/unbind", address);
}

}  // namespace vfiogate::sim
