// Whatever the host's files say that privd and its command line read as tables: mounts, swaps,
// routes, pci.ids, the kernel's command line, modprobe.d. What makes no sense is passed over.

#include "cli/pci_ids.h"
#include "privd/bind/plan/block_use.h"
#include "privd/cli/doctor/kernel_parameters.h"
#include "privd/cli/doctor/modprobe_config.h"
#include "tests/fuzz/fuzz_input.h"

#include <array>
#include <string>
#include <vector>

namespace vfiogate {
namespace {

void readTables(std::string_view text) {
  const HostTables tables{parseMountinfo(text), parseSwaps(text), parseRoutes(text)};
  if (tables.mounts) require(tables.mounts->size() <= text.size());
  if (tables.routedVia) {
    for (const std::string& name : *tables.routedVia) require(!name.empty());
  }
  const std::vector<BlockDevice> disks{
      {"sda", "devices/pci0000:00/0000:01:00.0/ata1/block/sda", "8:0", {}, "", ""},
      {"sda1", "devices/pci0000:00/0000:01:00.0/ata1/block/sda/sda1", "8:1", {}, "", "ext4"},
      {"dm-0", "devices/virtual/block/dm-0", "253:0", {"sda1"}, "/dev/sda1", ""}};
  const auto used = disksBelow(Bdf::make(0, 1, 0, 0).value(), disks, tables);
  require(used.size() == 1 && used.front().disk == "sda");
}

void readNames(std::string_view text) {
  const PciIds ids = PciIds::parse(text);
  for (const std::uint16_t vendor : std::array<std::uint16_t, 3>{0x10de, 0x8086, 0xffff}) {
    if (const auto name = ids.vendor(vendor)) require(name->find('\n') == std::string::npos);
    if (const auto name = ids.device(vendor, 0x2684)) require(name->size() < text.size());
  }
  if (const auto name = ids.className(0x030000)) require(name->find('\n') == std::string::npos);
}

void readParameters(std::string_view text) {
  const KernelParameters given = KernelParameters::parse(text);
  if (given.has("intel_iommu")) require(text.find("intel") != std::string_view::npos);
  if (given.lists("vfio_pci.ids", "10de:2684")) require(!given.values("vfio_pci.ids").empty());
}

void readModprobe(std::string_view text) {
  for (const ModprobeLine& line : parseModprobe(text)) {
    require(!line.command.empty() && !line.module.empty() && line.number > 0);
    require(line.module.find('-') == std::string::npos);
    for (const std::string& id : valuesOf(line, "ids")) require(!id.empty());
  }
}

}  // namespace
}  // namespace vfiogate

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text = vfiogate::textOf(data, size);
  vfiogate::readTables(text);
  vfiogate::readNames(text);
  vfiogate::readParameters(text);
  vfiogate::readModprobe(text);
  return 0;
}
