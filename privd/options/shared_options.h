#pragma once
// Options that several of privd's programs have, and what each makes of its arguments.

#include "ipc/base/log_format.h"
#include "privd/options/option_table.h"

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace vfiogate {

/// Where plugind listens unless told.
inline constexpr const char* kPlugindSocket = "/run/vfiogate/plugind/plugind.sock";
inline constexpr uid_t kPlugindUid = 64532;

// Each fills what it is given, whose value is its default.
Option plugindUidOption(uid_t& uid);
/// Of watch, kubelet, cdi and bind, with commas between.
Option rightsOption(std::string& rights);
Option sysfsOption(std::string& path);
Option devOption(std::string& path);
Option stateOption(std::string& path);
/// "on" or "off".
Option ueventsOption(std::string& uevents);
Option rescanOption(std::uint32_t& seconds);
Option logFormatOption(LogForm& form);
Option landlockOption(bool& required);
/// Of a program that the daemon may start: the descriptor on which it says by one byte that it is
/// locked down and serves, and whose end it ends with. -1: none.
Option readyOption(int& fd);

/// True if `rights` has `right`.
bool hasRight(const std::string& rights, const std::string& right);

/// `option`, which takes what `check` finds nothing wrong with.
template <typename Check>
Option checked(Option option, Check check) {
  option.take = [check, take = std::move(option.take)](const std::string& text) {
    const std::string problem = check(text);
    return problem.empty() ? take(text) : problem;
  };
  return option;
}

/// What a program says of itself.
struct ProgramWords {
  const char* name;   ///< "privd-binder"
  const char* about;  ///< the help's first lines
  std::string_view version;
};

/// Fills the options of `table`, with --options as one more; of that file it leaves to the other
/// programs what is theirs. Null: begin. Else the exit code: help or version was printed, or what
/// is wrong.
std::optional<int> takeArguments(OptionTable& table, const std::vector<std::string>& given,
                                 const ProgramWords& words);

}  // namespace vfiogate
