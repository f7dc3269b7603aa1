#pragma once
// Options of the daemon's tables, for commands that take the same.

#include "privd/options/option_table.h"

namespace CLI {
class App;
}

namespace vfiogate {

/// Describes them to the parser, which hands each its values.
void addOptions(CLI::App& command, const OptionTable& table);

}  // namespace vfiogate
