#include "cli/user_option.h"

#include "ipc/base/hex.h"

#include <CLI/CLI.hpp>

#include <utility>

namespace vfiogate {

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
