#pragma once
// The option -o, the same for all commands.

#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace vfiogate {

/// Adds `-o FORM`; forms of later versions are refused by name.
void addOutputForm(CLI::App& command, std::string& form, std::vector<std::string> forms,
                   std::vector<std::string> later = {});

}  // namespace vfiogate
