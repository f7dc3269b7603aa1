#include "tests/bench/bare_read.h"

#include "tests/bench/node_under_test.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>

namespace vfiogate::bench {
namespace {

constexpr std::array kFiles = {"revision", "modalias",     "config", "numa_node",
                               "boot_vga", "reset_method", "enable"};
constexpr std::array kLinks = {"driver", "iommu_group", "physfn"};
constexpr std::array kPresence = {"sriov_totalvfs", "mdev_supported_types"};

kj::AutoCloseFd rootAt(const std::string& path) {
  kj::AutoCloseFd fd(open(path.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (fd.get() < 0) giveUp(path + " cannot be opened");
  return fd;
}

void readFile(int root, const std::string& path) {
  const int fd = openat(root, path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return;
  std::array<char, 4096> text;
  while (read(fd, text.data(), text.size()) > 0) {
  }
  close(fd);
}

void readLink(int root, const std::string& path) {
  std::array<char, 4096> text;
  // What it says is nobody's business here.
  [[maybe_unused]] const ssize_t length = readlinkat(root, path.c_str(), text.data(), text.size());
}

void probe(int root, const std::string& path) {
  struct stat status = {};
  [[maybe_unused]] const int found = fstatat(root, path.c_str(), &status, 0);
}

/// The last name that is not hidden.
std::string list(int root, const std::string& path) {
  const int fd = openat(root, path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0) return {};
  DIR* directory = fdopendir(fd);
  if (directory == nullptr) giveUp(path + " cannot be listed");
  std::string name;
  while (const dirent* entry = readdir(directory)) {
    if (entry->d_name[0] != '.') name = entry->d_name;
  }
  closedir(directory);
  return name;
}

}  // namespace

BareRead::BareRead(const std::string& sysfs, const std::string& dev)
    : sysfs_(rootAt(sysfs)), dev_(rootAt(dev)) {}

void BareRead::device(const std::string& address, unsigned group) {
  const std::string place = "bus/pci/devices/" + address;
  for (const char* name : kFiles) readFile(sysfs_, place + "/" + name);
  for (const char* name : kLinks) readLink(sysfs_, place + "/" + name);
  for (const char* name : kPresence) probe(sysfs_, place + "/" + name);
  readLink(sysfs_, place);
  const std::string vfio = list(sysfs_, place + "/vfio-dev");
  probe(sysfs_, place + "/vfio-dev/" + vfio + "/dev");
  const std::string number = std::to_string(group);
  const std::string directory = "kernel/iommu_groups/" + number;
  probe(sysfs_, directory);
  for (const char* name : {"/type", "/name"}) readFile(sysfs_, directory + name);
  list(sysfs_, directory + "/devices");
  probe(dev_, "vfio/" + number);
}

}  // namespace vfiogate::bench
