#include "privd/cli/binding/local_binding_service.h"

#include "privd/audit/audit_log.h"
#include "privd/base/boot_id.h"
#include "privd/base/log_line.h"
#include "privd/cli/binding/holders.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstring>
#include <iostream>
#include <utility>

namespace vfiogate {
namespace {

using Acted = Result<Done, std::string>;

std::int64_t secondsNow() {
  using namespace std::chrono;
  return duration_cast<seconds>(system_clock::now().time_since_epoch()).count();
}

/// There is no log to be had: its disk is full, or this place is none for it.
bool isAway(int error) {
  return error == ENOSPC || error == EDQUOT || error == EROFS || error == EIO || error == ENOENT ||
         error == EACCES;
}

class LocalKeepService final : public KeepService {
public:
  explicit LocalKeepService(const LocalBindingOptions& options)
      : stateDir_(options.stateDir), auditLog_(options.binding.auditLog) {}

  Acted exclude(const UnitId& device, const std::string& reason, const AuditPeer& who) override {
    return changed(StateKind::kExclusions, "hold", device, reason, who, [&](StateDirectory& state) {
      // One that is not there can be excluded all the same: it may come back.
      return state.put(Exclusion{device, reason, secondsNow()});
    });
  }
  Acted release(const UnitId& device, const AuditPeer& who) override {
    const auto state = open(StateKind::kExclusions);
    if (!state) return Failure{state.error()};
    if (!state->isExcluded(device)) return Done{};
    return changed(StateKind::kExclusions, "release", device, {}, who,
                   [&](StateDirectory& files) { return files.dropExclusion(device); });
  }
  Acted forget(const Bdf& address, const AuditPeer& who) override {
    return changed(StateKind::kDeclared, "forget", address, {}, who,
                   [&](StateDirectory& files) { return files.dropDeclared(address); });
  }

  Result<std::vector<Exclusion>, std::string> exclusions() override {
    const auto state = open(StateKind::kExclusions);
    if (!state) return Failure{state.error()};
    return inWords(state->exclusions());
  }
  Result<std::vector<DeviceIdentity>, std::string> declared() override {
    const auto state = StateDirectory::openOnly(stateDir_, StateKind::kDeclared);
    // In the gate's container, whose program has no use for it.
    if (!state && (state.error().error == EACCES || state.error().error == EROFS)) {
      std::cerr << "privd holds: what is declared is not known here: "
                << strerror(state.error().error) << "\n";
      return std::vector<DeviceIdentity>();
    }
    if (!state) return Failure{inWords(state.error())};
    return inWords(state->declared());
  }

private:
  template <typename Entries>
  static Result<Entries, std::string> inWords(Result<Entries, StateFailure> listed) {
    if (!listed) return Failure{listed.error().str()};
    return std::move(listed).value();
  }
  std::string inWords(const StateFailure& failure) const {
    return "--state-dir " + stateDir_ + "/" + failure.str();
  }

  Result<StateDirectory, std::string> open(StateKind kind) const {
    auto opened = StateDirectory::openOnly(stateDir_, kind);
    if (!opened) return Failure{inWords(opened.error())};
    return kj::mv(opened).value();
  }

  /// What writes nothing into sysfs does not wait for the log.
  template <typename Change>
  Acted changed(StateKind kind, const char* operation, const UnitId& device, std::string text,
                const AuditPeer& who, Change change) {
    auto opened = open(kind);
    if (!opened) return Failure{opened.error()};
    StateDirectory state = kj::mv(opened).value();
    auto log = AuditLog::open(auditLog_, bootId());
    if (!log && !isAway(log.error().error)) {
      return Failure{"--audit-log " + auditLog_ + ": " + wordsOf(log.error()) +
                     lockersText("/proc", auditLog_)};
    }
    const Result<Done, StateFailure> done = change(state);
    if (!done && done.error().error == EINVAL) {
      return Failure{std::string("the reason has to be one line of at most 200 bytes")};
    }
    if (!done) return Failure{done.error().str()};
    if (!log) return unnoted(operation, log.error());
    AuditLog audit = kj::mv(log).value();
    const auto written = audit.append(AuditNote{who, operation, {device}, std::move(text)});
    if (!written) return unnoted(operation, written.error());
    return Done{};
  }

  static Acted unnoted(const char* operation, const AuditFailure& failure) {
    std::cerr << "privd " << operation
              << ": done, but the audit log cannot be written: " << wordsOf(failure) << "\n";
    return Done{};
  }

  std::string stateDir_;
  std::string auditLog_;
};

}  // namespace

Result<kj::Own<KeepService>, std::string> makeLocalKeepService(const LocalBindingOptions& options) {
  if (geteuid() != 0) return Failure{std::string("only root may do it: run it with sudo")};
  useLogForm(std::nullopt);
  if (mkdir(options.stateDir.c_str(), 0700) != 0 && errno != EEXIST) {
    return Failure{"--state-dir " + options.stateDir + ": " + strerror(errno)};
  }
  return kj::Own<KeepService>(kj::heap<LocalKeepService>(options));
}

}  // namespace vfiogate
