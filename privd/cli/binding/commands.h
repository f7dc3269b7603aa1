#pragma once
// The commands that change bindings, and what is kept of them.

#include "privd/cli/binding/local_binding_service.h"

namespace CLI {
class App;
}

namespace vfiogate {

/// `bind` and `unbind`. `makeLocal` makes what carries them out.
void addChangeCommands(CLI::App& app, int& exitCode, const BindingServiceMaker& makeLocal);

/// `hold`, `release`, `holds` and `forget`.
void addKeepCommands(CLI::App& app, int& exitCode, const KeepServiceMaker& makeLocal);

}  // namespace vfiogate
