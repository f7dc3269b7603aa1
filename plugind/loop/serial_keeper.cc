#include "plugind/loop/serial_keeper.h"

#include "plugind/base/log_line.h"

#include <chrono>
#include <utility>

namespace vfiogate {

SerialKeeper::SerialKeeper(PrivdLink& privd, kj::Timer& timer, kj::Function<void()> changed)
    : privd_(privd), changed_(kj::mv(changed)), alarm_(timer, [this]() { ask(); }), tasks_(*this) {}

void SerialKeeper::seen(const Settings& settings, const Snapshot& hardware) {
  if (!wantsSerials(settings)) return numbers_.forget();
  numbers_.seen(hardware);
}

void SerialKeeper::sorted(const ResourceCatalog& catalog) {
  numbers_.want(catalog.unknownSerials);
  ask();
}

void SerialKeeper::binderChanged() {
  numbers_.readerCame();
  ask();
}

void SerialKeeper::ask() {
  for (const SerialNumbers::Question& question : numbers_.next(std::chrono::steady_clock::now())) {
    tasks_.add(privd_.serialOf(question.device).then([this, question](SerialAnswer answer) {
      const bool changed =
          numbers_.told(question, std::move(answer), std::chrono::steady_clock::now());
      ask();
      if (changed) changed_();
    }));
  }
  alarm_.set(numbers_.nextDeadline());
}

void SerialKeeper::taskFailed(kj::Exception&& exception) {
  logError(LogEvent::kTaskFailed, {{"task", "serial_keeper"}, {"why", kj::str(exception).cStr()}});
}

}  // namespace vfiogate
