#pragma once
// Options that several programs share: -o and --user; and how errors repeat arguments.

#include <sys/types.h>

#include <algorithm>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace CLI {
class App;
}

namespace CLI {
class App;
}

namespace vfiogate {

/// Adds `-o FORM`; forms of later versions are refused by name.
void addOutputForm(CLI::App& command, std::string& form, std::vector<std::string> forms,
                   std::vector<std::string> later = {});

/// Adds `--user UID[:GID]`; the gid is the uid's where it is not given. Root is refused as both.
void addUserOption(CLI::App& command, const std::string& help,
                   std::function<void(uid_t, gid_t)> take);

inline constexpr const char* kUnprintableArgument =
    "an argument has a character that is not printable ASCII";

/// Whether each is printable ASCII.
inline bool arePrintable(int argc, const char* const* argv) {
  return std::all_of(argv, argv + argc, [](std::string_view argument) {
    return std::ranges::all_of(argument, [](char c) { return c >= 0x20 && c < 0x7f; });
  });
}

}  // namespace vfiogate
