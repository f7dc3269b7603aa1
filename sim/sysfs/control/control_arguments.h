#pragma once
// The words of a command, as values.

#include <string>

#include "sim/sysfs/kernel/sim_kernel.h"

namespace vfiogate::sim {

/// Reads words; the first that makes no sense is kept, and after it what is returned means nothing.
class Arguments {
public:
  Bdf address(const std::string& word);
  std::uint32_t number(const std::string& word);

  /// Where a file really is, such as "sys/bus/pci/drivers/nvme/unbind"; `word` is below the root of
  /// sysfs, with or without "sys/", and may lead through links.
  std::string path(SimKernel& kernel, const std::string& word);

  /// "EBUSY" and the like.
  int errnoValue(const std::string& word);

  /// Empty: all words made sense.
  const std::string& why() const { return why_; }

private:
  void refuse(const std::string& why);

  std::string why_;
};

}  // namespace vfiogate::sim
