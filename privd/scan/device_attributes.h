#pragma once
// One PCI function's attributes, each taken for what it is or named as a problem.

#include "ipc/types/snapshot.h"
#include "privd/scan/sysfs_root.h"

#include <functional>
#include <optional>
#include <string>

namespace vfiogate {

/// Reads attributes below one device's directory and keeps a list of what was wrong with them. The
/// directory is found once: what is read is of the device that was there then.
class DeviceAttributes {
public:
  /// `directory`, below `sysfs`, need not be there: then its attributes are not.
  DeviceAttributes(const SysfsRoot& sysfs, std::string directory)
      : sysfs_(sysfs), directory_(std::move(directory)), here_(sysfs.below(directory_)) {}

  enum class Need {
    kRequired,  ///< absence is a problem
    kOptional,  ///< many devices do not have it
  };

  /// A number from 0, "3".
  std::optional<std::uint32_t> decimal(const std::string& name, Need need);
  /// A number from 0, or null where the kernel says "-1".
  std::optional<std::uint32_t> decimalOrMinusOne(const std::string& name);
  /// Text without control characters, at most 1,024 bytes; empty: absent, or nothing is in it,
  /// which is a problem of one that is required.
  std::string text(const std::string& name, Need need);
  /// The last part of where a link points; empty: no link.
  std::string linkName(const std::string& name);
  /// The first bytes of a binary attribute.
  std::optional<std::string> bytes(const std::string& name, std::size_t count);
  bool exists(const std::string& name) const;
  /// What is in the directory, or in one in it.
  Result<std::vector<std::string>, ReadError> names(const std::string& name = ".") const;

  void blame(const std::string& attribute, std::string why);
  /// What it says is malformed.
  void blameText(const std::string& attribute, const std::string& text);
  std::vector<AttributeProblem> takeProblems() { return std::move(problems_); }

private:
  std::optional<std::string> read(const std::string& name, Need need);

  const SysfsRoot& sysfs_;
  std::string directory_;
  Result<SysfsRoot, ReadError> here_;
  std::vector<AttributeProblem> problems_;
};

}  // namespace vfiogate
