#include "plugind/privd/link/binder_turns.h"

#include <algorithm>
#include <iterator>
#include <utility>
#include <variant>

namespace vfiogate {
namespace {

std::string packetOf(std::uint32_t number, DriverChange change, const std::vector<Bdf>& members) {
  if (change == DriverChange::kBind) return encode(binder::Request(binder::Bind{number, members}));
  return encode(binder::Request(binder::GiveBack{number, members}));
}

/// Both ascending.
bool meet(const std::vector<Bdf>& one, const std::vector<Bdf>& other) {
  std::vector<Bdf> both;
  std::ranges::set_intersection(one, other, std::back_inserter(both));
  return !both.empty();
}

}  // namespace

kj::Promise<binder::Answer> BinderTurns::ask(DriverChange change, std::vector<Bdf> members) {
  auto pair = kj::newPromiseAndFulfiller<binder::Answer>();
  row_.push_back({change, std::move(members), kj::mv(pair.fulfiller)});
  return kj::mv(pair.promise);
}

std::optional<std::string> BinderTurns::next() {
  if (awaited_.size() >= binder::kMostInFlight) return std::nullopt;
  std::erase_if(row_, [](Question& waits) { return !waits.answered->isWaiting(); });
  // The order of one group's changes stays: the first of them is found first.
  const auto free = std::ranges::find_if(
      row_, [this](const Question& waits) { return !isChanging(waits.members); });
  if (free == row_.end()) return std::nullopt;
  Question question = std::move(*free);
  row_.erase(free);
  while (awaited_.contains(++lastNumber_)) {
  }
  std::string packet = packetOf(lastNumber_, question.change, question.members);
  awaited_.emplace(lastNumber_, std::move(question));
  return packet;
}

Result<std::optional<binder::Changed>, std::string> BinderTurns::take(std::string_view packet) {
  auto message = binder::decodeFromBinder(packet);
  if (!message) return Failure{"a message with " + message.error()};
  binder::FromBinder told = *std::move(message);
  if (auto* changed = std::get_if<binder::Changed>(&told)) {
    return std::optional(std::move(*changed));
  }
  auto& answer = std::get<binder::Answer>(told);
  auto awaited = awaited_.extract(answer.number);
  if (awaited.empty()) return Failure{std::string("an answer to nothing")};
  awaited.mapped().answered->fulfill(std::move(answer));
  return std::optional<binder::Changed>();
}

void BinderTurns::end(const kj::Exception& why) {
  for (auto& [number, question] : std::exchange(awaited_, {})) {
    question.answered->reject(kj::cp(why));
  }
  for (Question& question : std::exchange(row_, {})) question.answered->reject(kj::cp(why));
}

bool BinderTurns::isChanging(const std::vector<Bdf>& members) const {
  return std::ranges::any_of(
      awaited_, [&members](const auto& one) { return meet(one.second.members, members); });
}

}  // namespace vfiogate
