#include "netd/dra/slices/slice_publisher.h"

#include "netd/dra/slices/publish_pacing.h"

#include <utility>

namespace vfiogate {
namespace {

constexpr unsigned kTooMany = 429;
/// So many lists without a whole answer are taken to mean that it is too large: what is stored
/// comes in pages, what is in the server's memory may not.
constexpr unsigned kListsInOne = 2;

}  // namespace

SlicePublisher::SlicePublisher(Deps deps)
    : client_(deps.client),
      versions_(deps.versions),
      timer_(deps.timer),
      news_(deps.news),
      node_(std::move(deps.node)),
      draw_(kj::mv(deps.draw)) {}

kj::Promise<KeptFields> SlicePublisher::publish(DevicePool pool) {
  const bool first = !pool_;
  pool_ = std::move(pool);
  auto answer = kj::newPromiseAndFulfiller<KeptFields>();
  std::erase_if(waiting_, [](auto& each) { return !each->isWaiting(); });
  waiting_.push_back(kj::mv(answer.fulfiller));
  wake();
  if (first) {
    running_ = timer_.afterDelay(startDelay(draw_()))
                   .then([this]() { return run(); })
                   .eagerlyEvaluate(nullptr);
  }
  return kj::mv(answer.promise);
}

// ---- The loop ----

kj::Promise<void> SlicePublisher::run() {
  return untilDue()
      .then([this]() { return step(); })
      .catch_([](kj::Exception&& failure) -> Step {
        return Failure{Trouble{failure.getDescription().cStr()}};
      })
      .then([this](Step step) { return after(step); })
      .then([this]() { return run(); });
}

kj::Promise<void> SlicePublisher::untilDue() {
  if (due_) return kj::READY_NOW;
  auto pair = kj::newPromiseAndFulfiller<void>();
  sleeper_ = kj::mv(pair.fulfiller);
  return kj::mv(pair.promise);
}

void SlicePublisher::wake() {
  due_ = true;
  if (sleeper_.get() != nullptr) sleeper_->fulfill();
}

kj::Promise<SlicePublisher::Step> SlicePublisher::step() {
  if (!api_) return readVersion();
  if (!owner_) return readNode();
  if (expired_ || listed_ != selector()) return readPage();
  if (!refusedName_.empty()) return readStranger();
  if (!writes_.empty()) return writeNext();
  return plan();
}

kj::Promise<void> SlicePublisher::after(const Step& step) {
  if (step) return kj::READY_NOW;
  const Trouble& trouble = step.error();
  if (trouble.then != Trouble::Then::kSame) {
    owner_.reset();
    listed_.reset();
    nextPage_.clear();
    newest_ = true;
    writes_.clear();
  }
  if (trouble.then == Trouble::Then::kConflict && conflicts_++ == 0) return kj::READY_NOW;
  tell(trouble.why);
  return timer_.afterDelay(trouble.asked + publishBackoff(++failures_, draw_()));
}

void SlicePublisher::tell(const std::string& why) {
  if (why == told_) return;
  told_ = why;
  news_.poolTroubled(why);
}

// ---- Reading ----

kj::Promise<SlicePublisher::Outcome> SlicePublisher::ask(ApiMethod method, const std::string& path,
                                                         std::string body) {
  return client_.ask(method, path, std::move(body)).then([this](Outcome outcome) {
    // A thing is not there, or nothing of this version is.
    if (hasStatus(outcome, kApiNotFound)) api_.reset();
    return outcome;
  });
}

kj::Promise<SlicePublisher::Step> SlicePublisher::readVersion() {
  return versions_.ask(client_).then([this](ApiVersions::Found found) -> Step {
    if (!found) return Failure{Trouble{found.error(), Trouble::Then::kSame}};
    api_ = *found;
    return Done{};
  });
}

kj::Promise<SlicePublisher::Step> SlicePublisher::readNode() {
  return ask(ApiMethod::kGet, nodePath(node_), {}).then([this](Outcome outcome) -> Step {
    if (!isGood(outcome)) {
      Trouble trouble = troubleOf("cannot read the Node", outcome);
      trouble.then = Trouble::Then::kSame;
      return Failure{std::move(trouble)};
    }
    auto uid = uidFrom(outcome->body);
    if (!uid) return Failure{Trouble{uid.error(), Trouble::Then::kSame}};
    owner_ = SliceOwner{node_, std::move(uid).value()};
    return Done{};
  });
}

kj::Promise<SlicePublisher::Step> SlicePublisher::readPage() {
  if (nextPage_.empty()) view_.begin();
  watching_ = nullptr;
  const SliceSelector asked = selector();
  return ask(ApiMethod::kGet, sliceListPath(asked, nextPage_, newest_), {})
      .then([this, asked](Outcome outcome) { return listed(asked, outcome); });
}

SlicePublisher::Step SlicePublisher::listed(const SliceSelector& asked, const Outcome& outcome) {
  if (!isGood(outcome)) {
    newest_ = newest_ || (!outcome && failures_ + 1 >= kListsInOne);
    Trouble trouble = troubleOf("cannot list ResourceSlices", outcome);
    if (nextPage_.empty()) trouble.then = Trouble::Then::kSame;
    return Failure{std::move(trouble)};
  }
  auto page = slicePageFrom(asked.api, outcome->body);
  if (!page) return Failure{Trouble{page.error()}};
  nextPage_ = page->next;
  view_.add(std::move(page).value());
  if (!nextPage_.empty()) return Done{};
  listed_ = asked;
  newest_ = false;
  expired_ = false;
  watching_ = watch(asked).eagerlyEvaluate(nullptr);
  return Done{};
}

kj::Promise<SlicePublisher::Step> SlicePublisher::readStranger() {
  const std::string path = slicePath(*api_, std::exchange(refusedName_, {}));
  return ask(ApiMethod::kGet, path, {}).then([this, api = *api_](Outcome outcome) -> Step {
    if (hasStatus(outcome, kApiNotFound)) return Done{};
    if (!isGood(outcome)) return Failure{troubleOf("cannot read a ResourceSlice", outcome)};
    auto stranger = sliceFromText(api, outcome->body);
    if (!stranger) return Failure{Trouble{stranger.error()}};
    view_.addStranger(std::move(stranger).value());
    return Done{};
  });
}

// ---- Writing ----

SlicePublisher::Step SlicePublisher::plan() {
  if (disturbed_ && !settled_) {  // whoever changes them is not answered before that
    due_ = false;
    return Done{};
  }
  auto planned = planSlices(*pool_, *owner_, view_.slices(), view_.echoes());
  if (!planned) return Failure{Trouble{planned.error()}};
  writes_.assign(planned->writes.begin(), planned->writes.end());
  const bool repairs = std::exchange(disturbed_, false) && !writes_.empty();
  if (repairs) {
    ++repairs_;
    repaired_ = timer_.now();
  }
  if (writes_.empty()) rest(planned->wanted);
  return Done{};
}

kj::Promise<SlicePublisher::Step> SlicePublisher::writeNext() {
  SliceWrite write = std::move(writes_.front());
  writes_.pop_front();
  const ResourceApi api = listed_->api;
  ApiRequest request = requestOf(api, write);
  writing_ = std::move(write);
  heardOurs_ = false;
  auto asked = ask(request.method, request.path, std::move(request.body));
  return asked.then([this, api](Outcome outcome) {
    SliceWrite done = *std::exchange(writing_, std::nullopt);
    Step step = written(api, done, outcome);
    if (!step && step.error().then == Trouble::Then::kSame) writes_.push_front(std::move(done));
    return step;
  });
}

SlicePublisher::Step SlicePublisher::written(ResourceApi api, const SliceWrite& write,
                                             const Outcome& outcome) {
  if (write.kind == SliceWrite::Kind::kDelete &&
      (isGood(outcome) || hasStatus(outcome, kApiNotFound))) {
    ++written_;
    view_.deleted(write.slice.name);
    return Done{};
  }
  if (!isGood(outcome)) {
    if (refusesCounters(outcome)) answer({.counters = false, .taints = true});
    Trouble trouble = troubleOf("cannot write a ResourceSlice", outcome);
    if (hasStatus(outcome, kTooMany)) trouble.then = Trouble::Then::kSame;
    if (hasStatus(outcome, kApiConflict) || hasStatus(outcome, kApiNotFound)) {
      trouble.then = Trouble::Then::kConflict;
      if (write.kind == SliceWrite::Kind::kCreate) refusedName_ = write.slice.name;
    }
    return Failure{std::move(trouble)};
  }
  auto stored = sliceFromText(api, outcome->body);
  if (!stored) return Failure{Trouble{stored.error()}};
  ++written_;
  view_.wrote(write, *stored);
  return Done{};
}

void SlicePublisher::rest(const std::vector<Slice>& wanted) {
  due_ = false;
  failures_ = 0;
  conflicts_ = 0;
  const std::size_t writes = std::exchange(written_, 0);
  if (writes > 0 || !waiting_.empty() || !told_.empty()) news_.poolStored(wanted.size(), writes);
  told_.clear();
  answer(view_.kept(wanted));
}

void SlicePublisher::answer(KeptFields kept) {
  kept.api = listed_->api;
  for (auto& waiting : waiting_) waiting->fulfill(KeptFields(kept));
  waiting_.clear();
}

}  // namespace vfiogate
