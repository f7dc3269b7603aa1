#pragma once
// A program's options as a table, from which they are parsed and --help is printed. The root daemon
// has no parser of options from a library.

#include "ipc/base/result.h"

#include <functional>
#include <string>
#include <vector>

namespace vfiogate {

struct Option {
  std::string name;  ///< "--sysfs"
  std::string help;
  std::string takes;   ///< what the help calls its value, "TEXT"; empty: a flag
  std::string preset;  ///< its default, for the help; empty: it says none
  /// Takes one value, of a flag "true" or "false". Returns what is wrong with it; empty: nothing.
  std::function<std::string(const std::string&)> take;
  bool repeatable = false;  ///< otherwise the last value wins
};
using OptionTable = std::vector<Option>;

/// Takes any text but an empty one.
Option textOption(std::string name, std::string& into, std::string help,
                  std::string takes = "TEXT");
/// Takes true or false.
Option flagOption(std::string name, bool& into, std::string help);

/// Gives each argument to its option: `--name value`, `--name=value`, a flag alone or with true or
/// false. Error: for people, naming the option.
Result<Done, std::string> parseOptions(const OptionTable& table,
                                       const std::vector<std::string>& arguments);

/// One option a line, with what it takes, its default and its help.
std::string helpOf(const OptionTable& table);

/// Replaces `--options FILE` in `arguments` by the options in the file: one long option a line
/// without the dashes, `name`, `name value` or `name=value`, `#` begins a comment line; those whose
/// name (with its dashes) is not `wanted` are passed over. Error: for people, naming the file, and
/// the line where there is one.
Result<std::vector<std::string>, std::string> expandOptionFiles(
    const std::vector<std::string>& arguments,
    const std::function<bool(const std::string&)>& wanted);

}  // namespace vfiogate
