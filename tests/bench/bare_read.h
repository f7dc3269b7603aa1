#pragma once
// The least that reading what privd reads of a device costs: the system calls, and nothing else.

#include <kj/io.h>

#include <string>

namespace vfiogate::bench {

/// Opens, reads and closes, or looks for, the files that privd's device_scan and group_scan name;
/// neither understands them nor keeps anything.
class BareRead {
public:
  BareRead(const std::string& sysfs, const std::string& dev);

  /// `group`: where the device is alone.
  void device(const std::string& address, unsigned group);

private:
  kj::AutoCloseFd sysfs_;
  kj::AutoCloseFd dev_;
};

}  // namespace vfiogate::bench
