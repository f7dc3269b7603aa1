#include "cli/output_form.h"

#include <CLI/CLI.hpp>
#include <algorithm>

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

}  // namespace vfiogate
