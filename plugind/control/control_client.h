#pragma once
// Asks the running plugind.

#include "ipc/base/result.h"
#include "ipc/types/unit_id.h"
#include "plugind/core/status/status.h"

#include <chrono>
#include <string>
#include <variant>

namespace vfiogate {

struct StatusQuestion {};
struct MetricsQuestion {};
struct ExplainQuestion {
  UnitId address;
};
using ControlQuestion = std::variant<StatusQuestion, MetricsQuestion, ExplainQuestion>;

/// The answer, within `patience`. Error: for people, with what would mend it. Makes an event loop
/// of its own: not for the daemon.
Result<std::string, std::string> askControl(const std::string& socket,
                                            const ControlQuestion& question,
                                            std::chrono::milliseconds patience);

/// Whether plugind is ready. As askControl.
Result<PluginReadiness, std::string> askReadiness(const std::string& socket,
                                                  std::chrono::milliseconds patience);

}  // namespace vfiogate
