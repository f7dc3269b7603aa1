#include "plugind/loop/memory_readings.h"

#include "plugind/base/log_line.h"

#include <string>
#include <utility>

namespace vfiogate {

MemoryReadings::MemoryReadings(KubeletMemorySource& source, kj::Timer& timer,
                               MemoryListener listener, std::function<bool()> resend)
    : reader_(source),
      timer_(timer),
      listener_(std::move(listener)),
      resend_(std::move(resend)),
      tasks_(*this) {}

void MemoryReadings::beginReconcile() {
  // Not now: the promise of the reconcile before must not be dropped while it runs.
  tasks_.add(kj::evalLater([this]() { startReconcile(); }));
}

void MemoryReadings::startReconcile() {
  const auto versionRead = [this](const CheckpointVersion& version) {
    listener_.versionRead(version, true, std::nullopt);
  };
  reconciliation_ = kj::heap<Reconciliation>(
      reader_, timer_, ReconcileListener{listener_.listRead, versionRead}, resend_);
  reconciling_ =
      reconciliation_->run()
          .then([this](bool proved) { listener_.reconcileEnded(proved); })
          .eagerlyEvaluate([this](kj::Exception&& failure) { taskFailed(kj::mv(failure)); });
}

void MemoryReadings::askList() {
  const auto asked = std::chrono::steady_clock::now();
  tasks_.add(reader_.list().then([this, asked](Result<PodList, std::string> list) {
    if (list) listener_.listRead(*list, asked);
  }));
}

void MemoryReadings::checkpointReplaced() {
  if (reconciliation_.get() != nullptr) reconciliation_->checkpointReplaced();
}

void MemoryReadings::readVersion() {
  unread_ = true;
  if (reading_) return;
  reading_ = true;
  unread_ = false;
  tasks_.add(read().then([this]() {
    reading_ = false;
    if (!unread_) return;
    checkpointReplaced();
    readVersion();
  }));
}

void MemoryReadings::readBeginning() {
  tasks_.add(read());
}

kj::Promise<void> MemoryReadings::read() {
  const auto asked = std::chrono::steady_clock::now();
  return reader_.version().then([this, asked](Result<CheckpointVersion, SocketRefusal> version) {
    if (version) {
      listener_.versionRead(*version, false, asked);
    } else {
      logWarning(LogEvent::kCheckpointUnread, {{"why", version.error().why}});
    }
  });
}

void MemoryReadings::taskFailed(kj::Exception&& exception) {
  logError(LogEvent::kTaskFailed,
           {{"task", "memory_readings"}, {"why", kj::str(exception).cStr()}});
}

}  // namespace vfiogate
