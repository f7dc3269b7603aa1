#pragma once
// What a person may tell a running node, one command a line.

#include "sim/node/node.h"

#include <string>

namespace vfiogate::sim {

/// Carries out `line` and answers in lines; "error: ..." if it could not. Commands that are not the
/// node's own go to the simulated hardware.
std::string execute(Node& node, const std::string& line);

}  // namespace vfiogate::sim
