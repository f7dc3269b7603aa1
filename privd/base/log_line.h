#pragma once
// privd's log: one event a line on stderr, as ipc/base/log_format.h has it.

#include "ipc/base/log_format.h"

#include <kj/string.h>

#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace vfiogate {
struct LowerLimit;
// plugind's log has the same names: of its own, so that both can be linked into one test.
inline namespace privd_log {

/// All events of privd's log. Operators search for the names: never renamed.
enum class LogEvent {
  kStarted,
  kLimitLower,
  kOutOfMemory,
  kStopped,
  kInstanceWaits,
  kLandlock,
  kLockedDown,
  kScanFailed,
  kUeventsLost,
  kUeventForeign,
  kPlugindConnected,
  kPlugindRefused,
  kPlugindAbsent,
  kPlugindWaits,
  kPeerGone,
  kPeerHungUp,
  kRequestRefused,
  kSocketMade,
  kSocketRefused,
  kSocketFailed,
  kSocketWithdrawn,
  kKubeletAbsent,
  kKubeletAppeared,
  kDirectoryMissing,
  kDirectoryUnwatched,
  kDirectoryLost,
  kDescriptorNotSent,
  kSpecWritten,
  kSpecUnlinked,
  kSpecFailed,
  kNodeObstacle,
  kWriteStuck,
  kWriteEndedLate,
  kForkServerGone,
  kAuditHead,
  kAuditFailed,
  kDriverChange,
  kGuardOverridden,
  kDeclaredRefused,
  kVfsAwaited,
  kChangeRefused,
  kBindingUnfinished,
  kExclusions,
  kStateProblem,
  kNotBindable,
  kRecordFailed,
  kIommufdAbsent,
  kIommufdSent,
  kIommufdRefused,
  kIommufdUnanswered,
  kLinesLeftOut,
};

/// The event's name, such as "peer_gone".
kj::StringPtr eventName(LogEvent event);

struct LogField {
  LogField(std::string_view name, std::string text) : key(name), value(std::move(text)) {}
  LogField(std::string_view name, const kj::String& text)
      : LogField(name, std::string(text.begin(), text.size())) {}

  std::string_view key;
  std::string value;
};

/// The line of now without its end, with the event's level.
std::string formatLine(LogForm form, LogEvent event, kj::ArrayPtr<const LogField> fields);

/// Before the first line; logfmt unless told. Null: no line is written, for a command whose answer
/// says the same.
void useLogForm(std::optional<LogForm> form);

/// Writes the line to stderr in one piece, within its event's allowance (LineAllowance). A reader
/// that went away is no error. How many lines of an event were left out is told before
/// the next one of it.
void logLine(LogEvent event, std::initializer_list<LogField> fields = {});

/// Tells how many were left out since, of each event.
void tellLeftOut();

/// What a program of privd's begins with: the log's form, and a last line for when there is no
/// memory. From now on a reader of stderr that reads nothing costs lines, and not the process:
/// where stderr is a pipe or a socket, what finds no room there is left out.
void beginLog(LogForm form);

/// A limit that whoever started the program allows less of than it wants.
void tellLower(const LowerLimit& lower);

/// By the error of inotify_add_watch(): its user has no watch left, the kernel no memory, or
/// (EBADF) had no instance left when one was to be made. Others who have that user, or root in the
/// same user namespace, may have taken them: then nothing tells of a change, and any moment may be
/// one.
bool isInotifyUsedUp(int error);
/// That the directory is not watched yet, and why.
void tellUnwatched(int error, std::string_view directory);

}  // namespace privd_log
}  // namespace vfiogate
