#include "plugind/base/own_process.h"

#include "plugind/base/log_line.h"
#include "seccomp/resource_limits.h"

#include <grpc/support/log.h>

#include <pthread.h>
#include <unistd.h>

#include <csignal>
#include <string>

namespace vfiogate {
namespace {

/// Not the tasks of its user: whoever lets a pod choose its user would decide about ours. Of its
/// own threads it has at most kMostThreads.
constexpr ResourceLimits kOwnLimits{.descriptors = 1024, .memory = std::uint64_t{184} << 20U};
#ifdef VFIOGATE_SANITIZED
/// With what ThreadSanitizer keeps of a thread.
constexpr std::size_t kStackOfAThread = std::size_t{8} << 20U;
#else
constexpr std::size_t kStackOfAThread = std::size_t{512} << 10U;
#endif

/// What is said where nothing can be formatted any more but the time.
std::string lastLine(LogEvent event) {
  return logLine(LogLevel::kCritical, event, {}) + "\n";
}

std::string& lineOfAborted() {
  static auto* const aborted = new std::string(lastLine(LogEvent::kAborted));
  return *aborted;
}

void logOfGrpc(gpr_log_func_args* said) {
  const LogFields fields{{"where", said->file}, {"why", said->message}};
  if (said->severity == GPR_LOG_SEVERITY_ERROR) return logError(LogEvent::kGrpc, fields);
  logInfo(LogEvent::kGrpc, fields);
}

}  // namespace

std::optional<StepFailure> limitOurselves() {
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setstacksize(&attributes, kStackOfAThread);
  const int refused = pthread_setattr_default_np(&attributes);
  pthread_attr_destroy(&attributes);
  if (refused != 0) return StepFailure{"limiting stacks", refused};
  return limitResources(kOwnLimits, [](const LowerLimit& lower) {
    logWarning(LogEvent::kLimitLower,
               {{"what", lower.what}, {"wanted", lower.wanted}, {"allowed", lower.allowed}});
  });
}

void sayWhatEndsUs() {
  lineOfAborted();
  endWithoutMemory(lastLine(LogEvent::kOutOfMemory), restampLogLine);
  gpr_set_log_function(logOfGrpc);
  // It returns, and abort() goes on: the signal stays what ended the process.
  struct sigaction action = {};
  action.sa_handler = [](int /*signal*/) {
    std::string& line = lineOfAborted();
    restampLogLine(line, std::chrono::system_clock::now());
    [[maybe_unused]] const ssize_t ignored = write(STDERR_FILENO, line.data(), line.size());
  };
  sigaction(SIGABRT, &action, nullptr);
}

}  // namespace vfiogate
