#include "privd/cli/base/table_options.h"

#include <CLI/CLI.hpp>

namespace vfiogate {
namespace {

void give(const Option& option, const std::string& value) {
  const std::string problem = option.take(value);
  if (!problem.empty()) throw CLI::ValidationError(option.name, problem);
}

void addValues(CLI::App& command, const Option& option) {
  command
      .add_option_function<std::vector<std::string>>(
          option.name,
          [option](const std::vector<std::string>& values) {
            for (const std::string& value : values) give(option, value);
          },
          option.help)
      ->allow_extra_args(false)
      ->take_all()
      ->type_name(option.takes);
}

void addValue(CLI::App& command, const Option& option) {
  command
      .add_option_function<std::string>(
          option.name, [option](const std::string& value) { give(option, value); }, option.help)
      ->type_name(option.takes)
      ->default_str(option.preset);
}

void addFlag(CLI::App& command, const Option& option) {
  command.add_flag_function(
      option.name, [option](std::int64_t count) { give(option, count > 0 ? "true" : "false"); },
      option.help);
}

}  // namespace

void addOptions(CLI::App& command, const OptionTable& table) {
  for (const Option& option : table) {
    if (option.takes.empty()) {
      addFlag(command, option);
    } else if (option.repeatable) {
      addValues(command, option);
    } else {
      addValue(command, option);
    }
  }
}

}  // namespace vfiogate
