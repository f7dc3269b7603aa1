#include "plugind/privd/link/binder_turns.h"

#include <algorithm>
#include <iterator>
#include <utility>
#include <variant>

namespace vfiogate {
namespace {

/// As it is sent.
std::string numbered(binder::Request& request, std::uint32_t number) {
  if (auto* bind = std::get_if<binder::Bind>(&request)) bind->number = number;
  if (auto* back = std::get_if<binder::GiveBack>(&request)) back->number = number;
  if (auto* probe = std::get_if<binder::Probe>(&request)) probe->number = number;
  if (auto* serial = std::get_if<binder::ReadSerial>(&request)) serial->number = number;
  return encode(request);
}

/// Of the group whose drivers it changes; none of the others.
std::vector<Bdf> membersOf(const binder::Request& request) {
  if (const auto* bind = std::get_if<binder::Bind>(&request)) return bind->members;
  if (const auto* back = std::get_if<binder::GiveBack>(&request)) return back->members;
  return {};
}

/// Both ascending.
bool meet(const std::vector<Bdf>& one, const std::vector<Bdf>& other) {
  std::vector<Bdf> both;
  std::ranges::set_intersection(one, other, std::back_inserter(both));
  return !both.empty();
}

}  // namespace

bool BinderTurns::Question::isWaiting() {
  if (asker.is<Answered>()) return asker.get<Answered>()->isWaiting();
  if (asker.is<WasTold>()) return asker.get<WasTold>()->isWaiting();
  return asker.get<WasProbed>()->isWaiting();
}

void BinderTurns::Question::reject(const kj::Exception& why) {
  if (asker.is<Answered>()) return asker.get<Answered>()->reject(kj::cp(why));
  if (asker.is<WasTold>()) return asker.get<WasTold>()->reject(kj::cp(why));
  asker.get<WasProbed>()->reject(kj::cp(why));
}

kj::Promise<binder::Answer> BinderTurns::ask(DriverChange change, std::vector<Bdf> members) {
  auto pair = kj::newPromiseAndFulfiller<binder::Answer>();
  binder::Request request = binder::Bind{0, std::move(members)};
  if (change == DriverChange::kGiveBack) {
    request = binder::GiveBack{0, std::move(std::get<binder::Bind>(request).members)};
  }
  row_.push_back({std::move(request), kj::mv(pair.fulfiller)});
  return kj::mv(pair.promise);
}

kj::Promise<binder::Probed> BinderTurns::probe(IommuGroupId group) {
  auto pair = kj::newPromiseAndFulfiller<binder::Probed>();
  row_.push_back({binder::Probe{0, group}, kj::mv(pair.fulfiller)});
  return kj::mv(pair.promise);
}

kj::Promise<binder::SerialTold> BinderTurns::serialOf(const Bdf& device) {
  auto pair = kj::newPromiseAndFulfiller<binder::SerialTold>();
  row_.push_back({binder::ReadSerial{0, device}, kj::mv(pair.fulfiller)});
  return kj::mv(pair.promise);
}

std::optional<std::string> BinderTurns::next() {
  std::erase_if(row_, [](Question& waits) { return !waits.isWaiting(); });
  if (awaited_.size() >= binder::kMostInFlight) return std::nullopt;
  // The order of one group's changes stays: the first of them is found first.
  const auto free =
      std::ranges::find_if(row_, [this](const Question& waits) { return !clashes(waits.request); });
  if (free == row_.end()) return std::nullopt;
  Question question = std::move(*free);
  row_.erase(free);
  while (awaited_.contains(++lastNumber_)) {
  }
  std::string packet = numbered(question.request, lastNumber_);
  awaited_.emplace(lastNumber_, std::move(question));
  return packet;
}

template <typename Asker, typename Answer>
Result<std::optional<binder::Changed>, std::string> BinderTurns::answer(Answer answer) {
  const auto awaited = awaited_.find(answer.number);
  if (awaited == awaited_.end()) return Failure{std::string("an answer to nothing")};
  if (!awaited->second.asker.template is<Asker>())
    return Failure{std::string("the answer to another")};
  awaited_.extract(awaited).mapped().asker.template get<Asker>()->fulfill(std::move(answer));
  return std::optional<binder::Changed>();
}

Result<std::optional<binder::Changed>, std::string> BinderTurns::take(std::string_view packet) {
  auto message = binder::decodeFromBinder(packet);
  if (!message) return Failure{"a message with " + message.error()};
  binder::FromBinder told = *std::move(message);
  if (auto* changed = std::get_if<binder::Changed>(&told)) {
    return std::optional(std::move(*changed));
  }
  if (const auto* probed = std::get_if<binder::Probed>(&told)) return answer<WasProbed>(*probed);
  if (auto* serial = std::get_if<binder::SerialTold>(&told)) {
    return answer<WasTold>(std::move(*serial));
  }
  return answer<Answered>(std::move(std::get<binder::Answer>(told)));
}

void BinderTurns::end(const kj::Exception& why) {
  for (auto& [number, question] : std::exchange(awaited_, {})) question.reject(why);
  for (Question& question : std::exchange(row_, {})) question.reject(why);
}

bool BinderTurns::clashes(const binder::Request& request) const {
  const auto* probe = std::get_if<binder::Probe>(&request);
  const auto* serial = std::get_if<binder::ReadSerial>(&request);
  const std::vector<Bdf> members = membersOf(request);
  return std::ranges::any_of(awaited_, [&](const auto& one) {
    const auto* other = std::get_if<binder::Probe>(&one.second.request);
    if (probe != nullptr && other != nullptr) return probe->group == other->group;
    const auto* told = std::get_if<binder::ReadSerial>(&one.second.request);
    if (serial != nullptr && told != nullptr) return serial->device == told->device;
    return meet(membersOf(one.second.request), members);
  });
}

}  // namespace vfiogate
