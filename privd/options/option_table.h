#pragma once
// A program's options as a table, from which they are parsed and --help is printed. The root daemon
// has no parser of options from a library.

#include "ipc/base/result.h"

#include <functional>
#include <span>
#include <string>
#include <string_view>
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
/// false. Error: for people, naming the option, and `program` where it has none of that name.
Result<Done, std::string> parseOptions(const OptionTable& table,
                                       const std::vector<std::string>& arguments,
                                       std::string_view program = "privd serve");

/// One option a line, with what it takes, its default and its help.
std::string helpOf(const OptionTable& table);

/// What a program prints instead of running, where --help, -h or --version is among the arguments:
/// `about` and the options, or `version`. Empty: none of them is.
std::string helpOrVersion(const std::vector<std::string>& arguments, const std::string& about,
                          const OptionTable& table, std::string_view version);

/// Gives each option in a file to `take`, as "--name" or "--name=value": one long option a line
/// without the dashes, `name`, `name value` or `name=value`; `#` begins a comment line. Ends at the
/// first of which `take` says that something is wrong. Returns what is wrong, for people, such as
/// "privd.conf:7: --rescan: a value is missing"; empty: nothing.
std::string readOptionFile(const std::string& path,
                           const std::function<std::string(const std::string&)>& take);

/// `--options FILE`: gives the options in the file to those of `table`, which lives longer. Leaves
/// out what is not in the table and `others`, the names of other programs' options, have.
Option fileOption(const OptionTable& table, std::span<const std::string_view> others = {});

}  // namespace vfiogate
