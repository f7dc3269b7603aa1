#include "tests/support/seen/call_stops.h"

#include "tests/support/seen/syscall_stop.h"

#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <string>
#include <system_error>

namespace vfiogate::test {
namespace {

/// Wakes the tracing thread by way of a process that it follows; never delivered.
constexpr int kWakeUp = SIGURG;
/// Only what this thread follows: other threads have children and tracees of their own.
constexpr int kOwn = __WALL | __WNOTHREAD;

pid_t processOf(pid_t thread) {
  std::ifstream status("/proc/" + std::to_string(thread) + "/status");
  for (std::string word; status >> word;) {
    pid_t process = 0;
    if (word == "Tgid:" && status >> process) return process;
  }
  return thread;
}

}  // namespace

CallStops::CallStops(const std::vector<pid_t>& processes, Judge isIt, std::function<void()> act)
    : isIt_(std::move(isIt)), act_(std::move(act)), processes_(processes) {
  std::promise<void> followed;
  auto ready = followed.get_future();
  tracer_ = std::thread([this, &processes, &followed]() { run(processes, followed); });
  try {
    ready.get();
  } catch (...) {
    tracer_.join();
    throw;
  }
}

CallStops::~CallStops() {
  end();
}

bool CallStops::await(std::chrono::milliseconds patience) {
  return reached_.wait_for(patience) == std::future_status::ready && reached_.get();
}

std::set<pid_t> CallStops::end() {
  if (!tracer_.joinable()) return gone_;
  enough_ = true;
  for (const pid_t process : processes_) syscall(SYS_tgkill, process, process, kWakeUp);
  tracer_.join();
  return gone_;
}

void CallStops::run(const std::vector<pid_t>& processes, std::promise<void>& followed) {
  try {
    for (const pid_t process : processes) seize(process);
  } catch (...) {
    letGo();
    followed.set_exception(std::current_exception());
    return;
  }
  followed.set_value();
  follow();
  if (!acted_) outcome_.set_value(false);
  letGo();
}

void CallStops::seize(pid_t process) {
  const long options = PTRACE_O_TRACESYSGOOD | PTRACE_O_TRACECLONE;
  // A thread that is not followed yet may start another one: until none is new.
  for (bool found = true; found;) {
    found = false;
    for (const auto& entry :
         std::filesystem::directory_iterator("/proc/" + std::to_string(process) + "/task")) {
      const auto thread = static_cast<pid_t>(std::stol(entry.path().filename()));
      if (threads_.contains(thread)) continue;
      if (ptrace(PTRACE_SEIZE, thread, nullptr, options) != 0) {
        if (errno == ESRCH) continue;  // ended meanwhile
        if (errno == EPERM && process != thread) {
          // One that a followed thread started is followed already.
          threads_[thread].process = process;
          continue;
        }
        throw std::system_error(errno, std::generic_category(), "PTRACE_SEIZE");
      }
      threads_[thread].process = process;
      found = true;
      ptrace(PTRACE_INTERRUPT, thread, nullptr, nullptr);
      int status = 0;
      if (waitpid(thread, &status, kOwn) == thread && WIFSTOPPED(status)) {
        ptrace(PTRACE_SYSCALL, thread, nullptr, nullptr);
      } else {
        ended(thread);
      }
    }
  }
}

void CallStops::follow() {
  while (!enough_ && !acted_) {
    int status = 0;
    const pid_t thread = waitpid(-1, &status, kOwn);
    if (thread < 0) return;  // none is left
    if (WIFSTOPPED(status)) {
      atStop(thread, status);
    } else {
      ended(thread);
    }
  }
}

void CallStops::atStop(pid_t thread, int status) {
  auto [found, isNew] = threads_.try_emplace(thread);
  if (isNew) found->second.process = processOf(thread);
  const int signal = WSTOPSIG(status);
  std::uintptr_t deliver = 0;
  if (signal == kSyscallStop) {
    atCall(thread, found->second);
  } else if (status >> 16 == 0 && signal != kWakeUp) {
    deliver = static_cast<std::uintptr_t>(signal);
  }
  ptrace(PTRACE_SYSCALL, thread, nullptr, deliver);
}

void CallStops::atCall(pid_t thread, Thread& state) {
  __ptrace_syscall_info info{};
  if (ptrace(PTRACE_GET_SYSCALL_INFO, thread, sizeof(info), &info) <= 0) return;  // killed
  SeenCall& call = state.call;
  if (info.op == PTRACE_SYSCALL_INFO_ENTRY) {
    call = {.process = state.process, .number = static_cast<std::int64_t>(info.entry.nr)};
    for (std::size_t i = 0; i < call.args.size(); ++i) call.args.at(i) = info.entry.args[i];
    state.inCall = true;
  } else if (info.op == PTRACE_SYSCALL_INFO_EXIT && state.inCall) {
    call.returned = true;
    call.result = info.exit.rval;
    state.inCall = false;
  } else {
    return;
  }
  if (acted_ || enough_ || !isIt_(call)) return;
  act_();
  acted_ = true;
  outcome_.set_value(true);
}

void CallStops::ended(pid_t thread) {
  if (std::ranges::find(processes_, thread) != processes_.end()) gone_.insert(thread);
  threads_.erase(thread);
}

void CallStops::letGo() {
  for (const auto& [thread, state] : threads_) ptrace(PTRACE_INTERRUPT, thread, nullptr, nullptr);
  while (!threads_.empty()) {
    int status = 0;
    const pid_t thread = waitpid(-1, &status, kOwn);
    if (thread < 0) return;
    if (!WIFSTOPPED(status)) {
      ended(thread);
      continue;
    }
    const int signal = WSTOPSIG(status);
    const bool delivers = signal != kSyscallStop && status >> 16 == 0 && signal != kWakeUp;
    const std::uintptr_t deliver = delivers ? static_cast<std::uintptr_t>(signal) : 0;
    // Its number stays in the set until it is let go; one that was killed meanwhile is reported.
    if (ptrace(PTRACE_DETACH, thread, nullptr, deliver) == 0) threads_.erase(thread);
  }
}

}  // namespace vfiogate::test
