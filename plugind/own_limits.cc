#include "plugind/own_limits.h"

#include "plugind/log_line.h"
#include "seccomp/resource_limits.h"

#include <grpc/support/log.h>

#include <dlfcn.h>
#include <pthread.h>
#include <unistd.h>

#include <csignal>
#include <string>

namespace vfiogate {
namespace {

/// Tasks: two plugind in an update, and what asks them; gRPC makes up to 16 and 4 a processor.
constexpr ResourceLimits kOwnLimits{
    .descriptors = 1024, .memory = std::uint64_t{184} << 20U, .tasks = 512};
constexpr std::size_t kStackOfAThread = std::size_t{512} << 10U;

/// What is said where nothing can be formatted any more, so without the time.
std::string lastLine(LogEvent event) {
  return "level=critical " + logLine(event, {}) + "\n";
}

std::string& linesOfTheEnd(LogEvent event) {
  static auto* const threads = new std::string(lastLine(LogEvent::kOutOfThreads));
  static auto* const aborted = new std::string(lastLine(LogEvent::kAborted));
  return event == LogEvent::kAborted ? *aborted : *threads;
}

void writeLastLine(LogEvent event) {
  const std::string& line = linesOfTheEnd(event);
  [[maybe_unused]] const ssize_t ignored = write(STDERR_FILENO, line.data(), line.size());
}

void logOfGrpc(gpr_log_func_args* said) {
  const LogFields fields{{"where", said->file}, {"why", said->message}};
  if (said->severity == GPR_LOG_SEVERITY_ERROR) return logError(LogEvent::kGrpc, fields);
  logInfo(LogEvent::kGrpc, fields);
}

}  // namespace

std::optional<StepFailure> limitOurselves(SharesItsUser shares) {
  ResourceLimits limits = kOwnLimits;
  if (shares == SharesItsUser::kYes) limits.tasks = 0;
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setstacksize(&attributes, kStackOfAThread);
  const int refused = pthread_setattr_default_np(&attributes);
  pthread_attr_destroy(&attributes);
  if (refused != 0) return StepFailure{"limiting stacks", refused};
  return limitResources(limits, [](const LowerLimit& lower) {
    logWarning(LogEvent::kLimitLower,
               {{"what", lower.what}, {"wanted", lower.wanted}, {"allowed", lower.allowed}});
  });
}

void sayWhatEndsUs() {
  linesOfTheEnd(LogEvent::kAborted);
  endWithoutMemory(lastLine(LogEvent::kOutOfMemory));
  gpr_set_log_function(logOfGrpc);
  // It returns, and abort() goes on: the signal stays what ended the process.
  struct sigaction action = {};
  action.sa_handler = [](int /*signal*/) { writeLastLine(LogEvent::kAborted); };
  sigaction(SIGABRT, &action, nullptr);
}

}  // namespace vfiogate

/// Stands before the C library's. gRPC does not say when it got no thread, and what it queued for
/// that thread then waits for ever; so the process ends, and says why.
extern "C" __attribute__((visibility("default"))) int pthread_create(
    pthread_t* thread, const pthread_attr_t* attributes, void* (*body)(void*), void* argument) {
  using Create = int (*)(pthread_t*, const pthread_attr_t*, void* (*)(void*), void*);
  static const auto create = reinterpret_cast<Create>(dlsym(RTLD_NEXT, "pthread_create"));
  const int refused = create(thread, attributes, body, argument);
  if (refused == 0) return 0;
  vfiogate::writeLastLine(vfiogate::LogEvent::kOutOfThreads);
  _exit(1);
}
