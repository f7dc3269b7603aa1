#include "privd/cli/policy/main_paths.h"

#include <filesystem>
#include <fstream>

namespace vfiogate {
namespace {

namespace fs = std::filesystem;

constexpr const char* kDevice = "0000:01:00.0";

void put(const fs::path& path, const std::string& text) {
  std::ofstream(path) << text;
}

void fillDevice(const fs::path& device) {
  fs::create_directories(device);
  for (const auto& [name, text] :
       {std::pair("revision", "0xa1"),
        {"numa_node", "-1"},
        {"enable", "0"},
        {"driver_override", "(null)"},
        {"modalias", "pci:v000010DEd00002236sv000010DEsd00001482bc03sc02i00"}}) {
    put(device / name, std::string(text) + "\n");
  }
  put(device / "config", std::string(64, '\0'));
  const std::string serial = ScratchNode::kSerial;
  const auto length = [](std::size_t size) { return std::string(1, static_cast<char>(size)); };
  put(device / "vpd",
      '\x90' + length(3 + serial.size()) + '\0' + "SN" + length(serial.size()) + serial);
}

}  // namespace

ScratchNode::ScratchNode() {
  for (const char* name : {"sys/bus/pci/devices", "sys/bus/pci/drivers/vfio-pci", "dev", "state",
                           "sys/kernel/iommu_groups/7/devices", "cdi", "kubelet/device-plugins",
                           "kubelet/pod-resources", "state/holds"}) {
    fs::create_directories(at(name));
  }
  fillDevice(at("sys/devices/pci0000:00/") + kDevice);
  const std::string device = std::string("devices/pci0000:00/") + kDevice;
  fs::create_symlink("../../../" + device, at("sys/bus/pci/devices/") + kDevice);
  fs::create_symlink("../../../../" + device, at("sys/kernel/iommu_groups/7/devices/") + kDevice);
  fs::create_symlink("../../../kernel/iommu_groups/7", at("sys/" + device + "/iommu_group"));
  put(at("sys/kernel/iommu_groups/7/type"), "DMA-FQ\n");
  for (const char* name : {"drivers_probe", "drivers/vfio-pci/bind", "drivers/vfio-pci/unbind"}) {
    put(at("sys/bus/pci/") + name, "");
  }
  put(at("aliases"), "alias vfio_pci:v*d*sv*sd*bc*sc*i* vfio_pci\n");
}

Bdf ScratchNode::device() {
  return Bdf::parse(kDevice).value();
}

}  // namespace vfiogate
