#include "privd/iommufd/iommu_context.h"

#include "privd/base/open_file.h"
#include "seccomp/iommufd_rules.h"

#include <fcntl.h>
#include <sys/ioctl.h>

#include <cerrno>
#include <cstdint>

namespace vfiogate {
namespace {

/// As in linux/iommufd.h, which older kernels' headers do not have.
struct IommuOption {
  std::uint32_t size;
  std::uint32_t option;
  std::uint16_t operation;
  std::uint16_t reserved;
  std::uint32_t object;
  std::uint64_t value;
};
static_assert(sizeof(IommuOption) == 24);
constexpr std::uint32_t kRlimitMode = 0;
constexpr std::uint16_t kSet = 0;
constexpr std::uint64_t kByProcess = 1;

}  // namespace

Result<kj::AutoCloseFd, ContextError> openContext(const std::string& path,
                                                  const RaisePower& raise) {
  auto opened = openAt(AT_FDCWD, path.c_str(), O_RDWR | O_NOFOLLOW | O_NONBLOCK, 0);
  if (!opened) return Failure{ContextError{"open", opened.error().error}};
  kj::AutoCloseFd context = kj::mv(opened).value();
  IommuOption option{.size = sizeof(option),
                     .option = kRlimitMode,
                     .operation = kSet,
                     .reserved = 0,
                     .object = 0,
                     .value = kByProcess};
  if (!raise(true)) return Failure{ContextError{"capability", errno}};
  const bool set = ioctl(context.get(), kIommuOption, &option) == 0;
  const int error = errno;
  if (!raise(false)) return Failure{ContextError{"capability", errno}};
  if (!set) return Failure{ContextError{"option", error}};
  return context;
}

}  // namespace vfiogate
