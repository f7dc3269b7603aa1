#pragma once
// The kernel's command line, taken apart.

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace vfiogate {

/// "name=value" pairs in order. As in the kernel, '-' and '_' in a name are one, quotes keep blanks
/// together, and what follows " -- " is for init.
class KernelParameters {
public:
  static KernelParameters parse(std::string_view text);

  /// True if the name is there, with or without a value.
  bool has(std::string_view name) const;
  /// True if one of its values, split at commas, is or begins with `item` and '='.
  bool lists(std::string_view name, std::string_view item) const;
  /// All values given, split at commas.
  std::vector<std::string> values(std::string_view name) const;

private:
  std::vector<std::pair<std::string, std::string>> given_;
};

}  // namespace vfiogate
