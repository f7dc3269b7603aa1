#pragma once
// A context of the kernel's iommufd, as KubeVirt's launcher wants it, and the one place where the
// process that makes them may open files once it is locked down.

#include "ipc/base/result.h"
#include "privd/sandbox/place_table.h"

#include <kj/io.h>

#include <array>
#include <functional>
#include <string>

namespace vfiogate {

inline constexpr std::array kIommufdPlaces{
    PlaceRow{"<dev>/iommu", kReadFile | kWriteFile | kAskDevice,
             "opened for each launcher, which asks it with ioctl()", PlaceFor::kEveryone,
             IfMissing::kAbove},
};

/// What could not be done to the device, and the errno.
struct ContextError {
  const char* step;  ///< "open", "capability", "option"
  int error;
};

/// Puts the capability that the option needs in force (true), or out of it. False: it could not.
using RaisePower = std::function<bool(bool raised)>;

/// A context of its own: the device at `path` opened for reading and writing, close-on-exec, told
/// to count the memory that it pins by process and not by user (IOMMU_OPTION_RLIMIT_MODE), for
/// which the kernel wants CAP_SYS_RESOURCE. The capability is in force for that one call alone.
Result<kj::AutoCloseFd, ContextError> openContext(const std::string& path, const RaisePower& raise);

}  // namespace vfiogate
