#pragma once
// The lines of modprobe.d(5), taken apart.

#include <string>
#include <string_view>
#include <vector>

namespace vfiogate {

/// One command: `options vfio-pci ids=10de:2684` has the command "options", the module "vfio_pci"
/// and the word "ids=10de:2684".
struct ModprobeLine {
  std::string command;
  std::string module;  ///< with '_' where the file has '-': to modprobe they are one
  std::vector<std::string> words;
  int number = 0;  ///< of its line, from 1

  friend bool operator==(const ModprobeLine&, const ModprobeLine&) = default;
};

/// As modprobe reads it: '#' begins a comment line, '\' at the end of a line joins the next one to
/// it. Lines without a module are left out, as modprobe ignores them.
std::vector<ModprobeLine> parseModprobe(std::string_view text);

/// The name as it is in ModprobeLine.
std::string moduleKey(std::string_view name);

/// What an `options` line gives a parameter, split at commas, without quotes; empty: nothing.
std::vector<std::string> valuesOf(const ModprobeLine& line, std::string_view parameter);

}  // namespace vfiogate
