#include "privd/base/log_line.h"

#include <kj/vector.h>

namespace vfiogate {
inline namespace privd_log {
namespace {

constexpr size_t kLongestValue = 200;

bool isPlain(char c) {
  return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || c == '.' ||
         c == '_' || c == '-' || c == '/' || c == ':' || c == '+' || c == ',' || c == '@';
}

bool isPlain(kj::StringPtr text) {
  if (text.size() == 0 || text.size() > kLongestValue) return false;
  for (const char c : text) {
    if (!isPlain(c)) return false;
  }
  return true;
}

void addQuoted(kj::Vector<char>& line, kj::StringPtr text) {
  static constexpr char kDigits[] = "0123456789abcdef";
  line.add('"');
  for (const char c : text.slice(0, kj::min(text.size(), kLongestValue))) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte >= 0x20 && byte < 0x7f && c != '"' && c != '\\') {
      line.add(c);
    } else {
      line.addAll(kj::StringPtr("\\x"));
      line.add(kDigits[byte >> 4]);
      line.add(kDigits[byte & 0xf]);
    }
  }
  if (text.size() > kLongestValue) line.addAll(kj::StringPtr("..."));
  line.add('"');
}

}  // namespace

kj::StringPtr eventName(LogEvent event) {
  switch (event) {
    case LogEvent::kStarted:
      return "started";
    case LogEvent::kLimitLower:
      return "limit_lower";
    case LogEvent::kOutOfMemory:
      return "out_of_memory";
    case LogEvent::kStopped:
      return "stopped";
    case LogEvent::kInstanceWaits:
      return "instance_waits";
    case LogEvent::kLandlock:
      return "landlock";
    case LogEvent::kLockedDown:
      return "locked_down";
    case LogEvent::kScanFailed:
      return "scan_failed";
    case LogEvent::kUeventsLost:
      return "uevents_lost";
    case LogEvent::kUeventForeign:
      return "uevent_foreign";
    case LogEvent::kPlugindConnected:
      return "plugind_connected";
    case LogEvent::kPlugindRefused:
      return "plugind_refused";
    case LogEvent::kPlugindAbsent:
      return "plugind_absent";
    case LogEvent::kPlugindWaits:
      return "plugind_waits";
    case LogEvent::kPeerRefused:
      return "peer_refused";
    case LogEvent::kAcceptFailed:
      return "accept_failed";
    case LogEvent::kPeerGone:
      return "peer_gone";
    case LogEvent::kPeerHungUp:
      return "peer_hung_up";
    case LogEvent::kSocketMade:
      return "socket_made";
    case LogEvent::kSocketRefused:
      return "socket_refused";
    case LogEvent::kSocketFailed:
      return "socket_failed";
    case LogEvent::kSocketWithdrawn:
      return "socket_withdrawn";
    case LogEvent::kKubeletAbsent:
      return "kubelet_absent";
    case LogEvent::kKubeletAppeared:
      return "kubelet_appeared";
    case LogEvent::kDirectoryMissing:
      return "directory_missing";
    case LogEvent::kDirectoryLost:
      return "directory_lost";
    case LogEvent::kDescriptorNotSent:
      return "descriptor_not_sent";
    case LogEvent::kSpecWritten:
      return "spec_written";
    case LogEvent::kSpecUnlinked:
      return "spec_unlinked";
    case LogEvent::kSpecFailed:
      return "spec_failed";
    case LogEvent::kNodeObstacle:
      return "node_obstacle";
    case LogEvent::kWriteStuck:
      return "write_stuck";
    case LogEvent::kWriteEndedLate:
      return "write_ended_late";
    case LogEvent::kForkServerGone:
      return "fork_server_gone";
    case LogEvent::kAuditHead:
      return "audit_head";
    case LogEvent::kAuditFailed:
      return "audit_failed";
    case LogEvent::kDriverChange:
      return "driver_change";
    case LogEvent::kGuardOverridden:
      return "guard_overridden";
    case LogEvent::kDeclaredRefused:
      return "declared_refused";
    case LogEvent::kChangeRefused:
      return "change_refused";
    case LogEvent::kBindingUnfinished:
      return "binding_unfinished";
    case LogEvent::kNotBindable:
      return "not_bindable";
    case LogEvent::kStateProblem:
      return "state_problem";
    case LogEvent::kRecordFailed:
      return "record_failed";
    case LogEvent::kLinesLeftOut:
      return "lines_left_out";
  }
  return "unknown";
}

kj::String formatLine(LogEvent event, kj::ArrayPtr<const LogField> fields) {
  kj::Vector<char> line;
  line.addAll(kj::StringPtr("event="));
  line.addAll(eventName(event));
  for (const LogField& field : fields) {
    line.add(' ');
    line.addAll(field.key);
    line.add('=');
    if (isPlain(field.value)) {
      line.addAll(field.value);
    } else {
      addQuoted(line, field.value);
    }
  }
  line.add('\0');
  return kj::String(line.releaseAsArray());
}

}  // namespace privd_log
}  // namespace vfiogate
