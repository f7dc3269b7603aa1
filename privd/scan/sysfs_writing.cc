#include "privd/scan/sysfs_writing.h"

#include <cerrno>

namespace vfiogate {

SysfsWriting sysfsWriting(const SysfsRoot& sysfs) {
  const auto opened = sysfs.openForWriting("bus/pci/drivers_probe");
  if (opened) return SysfsWriting::kPossible;
  switch (opened.error().error) {
    case EROFS:
      return SysfsWriting::kReadOnly;
    case EACCES:
    case EPERM:
      // Its owner is root, as we are: only a security module refuses that.
      return SysfsWriting::kDenied;
    default:
      return SysfsWriting::kUnknown;
  }
}

}  // namespace vfiogate
