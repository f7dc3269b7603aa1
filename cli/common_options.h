#pragma once
// Options that several programs share: -o and --user; and how errors repeat arguments.

#include "ipc/base/log_format.h"

#include <nlohmann/json_fwd.hpp>

#include <sys/types.h>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace vfiogate {

/// Adds `-o FORM`, one of `forms`.
void addOutputForm(CLI::App& command, std::string& form, std::vector<std::string> forms);

/// `document` as "json" (indented) or "yaml" (block style, strings in double quotes as JSON has
/// them), with a newline at its end. Bytes that are no UTF-8 are replaced.
std::string documentText(const nlohmann::ordered_json& document, const std::string& form);

/// `json`, a JSON document, as YAML of documentText().
std::string yamlOf(const std::string& json);

/// True for the forms of documentText().
inline bool isDocument(const std::string& form) {
  return form == "json" || form == "yaml";
}

/// For the callback of a policy command: throws what CLI11 tells the user where the outcome of a
/// self-test cannot have this form.
void checkSelfTestForm(const std::string& form);

/// Makes `option` take one of `names` alone; `kind`: what they are, for the answer to others.
void takeOneOf(CLI::Option& option, const std::string& kind, std::vector<std::string> names);

/// Makes `option` take a whole number from `least` to `most`. `name` stands for it in the help,
/// "SECONDS"; `kind` in the answer to others: "'0' is no number of seconds from 1 to 86400".
void takeNumber(CLI::Option& option, const std::string& name, const std::string& kind,
                std::uint32_t least, std::uint32_t most);

/// Adds `name`, which takes a path; of several the last one counts, so that the command line can
/// correct an options file before it.
void addPathOption(CLI::App& command, const std::string& name, std::string& path,
                   const std::string& help);

/// Adds `--user UID[:GID]`; the gid is the uid's where it is not given. Root is refused as both.
void addUserOption(CLI::App& command, const std::string& help,
                   std::function<void(uid_t, gid_t)> take);

/// Adds `--log-format logfmt|json`.
void addLogFormat(CLI::App& command, LogForm& form);

inline constexpr const char* kUnprintableArgument =
    "an argument has a character that is not printable ASCII";

/// Whether each is printable ASCII.
inline bool arePrintable(int argc, const char* const* argv) {
  return std::all_of(argv, argv + argc, [](std::string_view argument) {
    return std::ranges::all_of(argument, [](char c) { return c >= 0x20 && c < 0x7f; });
  });
}

}  // namespace vfiogate
