#include "cli/common_options.h"

#include "ipc/base/hex.h"

#include <CLI/CLI.hpp>

#include <algorithm>
#include <utility>

namespace vfiogate {

void addOutputForm(CLI::App& command, std::string& form, std::vector<std::string> forms,
                   std::vector<std::string> later) {
  const std::string names = CLI::detail::join(forms, "|");
  command.add_option("-o,--output", form, "the form of the output: " + names)
      ->type_name("FORM")
      ->capture_default_str()
      ->check(
          [forms = std::move(forms), later = std::move(later), names](const std::string& asked) {
            if (std::ranges::find(forms, asked) != forms.end()) return std::string();
            const bool known = std::ranges::find(later, asked) != later.end();
            return "'" + asked + "' is " + (known ? "not in this version" : "no form of output") +
                   ": give one of " + names;
          });
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
