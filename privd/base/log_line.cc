#include "privd/base/log_line.h"

#include <array>
#include <vector>

namespace vfiogate {
inline namespace privd_log {
namespace {

struct Kind {
  LogEvent event;
  LogLevel level;
  std::string_view name;
};
using enum LogLevel;
constexpr std::array kKinds{
    Kind{LogEvent::kStarted, kInfo, "started"},
    Kind{LogEvent::kLimitLower, kWarning, "limit_lower"},
    Kind{LogEvent::kOutOfMemory, kCritical, "out_of_memory"},
    Kind{LogEvent::kStopped, kInfo, "stopped"},
    Kind{LogEvent::kInstanceWaits, kWarning, "instance_waits"},
    Kind{LogEvent::kLandlock, kInfo, "landlock"},
    Kind{LogEvent::kLockedDown, kInfo, "locked_down"},
    Kind{LogEvent::kScanFailed, kError, "scan_failed"},
    Kind{LogEvent::kUeventsLost, kWarning, "uevents_lost"},
    Kind{LogEvent::kUeventForeign, kWarning, "uevent_foreign"},
    Kind{LogEvent::kPlugindConnected, kInfo, "plugind_connected"},
    Kind{LogEvent::kPlugindRefused, kWarning, "plugind_refused"},
    Kind{LogEvent::kPlugindAbsent, kWarning, "plugind_absent"},
    Kind{LogEvent::kPlugindWaits, kInfo, "plugind_waits"},
    Kind{LogEvent::kPeerGone, kInfo, "peer_gone"},
    Kind{LogEvent::kPeerHungUp, kWarning, "peer_hung_up"},
    Kind{LogEvent::kRequestRefused, kWarning, "request_refused"},
    Kind{LogEvent::kSocketMade, kInfo, "socket_made"},
    Kind{LogEvent::kSocketRefused, kWarning, "socket_refused"},
    Kind{LogEvent::kSocketFailed, kError, "socket_failed"},
    Kind{LogEvent::kSocketWithdrawn, kInfo, "socket_withdrawn"},
    Kind{LogEvent::kKubeletAbsent, kWarning, "kubelet_absent"},
    Kind{LogEvent::kKubeletAppeared, kInfo, "kubelet_appeared"},
    Kind{LogEvent::kDirectoryMissing, kWarning, "directory_missing"},
    Kind{LogEvent::kDirectoryUnwatched, kWarning, "directory_unwatched"},
    Kind{LogEvent::kDirectoryLost, kError, "directory_lost"},
    Kind{LogEvent::kDescriptorNotSent, kWarning, "descriptor_not_sent"},
    Kind{LogEvent::kSpecWritten, kInfo, "spec_written"},
    Kind{LogEvent::kSpecUnlinked, kInfo, "spec_unlinked"},
    Kind{LogEvent::kSpecFailed, kError, "spec_failed"},
    Kind{LogEvent::kNodeObstacle, kWarning, "node_obstacle"},
    Kind{LogEvent::kWriteStuck, kWarning, "write_stuck"},
    Kind{LogEvent::kWriteEndedLate, kInfo, "write_ended_late"},
    Kind{LogEvent::kForkServerGone, kError, "fork_server_gone"},
    Kind{LogEvent::kAuditHead, kInfo, "audit_head"},
    Kind{LogEvent::kAuditFailed, kError, "audit_failed"},
    Kind{LogEvent::kDriverChange, kInfo, "driver_change"},
    Kind{LogEvent::kGuardOverridden, kWarning, "guard_overridden"},
    Kind{LogEvent::kDeclaredRefused, kWarning, "declared_refused"},
    Kind{LogEvent::kVfsAwaited, kWarning, "vfs_awaited"},
    Kind{LogEvent::kChangeRefused, kWarning, "change_refused"},
    Kind{LogEvent::kBindingUnfinished, kWarning, "binding_unfinished"},
    Kind{LogEvent::kExclusions, kInfo, "exclusions"},
    Kind{LogEvent::kStateProblem, kWarning, "state_problem"},
    Kind{LogEvent::kNotBindable, kWarning, "not_bindable"},
    Kind{LogEvent::kRecordFailed, kError, "record_failed"},
    Kind{LogEvent::kIommufdAbsent, kWarning, "iommufd_absent"},
    Kind{LogEvent::kIommufdSent, kInfo, "iommufd_sent"},
    Kind{LogEvent::kIommufdRefused, kWarning, "iommufd_refused"},
    Kind{LogEvent::kIommufdUnanswered, kWarning, "iommufd_unanswered"},
    Kind{LogEvent::kLinesLeftOut, kWarning, "lines_left_out"},
};

constexpr bool inOrder() {
  std::size_t i = 0;
  for (const Kind& kind : kKinds) {
    if (kind.event != static_cast<LogEvent>(i++)) return false;
  }
  return kKinds.back().event == LogEvent::kLinesLeftOut;
}
static_assert(inOrder());

const Kind& kindOf(LogEvent event) {
  return kKinds.at(static_cast<std::size_t>(event));
}

}  // namespace

kj::StringPtr eventName(LogEvent event) {
  return kindOf(event).name.data();
}

std::string formatLine(LogForm form, LogEvent event, kj::ArrayPtr<const LogField> fields) {
  std::vector<LogEntry> entries;
  for (const LogField& field : fields) entries.push_back({field.key, field.value});
  const Kind kind = kindOf(event);
  return logLineOf(form, std::chrono::system_clock::now(), kind.level, kind.name, entries);
}

}  // namespace privd_log
}  // namespace vfiogate
