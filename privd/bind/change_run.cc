#include "privd/bind/change_run.h"

#include <kj/vector.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace vfiogate {
namespace {

/// Of the writes that take a change back, while too many descriptors are under way: a minute.
constexpr unsigned kUndoTries = 30;

std::string lineOf(const SysfsWrite& write) {
  return "'" + (write.text == "\n" ? std::string("\\n") : write.text) + "' > " + write.attribute;
}

/// Why the kernel refused, where errno's own words mislead; empty: they do not.
std::string whyNoVfs(int error) {
  switch (error) {
    case ENOENT:
      return "its driver makes no virtual functions";
    case ENOMEM:
      return "the machine has no room for their memory (firmware: above 4G decoding; kernel: "
             "pci=realloc)";
    case EBUSY:
      return "somebody else made some, or the bridge above it has no bus numbers for them";
    default:
      return {};
  }
}

/// One plan under way.
class ChangeRun {
public:
  ChangeRun(const SysfsRoot& sysfs, Writer& writer, const DeviceLocks& locks, Plan plan,
            kj::Vector<kj::AutoCloseFd> groupNodes)
      : sysfs_(sysfs),
        writer_(writer),
        locks_(locks),
        plan_(std::move(plan)),
        groupNodes_(kj::mv(groupNodes)) {
    for (const Bdf& address : plan_.changed()) before_[address] = driverOf(sysfs_, address);
    for (const Step& step : plan_.steps) {
      if (step.vfsAfter) vfsBefore_[step.write.address] = vfsOf(step.write.address);
    }
  }

  kj::Promise<RunResult> run() {
    if (next_ == plan_.steps.size()) return std::move(result_);
    releaseNode();
    const Step& step = plan_.steps[next_];
    return write(step.write, patienceFor(step))
        .then([this, &step](WriteOutcome outcome) -> kj::Promise<RunResult> {
          const std::string wrong = judge(step, outcome);
          if (wrong.empty()) {
            if (isProbe(step.write) && driverOf(sysfs_, step.write.address).empty()) {
              result_.remarks.push_back(step.write.address.str() + ": has no driver now");
            }
            ++next_;
            return run();
          }
          fail(step, outcome, wrong);
          return undo();
        });
  }

private:
  /// A driver makes virtual functions one after the other, and each is given to a driver of its own
  /// before the kernel comes back.
  static kj::Duration patienceFor(const Step& step) {
    return Writer::kPatience + step.vfsAfter.value_or(0) * kPatiencePerVf;
  }

  /// What is wrong after the step; empty: nothing.
  std::string judge(const Step& step, const WriteOutcome& outcome) const {
    const bool failed = outcome.kind == WriteOutcome::Kind::kFailed;
    if (failed && step.vfsAfter && !whyNoVfs(outcome.error).empty()) return whyNoVfs(outcome.error);
    if (failed || outcome.kind == WriteOutcome::Kind::kStuck ||
        outcome.kind == WriteOutcome::Kind::kRefused) {
      return wordsOf(outcome);
    }
    if (step.vfsAfter) {
      const std::uint32_t there = vfsOf(step.write.address);
      if (there == *step.vfsAfter) return {};
      return outcome.kind == WriteOutcome::Kind::kDied
                 ? wordsOf(outcome)
                 : "the kernel reported success, but there are " + std::to_string(there);
    }
    const std::string now = driverOf(sysfs_, step.write.address);
    if (isProbe(step.write) && now.find("vfio") != std::string::npos) {
      return now + " takes it again: its ids name it (" + now +
             ".ids=, new_id); write them to its remove_id first";
    }
    if (!step.driverAfter) return {};
    if (now == *step.driverAfter) return {};
    return outcome.kind == WriteOutcome::Kind::kDied
               ? wordsOf(outcome)
               : "the kernel reported success, but its driver is " + shown(now);
  }

  /// After which any driver will do that offers no VFIO.
  static bool isProbe(const SysfsWrite& write) {
    return write.attribute.ends_with("drivers_probe");
  }

  static std::string shown(const std::string& driver) { return driver.empty() ? "none" : driver; }

  void fail(const Step& step, const WriteOutcome& outcome, const std::string& wrong) {
    result_.outcome = ChangeOutcome::kFailed;
    result_.error = step.write.address.str() + ": " + lineOf(step.write) + ": " + wrong;
    if (outcome.kind == WriteOutcome::Kind::kStuck) markStuck(step.write);
    result_.remarks.clear();  // of what is taken back
    const std::string now = driverOf(sysfs_, step.write.address);
    const bool taken = isProbe(step.write) && !now.empty() && now != before_.at(step.write.address);
    // What became of a write whose process died is not known: it is taken back, too.
    const bool too = taken || outcome.kind == WriteOutcome::Kind::kDied;
    undo_ = plan_.undoOf(too ? next_ + 1 : next_);
  }

  void markStuck(const SysfsWrite& write) {
    result_.stuck.insert(write.address);
    result_.differences.push_back(write.address.str() + ": " + lineOf(write) +
                                  " has not come back; it may still happen");
  }

