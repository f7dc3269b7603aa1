#pragma once
// The commands that change bindings, and what is kept of them.

#include "privd/cli/binding/local_office.h"

namespace CLI {
class App;
}

namespace vfiogate {

/// `bind` and `unbind`. `makeLocal` is for where no daemon answers.
void addChangeCommands(CLI::App& app, int& exitCode, const OfficeMaker& makeLocal);

/// `hold`, `release`, `holds` and `forget`.
void addKeepCommands(CLI::App& app, int& exitCode, const OfficeMaker& makeLocal);

}  // namespace vfiogate
