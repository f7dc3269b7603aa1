#include "cli/common_options.h"

#include "cli/usage.h"
#include "ipc/base/hex.h"

#include <CLI/CLI.hpp>

#include <algorithm>
#include <utility>

namespace vfiogate {

void addOutputForm(CLI::App& command, std::string& form, std::vector<std::string> forms) {
  const std::string names = CLI::detail::join(forms, "|");
  CLI::Option* option = command.add_option("-o,--output", form, "the form of the output: " + names)
                            ->type_name("FORM")
                            ->capture_default_str();
  takeOneOf(*option, "form of output", std::move(forms));
}

void checkSelfTestForm(const std::string& form) {
  if (isDocument(form) || form == "text") return;
  throw CLI::ValidationError("--self-test", "is told as text, json or yaml");
}

void takeOneOf(CLI::Option& option, const std::string& kind, std::vector<std::string> names) {
  option.check([kind, names = std::move(names)](const std::string& word) {
    const bool isOne = std::ranges::find(names, word) != names.end();
    return isOne ? std::string() : noneOf(word, kind, names);
  });
}

void takeNumber(CLI::Option& option, const std::string& name, const std::string& kind,
                std::uint32_t least, std::uint32_t most) {
  const std::string range = std::to_string(least) + " to " + std::to_string(most);
  option.type_name(name)->check([=](const std::string& word) {
    const auto number = parseDecimal(word);
    const bool fits = number && *number >= least && *number <= most;
    return fits ? std::string() : "'" + word + "' is no " + kind + " from " + range;
  });
}

void addPathOption(CLI::App& command, const std::string& name, std::string& path,
                   const std::string& help) {
  command.add_option(name, path, help)
      ->capture_default_str()
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeLast);
}

void addLogFormat(CLI::App& command, LogForm& form) {
  command
      .add_option_function<std::string>(
          "--log-format",
          [&form](const std::string& text) {
            const auto given = logFormOf(text);
            if (!given) {
              throw CLI::ValidationError("--log-format",
                                         "'" + text + "' is neither logfmt nor json");
            }
            form = *given;
          },
          "how the log's lines are written: logfmt, json [logfmt]")
      ->type_name("FORM");
}

void addUserOption(CLI::App& command, const std::string& help,
                   std::function<void(uid_t, gid_t)> take) {
  command
      .add_option_function<std::string>(
          "--user",
          [take = std::move(take)](const std::string& text) {
            const std::size_t colon = text.find(':');
            const auto uid = parseDecimal(text.substr(0, colon));
            const auto gid =
                colon == std::string::npos ? uid : parseDecimal(text.substr(colon + 1));
            if (!uid || !gid || *uid == 0 || *gid == 0) {
              throw CLI::ValidationError(
                  "--user", "'" + text + "' is not UID or UID:GID in numbers, neither of them 0");
            }
            take(*uid, *gid);
          },
          help)
      ->type_name("UID[:GID]");
}

}  // namespace vfiogate
