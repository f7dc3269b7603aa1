#include "plugind/privd/gate_turns.h"

#include <utility>
#include <variant>

namespace vfiogate {

kj::Promise<GateReply> GateTurns::ask(const gate::Request& request) {
  auto pair = kj::newPromiseAndFulfiller<GateReply>();
  row_.push_back({gate::encode(request), kj::mv(pair.fulfiller)});
  return kj::mv(pair.promise);
}

std::optional<std::string> GateTurns::next() {
  if (awaits()) return std::nullopt;
  while (!row_.empty()) {
    Question question = kj::mv(row_.front());
    row_.pop_front();
    if (!question.answered->isWaiting()) continue;
    awaited_ = kj::mv(question.answered);
    return std::move(question.packet);
  }
  return std::nullopt;
}

Result<std::optional<gate::Changed>, std::string> GateTurns::take(std::string_view packet,
                                                                  kj::Maybe<kj::AutoCloseFd> fd) {
  auto message = gate::decodeFromGate(packet);
  if (!message) return Failure{"a message with " + message.error()};
  if (const auto* changed = std::get_if<gate::Changed>(&*message)) return std::optional(*changed);
  if (!awaits()) return Failure{std::string("an answer to nothing")};
  Answered answered = kj::mv(awaited_);
  answered->fulfill({std::get<gate::Answer>(*std::move(message)), kj::mv(fd)});
  return std::optional<gate::Changed>();
}

void GateTurns::end(const kj::Exception& why) {
  if (awaits()) awaited_->reject(kj::cp(why));
  awaited_ = nullptr;
  for (Question& question : std::exchange(row_, {})) question.answered->reject(kj::cp(why));
}

}  // namespace vfiogate
