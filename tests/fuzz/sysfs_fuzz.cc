// Whatever sysfs says of a function, a mediated device and their group: the scan ends, what it
// could not take is a named problem, and plugind reads the snapshot that privd would send of it.
//
// Each line of the input is "name=text", a file in the device's and in the group's directory, and a
// physical slot of that name with that address;
// "name>target", a link in the device's; or, where the target has no slash, a directory with one
// entry of that name.

#include "ipc/codec/snapshot_codec.h"
#include "ipc/types/selector.h"
#include "ipc/types/vital_data.h"
#include "privd/scan/pci_scan.h"
#include "sim/base/temp_dir.h"
#include "tests/fuzz/fuzz_input.h"

#include <capnp/message.h>

#include <filesystem>
#include <fstream>
#include <string>

namespace vfiogate {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMostFiles = 24;

const fs::path& root() {
  static const TempDir kRoot(fs::exists("/dev/shm") ? "/dev/shm" : "/tmp");
  return kRoot.path();
}

bool isName(std::string_view name) {
  return !name.empty() && name.size() < 60 && name != "." && name != ".." && name != "devices" &&
         name.find_first_of(std::string_view("/\0", 2)) == std::string_view::npos;
}

/// Only names that cannot lead out of the tree; where a link leads is up to the input.
void makeTree(std::string_view text) {
  fs::remove_all(root() / "sys");
  const fs::path device = root() / "sys/bus/pci/devices/0000:01:00.0";
  const fs::path group = root() / "sys/kernel/iommu_groups/7";
  fs::create_directories(device / "vfio-dev");
  fs::create_directories(group / "devices/0000:01:00.0");
  fs::create_directories(root() / "dev");
  // The same texts are those of a mediated device.
  fs::create_directories(root() / "sys/bus/mdev/devices");
  fs::create_symlink("../../pci/devices/0000:01:00.0",
                     root() / "sys/bus/mdev/devices/3f5e2c10-0001-4a5b-8c6d-000000000001");
  for (std::size_t i = 0; i < kMostFiles && !text.empty(); ++i) {
    const std::string_view line = takePart(text, '\n');
    const std::size_t end = line.find_first_of("=>");
    const std::string name(line.substr(0, end));
    if (end == std::string_view::npos || !isName(name)) continue;
    const std::string value(line.substr(end + 1));
    std::error_code ignored;
    if (line[end] == '=') {
      std::ofstream(device / name, std::ios::binary) << value;
      std::ofstream(group / name, std::ios::binary) << value;
      const fs::path slot = root() / "sys/bus/pci/slots" / name;
      fs::create_directories(slot);
      std::ofstream(slot / "address", std::ios::binary) << value;
    } else if (isName(value)) {
      fs::create_directory(device / name / value, ignored);
    } else {
      fs::create_symlink(value.substr(0, value.find('\0')), device / name, ignored);
    }
  }
}

void sendOn(const Snapshot& snapshot) {
  capnp::MallocMessageBuilder message;
  auto sent = message.initRoot<schema::Snapshot>();
  encode(snapshot, sent, noControl);
  const auto read = decode(sent.asReader());
  require(read && read->snapshot.devices.size() == snapshot.devices.size());
}

/// All of the input as a card's vital product data.
void readSerial(std::string_view vpd) {
  const std::string_view serial = serialIn(vpd);
  require(serial.empty() || isSerialNumber(serial));
  require(vpd.find(serial) != std::string_view::npos);
}

}  // namespace
}  // namespace vfiogate

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace vfiogate;
  makeTree(textOf(data, size));
  const auto sysfs = SysfsRoot::open((root() / "sys").string());
  const auto dev = DevRoot::open((root() / "dev").string());
  const auto snapshot = scanUnits(*sysfs, *dev);
  require(snapshot && snapshot->devices.size() == 1 && snapshot->groups.size() == 1);
  for (const auto& problem : snapshot->devices.begin()->second.problems) {
    require(!problem.attribute.empty() && !problem.why.empty());
  }
  sendOn(*snapshot);
  readSerial(textOf(data, size));
  return 0;
}
