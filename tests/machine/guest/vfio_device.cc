#include "tests/machine/guest/vfio_device.h"

#include <fcntl.h>
#include <linux/vfio.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstring>

namespace vfiogate::machine {
namespace {

std::string failed(const std::string& what) {
  const char* name = ::strerrorname_np(errno);
  return what + ": " + (name == nullptr ? std::to_string(errno) : name);
}

bool viable(int group, std::string& why) {
  vfio_group_status status{};
  status.argsz = sizeof status;
  if (::ioctl(group, VFIO_GROUP_GET_STATUS, &status) != 0) {
    why = failed("group status");
    return false;
  }
  if ((status.flags & VFIO_GROUP_FLAGS_VIABLE) == 0) why = "the group is not viable";
  return why.empty();
}

/// Each step needs the one before. Empty: all went well.
std::string openByGroup(VfioDevice& opened, const std::string& group, const std::string& address) {
  opened.container = ::open("/dev/vfio/vfio", O_RDWR | O_CLOEXEC);
  if (opened.container < 0) return failed("/dev/vfio/vfio");
  opened.group = ::open(("/dev/vfio/" + group).c_str(), O_RDWR | O_CLOEXEC);
  if (opened.group < 0) return failed("/dev/vfio/" + group);
  std::string why;
  if (!viable(opened.group, why)) return why;
  if (::ioctl(opened.group, VFIO_GROUP_SET_CONTAINER, &opened.container) != 0) {
    return failed("set container");
  }
  const int iommu = group.starts_with("noiommu-") ? VFIO_NOIOMMU_IOMMU : VFIO_TYPE1_IOMMU;
  if (::ioctl(opened.container, VFIO_SET_IOMMU, iommu) != 0) return failed("set IOMMU");
  opened.device = ::ioctl(opened.group, VFIO_GROUP_GET_DEVICE_FD, address.c_str());
  return opened.device < 0 ? failed("device " + address + " of group " + group) : "";
}

/// As of Linux 6.6, whose headers Debian 12 has not.
struct BindIommufd {
  std::uint32_t argsz = sizeof(BindIommufd);
  std::uint32_t flags = 0;
  std::int32_t iommufd = -1;
  std::uint32_t outDevice = 0;
};
constexpr unsigned long kBindIommufd = _IO(VFIO_TYPE, VFIO_BASE + 18);

std::string openItsOwn(VfioDevice& opened, const std::string& node) {
  opened.container = ::open("/dev/iommu", O_RDWR | O_CLOEXEC);
  if (opened.container < 0) return failed("/dev/iommu");
  opened.device = ::open(("/dev/vfio/" + node).c_str(), O_RDWR | O_CLOEXEC);
  if (opened.device < 0) return failed("/dev/vfio/" + node);
  BindIommufd bind;
  bind.iommufd = opened.container;
  return ::ioctl(opened.device, kBindIommufd, &bind) != 0 ? failed("binding to /dev/iommu") : "";
}

}  // namespace

VfioDevice openDevice(const std::string& node, const std::string& address, std::string& why) {
  VfioDevice opened;
  why =
      node.starts_with("devices/") ? openItsOwn(opened, node) : openByGroup(opened, node, address);
  if (!why.empty()) closeDevice(opened);
  return opened;
}

void closeDevice(VfioDevice& device) {
  for (int* fd : {&device.device, &device.group, &device.container}) {
    if (*fd >= 0) ::close(*fd);
    *fd = -1;
  }
}

std::string readIds(const VfioDevice& device, std::string& why) {
  vfio_region_info region{};
  region.argsz = sizeof region;
  region.index = VFIO_PCI_CONFIG_REGION_INDEX;
  if (::ioctl(device.device, VFIO_DEVICE_GET_REGION_INFO, &region) != 0) {
    why = failed("configuration region");
    return "";
  }
  std::array<std::uint8_t, 4> bytes{};
  const auto offset = static_cast<off_t>(region.offset);
  if (::pread(device.device, bytes.data(), bytes.size(), offset) != 4) {
    why = failed("reading the configuration region");
    return "";
  }
  std::array<char, 16> text{};
  std::snprintf(text.data(), text.size(), "%02x%02x:%02x%02x", bytes[1], bytes[0], bytes[3],
                bytes[2]);
  return text.data();
}

}  // namespace vfiogate::machine