  kj::Promise<RunResult> undo() {
    if (undoNext_ == undo_.size()) return finish();
    const SysfsWrite& back = undo_[undoNext_++];
    if (result_.stuck.contains(back.address)) {
      result_.differences.push_back(back.address.str() + ": " + lineOf(back) +
                                    ": not tried: a write is stuck there");
      return undo();
    }
    return write(back).then([this, &back](WriteOutcome outcome) {
      if (outcome.error == ETOOMANYREFS && ++undoTries_ < kUndoTries) {
        --undoNext_;
        return undo();
      }
      if (outcome.kind == WriteOutcome::Kind::kStuck) markStuck(back);
      // Whether the driver is the old one is read at the end; an override is not readable safely.
      if (outcome.kind != WriteOutcome::Kind::kWritten && isOverride(back)) {
        result_.differences.push_back(back.address.str() + ": " + lineOf(back) + ": " +
                                      wordsOf(outcome));
      }
      return undo();
    });
  }

  static bool isOverride(const SysfsWrite& write) {
    return write.attribute.ends_with("driver_override");
  }

  /// Whether all is as it was is read, not concluded.
  RunResult finish() {
    for (const auto& [address, driver] : before_) {
      if (result_.stuck.contains(address)) continue;
      const std::string now = driverOf(sysfs_, address);
      if (now == driver) continue;
      result_.differences.push_back(address.str() + ": its driver was " + shown(driver) +
                                    " and is " + shown(now));
    }
    for (const auto& [address, count] : vfsBefore_) {
      const std::uint32_t now = vfsOf(address);
      if (result_.stuck.contains(address) || now == count) continue;
      result_.differences.push_back(address.str() + ": it had " + std::to_string(count) +
                                    " virtual functions and has " + std::to_string(now));
    }
    if (!result_.stuck.empty()) {
      result_.outcome = ChangeOutcome::kStuck;
    } else if (!result_.differences.empty()) {
      result_.outcome = ChangeOutcome::kLeftChanged;
    }
    return std::move(result_);
  }

  /// Counted: `sriov_numvfs` may hang.
  std::uint32_t vfsOf(const Bdf& address) const {
    const auto names = sysfs_.names(deviceAttribute(address, ""));
    if (!names) return 0;
    return static_cast<std::uint32_t>(std::ranges::count_if(
        *names, [](const std::string& name) { return name.starts_with("virtfn"); }));
  }

  kj::Promise<WriteOutcome> write(const SysfsWrite& what,
                                  kj::Duration patience = Writer::kPatience) {
    auto attribute = sysfs_.openForWriting(what.attribute);
    if (!attribute) {
      return WriteOutcome{WriteOutcome::Kind::kFailed, attribute.error().error};
    }
    return writer_.write(what.address.str().c_str(), kj::mv(attribute).value(), what.text,
                         locks_.at(what.address).get(), patience);
  }

  void releaseNode() {
    const auto rest = plan_.steps.begin() + static_cast<std::ptrdiff_t>(next_);
    if (std::none_of(rest, plan_.steps.end(), [](const Step& step) { return step.fromVfio; })) {
      groupNodes_.clear();
    }
  }

  const SysfsRoot& sysfs_;
  Writer& writer_;
  const DeviceLocks& locks_;
  const Plan plan_;
  kj::Vector<kj::AutoCloseFd> groupNodes_;
  std::map<Bdf, std::string> before_;
  std::map<Bdf, std::uint32_t> vfsBefore_;
  std::size_t next_ = 0;
  std::vector<SysfsWrite> undo_;
  std::size_t undoNext_ = 0;
  unsigned undoTries_ = 0;
  RunResult result_;
};

}  // namespace

kj::Promise<RunResult> carryOut(const SysfsRoot& sysfs, Writer& writer, const DeviceLocks& locks,
                                Plan plan, kj::Vector<kj::AutoCloseFd> groupNodes) {
  auto run = kj::heap<ChangeRun>(sysfs, writer, locks, std::move(plan), kj::mv(groupNodes));
  auto running = run->run();
  return running.attach(kj::mv(run));
}

std::string driverOf(const SysfsRoot& sysfs, const Bdf& address) {
  return sysfs.linkName(deviceAttribute(address, "driver"));
}

std::string wordsOf(const WriteOutcome& outcome) {
  switch (outcome.kind) {
    case WriteOutcome::Kind::kWritten:
      return "written";
    case WriteOutcome::Kind::kFailed:
      return strerror(outcome.error);
    case WriteOutcome::Kind::kDied:
      return "the process that wrote it died";
    case WriteOutcome::Kind::kStuck:
      return "the kernel has not come back from it";
    case WriteOutcome::Kind::kRefused:
      if (outcome.error == EBUSY) return "not tried: too many writes are stuck";
      return std::string("not tried: the fork server could not take it: ") +
             strerror(outcome.error);
  }
  return {};
}

}  // namespace vfiogate
