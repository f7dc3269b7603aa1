#include "plugind/core/resource/serial_numbers.h"

#include <algorithm>
#include <utility>

#include "ipc/base/backoff.h"

namespace vfiogate {
namespace {

constexpr std::chrono::seconds kFirstPause(5);
constexpr std::chrono::seconds kLongestPause(600);

}  // namespace

SerialNumbers::Identity SerialNumbers::identityOf(const PciDevice& device) {
  return {device.vendor,    device.device,    device.subvendor,
          device.subdevice, device.classCode, device.revision};
}

void SerialNumbers::seen(const Snapshot& hardware) {
  there_.clear();
  for (const auto& [address, device] : hardware.devices) {
    there_.emplace_hint(there_.end(), address, identityOf(device));
  }
  std::erase_if(cards_, [this](const auto& entry) {
    const auto now = there_.find(entry.first);
    return now == there_.end() || now->second != entry.second.identity;
  });
}

void SerialNumbers::forget() {
  there_.clear();
  wanted_.clear();
  cards_.clear();
}

void SerialNumbers::readerCame() {
  for (auto& [device, card] : cards_) {
    if (card.serial || card.question) continue;
    card.failures = 0;
    card.again = Instant::min();
  }
}

bool SerialNumbers::isDue(const Bdf& device, Instant now) const {
  if (!there_.contains(device)) return false;
  const auto card = cards_.find(device);
  if (card == cards_.end()) return true;
  const Card& asked = card->second;
  return !asked.serial && !asked.question && asked.again && *asked.again <= now;
}

std::size_t SerialNumbers::asked() const {
  return static_cast<std::size_t>(std::ranges::count_if(
      cards_, [](const auto& entry) { return entry.second.question.has_value(); }));
}

std::vector<SerialNumbers::Question> SerialNumbers::next(Instant now) {
  std::vector<Question> questions;
  for (const Bdf& device : wanted_) {
    if (asked() == kMostAsked) break;
    if (!isDue(device, now)) continue;
    Card& card = cards_.try_emplace(device).first->second;
    card.identity = there_.at(device);
    card.question = ++lastQuestion_;
    questions.push_back({device, lastQuestion_});
  }
  return questions;
}

std::optional<Instant> SerialNumbers::nextDeadline() const {
  std::optional<Instant> first;
  if (asked() == kMostAsked) return first;  // an answer comes before
  for (const Bdf& device : wanted_) {
    const auto card = cards_.find(device);
    if (card == cards_.end() || card->second.question || !card->second.again) continue;
    if (!first || *card->second.again < *first) first = card->second.again;
  }
  return first;
}

bool SerialNumbers::told(const Question& question, SerialAnswer answer, Instant now) {
  const auto found = cards_.find(question.device);
  // What was asked of a card that left since says nothing of the one that is there.
  if (found == cards_.end() || found->second.question != question.number) return false;
  Card& card = found->second;
  card.question.reset();
  card.again.reset();
  switch (answer.found) {
    case SerialAnswer::Found::kSerial:
      card.serial = std::move(answer.text);
      return true;
    case SerialAnswer::Found::kNone:
      card.serial.emplace();
      return true;
    case SerialAnswer::Found::kFailed:
      card.again = now + doubled(kFirstPause, card.failures++, kLongestPause);
      break;
    case SerialAnswer::Found::kNobody:
      break;
  }
  const bool isNews = card.why != answer.text;
  card.why = std::move(answer.text);
  return isNews;
}

std::optional<std::string_view> SerialNumbers::of(const Bdf& device) const {
  const auto card = cards_.find(device);
  if (card == cards_.end() || !card->second.serial) return std::nullopt;
  return *card->second.serial;
}

std::string_view SerialNumbers::whyUnknown(const Bdf& device) const {
  const auto card = cards_.find(device);
  if (card == cards_.end() || card->second.why.empty()) return "the card is being asked";
  return card->second.why;
}

std::map<Bdf, std::string> SerialNumbers::known() const {
  std::map<Bdf, std::string> known;
  for (const auto& [device, card] : cards_) {
    if (card.serial && !card.serial->empty()) known.emplace(device, *card.serial);
  }
  return known;
}

}  // namespace vfiogate
