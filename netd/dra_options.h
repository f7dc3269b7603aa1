#pragma once
// The options of `netd dra`.

#include "netd/command_line.h"

namespace CLI {
class App;
}

namespace vfiogate {

/// Adds the subcommand, which fills `line`. Where the API server and the node's name are not given,
/// the environment is asked, as a pod has it.
void addDra(CLI::App& app, NetdLine& line);

}  // namespace vfiogate
