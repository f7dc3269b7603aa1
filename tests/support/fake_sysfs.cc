#include "tests/support/fake_sysfs.h"

#include <sys/stat.h>
#include <sys/sysmacros.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <stdexcept>

namespace vfiogate {
namespace {

namespace fs = std::filesystem;

constexpr std::uint16_t kSubdevice = 0x0001;

std::string hex(std::uint32_t value, int digits) {
  char text[16];
  snprintf(text, sizeof(text), "0x%0*x", digits, value);
  return text;
}

std::string modaliasOf(const FakeDevice& device) {
  char text[64];
  snprintf(text, sizeof(text), "pci:v%08Xd%08Xsv%08Xsd%08Xbc%02Xsc%02Xi%02X", device.vendor,
           device.device, device.vendor, kSubdevice, device.classCode >> 16U,
           (device.classCode >> 8U) & 0xffU, device.classCode & 0xffU);
  return text;
}

std::string headerOf(const FakeDevice& device) {
  std::string bytes(256, '\0');
  bytes[0] = static_cast<char>(device.vendor & 0xff);
  bytes[1] = static_cast<char>(device.vendor >> 8);
  bytes[2] = static_cast<char>(device.device & 0xff);
  bytes[3] = static_cast<char>(device.device >> 8);
  bytes[0x0e] = static_cast<char>(device.headerType);
  return bytes;
}

bool offersVfio(const std::string& driver) {
  return driver.find("vfio") != std::string::npos;
}

}  // namespace

FakeSysfs::FakeSysfs() {
  chmod(dir_.path().c_str(), 0755);  // privd-hardware reads it, as nobody in particular
  for (const char* name : {"sys/bus/pci/devices", "sys/bus/pci/drivers", "sys/devices/pci0000:00",
                           "sys/kernel/iommu_groups", "dev/vfio"}) {
    fs::create_directories(dir_ / name);
  }
  makeNode("vfio/vfio");
}

fs::path FakeSysfs::directoryOf(const std::string& address) const {
  return dir_.path() / "sys/devices/pci0000:00" / address;
}

void FakeSysfs::writeFile(const fs::path& path, const std::string& text) {
  // Renamed into place: a reader sees the old text or the new, as on a real sysfs.
  const fs::path fresh = path.string() + ".new";
  std::ofstream(fresh, std::ios::binary) << text;
  fs::rename(fresh, path);
}

void FakeSysfs::makeNode(const std::string& name) {
  const std::string path = dir_ / ("dev/" + name);
  if (mknod(path.c_str(), S_IFCHR | 0600, makedev(1, 3)) != 0 && errno != EEXIST) {
    throw std::runtime_error("mknod " + path + ": " + strerror(errno));
  }
}

void FakeSysfs::addEgm(unsigned number, const std::vector<std::string>& gpus) {
  const std::string name = "egm" + std::to_string(number);
  const fs::path directory = directoryOf(gpus.front()) / "egm" / name;
  const fs::path link = fs::path(sysfs()) / "class/egm" / name;
  fs::create_directories(directory);
  fs::create_directories(link.parent_path());
  std::string text;
  for (const std::string& gpu : gpus) text += gpu + "\n";
  writeFile(directory / "gpu_devices", text);
  fs::create_symlink(fs::relative(directory, link.parent_path()), link);
  makeNode(name);
}

void FakeSysfs::addSlot(const std::string& name, const std::string& address) {
  const fs::path slot = fs::path(sysfs()) / "bus/pci/slots" / name;
  fs::create_directories(slot);
  writeFile(slot / "address", address + "\n");
}

void FakeSysfs::removeSlot(const std::string& name) {
  fs::remove_all(fs::path(sysfs()) / "bus/pci/slots" / name);
}

void FakeSysfs::add(const FakeDevice& device) {
  const fs::path directory = directoryOf(device.address);
  fs::create_directories(directory);
  const auto put = [&](const char* name, const std::string& text) {
    writeFile(directory / name, text + "\n");
  };
  setIds(device);
  put("revision", "0xa1");
  put("numa_node", std::to_string(device.numaNode));
  put("enable", std::to_string(device.enable));
  put("reset_method", "flr bus");
  if (device.group) joinGroup(device.address, *device.group);
  setDriver(device.address, device.driver);
  fs::create_symlink("../../../devices/pci0000:00/" + device.address,
                     dir_ / ("sys/bus/pci/devices/" + device.address));
}

void FakeSysfs::setIds(const FakeDevice& device) {
  const auto set = [&](const char* name, const std::string& text) {
    setAttribute(device.address, name, text + "\n");
  };
  set("vendor", hex(device.vendor, 4));
  set("device", hex(device.device, 4));
  set("subsystem_vendor", hex(device.vendor, 4));
  set("subsystem_device", hex(kSubdevice, 4));
  set("class", hex(device.classCode, 6));
  set("modalias", modaliasOf(device));
  setAttribute(device.address, "config", headerOf(device));
}

void FakeSysfs::remove(const std::string& address) {
  fs::remove(dir_ / ("sys/bus/pci/devices/" + address));
  setDriver(address, "");
  leaveGroup(address);
  fs::remove_all(directoryOf(address));
}

void FakeSysfs::setDriver(const std::string& address, const std::string& driver) {
  const fs::path directory = directoryOf(address);
  const fs::path link = directory / "driver";
  if (fs::is_symlink(link)) {
    fs::remove(dir_ / ("sys/bus/pci/drivers/" + fs::read_symlink(link).filename().string() + "/" +
                       address));
    fs::remove(link);
  }
  fs::remove_all(directory / "vfio-dev");
  if (!driver.empty()) {
    fs::create_directories(dir_ / ("sys/bus/pci/drivers/" + driver));
    if (offersVfio(driver)) {
      fs::create_directories(directory / "vfio-dev" / ("vfio" + std::to_string(nextVfio_++)));
    }
    fs::create_symlink("../../../bus/pci/drivers/" + driver, link);
    fs::create_symlink("../../../../devices/pci0000:00/" + address,
                       dir_ / ("sys/bus/pci/drivers/" + driver + "/" + address));
  }
  const fs::path group = directory / "iommu_group";
  if (fs::is_symlink(group)) {
    updateGroupNode(static_cast<unsigned>(std::stoul(fs::read_symlink(group).filename().string())));
  }
}

void FakeSysfs::joinGroup(const std::string& address, unsigned group) {
  const std::string number = std::to_string(group);
  const fs::path directory = dir_.path() / "sys/kernel/iommu_groups" / number;
  fs::create_directories(directory / "devices");
  writeFile(directory / "type", "DMA-FQ\n");
  fs::create_symlink("../../../../devices/pci0000:00/" + address, directory / "devices" / address);
  fs::create_symlink("../../../kernel/iommu_groups/" + number,
                     directoryOf(address) / "iommu_group");
}

void FakeSysfs::leaveGroup(const std::string& address) {
  const fs::path link = directoryOf(address) / "iommu_group";
  if (!fs::is_symlink(link)) return;
  const std::string number = fs::read_symlink(link).filename();
  const fs::path directory = dir_.path() / "sys/kernel/iommu_groups" / number;
  fs::remove(directory / "devices" / address);
  fs::remove(link);
  updateGroupNode(static_cast<unsigned>(std::stoul(number)));
  if (fs::is_empty(directory / "devices")) fs::remove_all(directory);
}

void FakeSysfs::setGroup(const std::string& address, unsigned group) {
  leaveGroup(address);
  joinGroup(address, group);
  updateGroupNode(group);
}

void FakeSysfs::updateGroupNode(unsigned group) {
  const std::string number = std::to_string(group);
  bool wanted = false;
  for (const auto& member :
       fs::directory_iterator(dir_.path() / "sys/kernel/iommu_groups" / number / "devices")) {
    wanted = wanted || fs::exists(directoryOf(member.path().filename()) / "vfio-dev");
  }
  if (wanted) {
    makeNode("vfio/" + number);
  } else {
    fs::remove(dir_ / ("dev/vfio/" + number));
  }
}

void FakeSysfs::setAttribute(const std::string& address, const std::string& name,
                             const std::string& text) {
  writeFile(directoryOf(address) / name, text);
}

void FakeSysfs::removeAttribute(const std::string& address, const std::string& name) {
  fs::remove_all(directoryOf(address) / name);
}

void FakeSysfs::setEnable(const std::string& address, unsigned count) {
  setAttribute(address, "enable", std::to_string(count) + "\n");
}

}  // namespace vfiogate
