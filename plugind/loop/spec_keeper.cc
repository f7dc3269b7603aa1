#include "plugind/loop/spec_keeper.h"

#include "plugind/base/log_line.h"

#include <kj/debug.h>

#include <utility>

namespace vfiogate {
namespace {

constexpr BackoffRange<kj::Duration> kRetries{1 * kj::SECONDS, 30 * kj::SECONDS};
/// While all is well.
constexpr auto kRest = 60 * kj::SECONDS;
constexpr const char* kTooMany =
    "privd writes at most 64 CDI specs, of 4096 devices in all: name fewer resources";

void tellNews(const StaticSpecs& before, const StaticSpecs& now) {
  for (const auto& [resource, state] : now) {
    const auto earlier = before.find(resource);
    const bool same = earlier != before.end() && earlier->second == state;
    if (same) continue;
    if (state.trouble.empty()) {
      logInfo(LogEvent::kSpecInPlace,
              {{"resource", resource.str()}, {"devices", state.nodes.size()}});
    } else if (earlier == before.end() || earlier->second.trouble != state.trouble) {
      logError(LogEvent::kSpecMissing, {{"resource", resource.str()},
                                        {"why", state.trouble},
                                        {"then", "its free devices are not offered"}});
    }
  }
}

}  // namespace

SpecKeeper::SpecKeeper(SpecStore& privd, kj::Timer& timer, kj::Function<void()> settled)
    : privd_(privd), timer_(timer), settled_(kj::mv(settled)), retries_(kRetries), tasks_(*this) {}

bool SpecKeeper::settle(const SpecPlan& plan) {
  if (!there_) return true;
  if (asking_) return false;
  if (told_ && plan == plan_) return true;
  plan_ = plan;
  ask();
  if (!plan_.specs.empty()) return false;
  specs_.clear();
  return true;
}

void SpecKeeper::ask() {
  asking_ = true;
  again_ = nullptr;
  tasks_.add(
      privd_.declareSpecs(plan_.specs).then([this, ends = ends_](std::optional<SpecAnswer> answer) {
        if (ends != ends_) return;  // it is another privd by now
        asking_ = false;
        if (answer) answered(*std::move(answer));
      }));
}

void SpecKeeper::answered(SpecAnswer answer) {
  told_ = true;
  for (const ResourceName& resource : plan_.tooMany) {
    answer.specs.emplace(resource, SpecState{kTooMany, {}});
  }
  tellNews(specs_, answer.specs);
  specs_ = std::move(answer.specs);
  if (answer.passing) {
    askAfter(retries_.next());
  } else {
    retries_.reset();
    if (!plan_.specs.empty()) askAfter(kRest);
  }
  settled_();
}

void SpecKeeper::askAfter(kj::Duration pause) {
  again_ = timer_.afterDelay(pause)
               .then([this]() {
                 tasks_.add(kj::evalLater([this]() {
                   told_ = false;
                   settled_();
                 }));
               })
               .eagerlyEvaluate(nullptr);
}

void SpecKeeper::privdWent() {
  there_ = false;
  asking_ = false;
  told_ = false;
  ++ends_;
}

void SpecKeeper::taskFailed(kj::Exception&& exception) {
  logError(LogEvent::kTaskFailed, {{"task", "spec_keeper"}, {"why", kj::str(exception).cStr()}});
}

}  // namespace vfiogate
