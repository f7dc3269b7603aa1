#include "plugind/core/status/known_codes.h"

#include "ipc/types/viability.h"
#include "plugind/core/ledger/ledger_view.h"

#include <array>

namespace vfiogate {
namespace {

/// Beside those of the hardware, of privd's guards and of the state of a group.
constexpr std::array<std::string_view, 21> kOffers{
    "offered",    "unmatched",    "excluded",     "companion",      "segment",
    "bad-name",   "two-settings", "represented",  "gone",           "flapping",
    "binding",    "bind-failed",  "cdi",          "foreign-ids",    "resting",
    "privd-away", "not-adopted",  "pf-allocated", "set-incomplete", "serial-unknown",
    "unit-size"};
constexpr std::array<std::string_view, 29> kRefusals{
    "being-allocated", "bind-failed", "cancelled",     "cannot-probe",
    "cannot-tell",     "cdi",         "claim-gone",    "disputed",
    "forgotten",       "foreign",     "foreign-ids",   "group-allocated",
    "held-by-other",   "not-adopted", "not-recorded",  "not-served",
    "not-shown",       "not-viable",  "other-devices", "other-hardware",
    "pf-allocated",    "privd-away",  "returning",     "sets-overlap",
    "sibling-refused", "stale-nodes", "starting",      "still-open",
    "timed-out"};
constexpr std::array<std::string_view, 29> kEvents{
    "adopted",          "allocated",   "allocated-again", "bind-failed",    "bound",
    "claim-gone",       "closed",      "disputed",        "foreign",        "foreign-ids",
    "foreign-ids-gone", "gone",        "identified",      "kubelet-forgot", "ledger-adopted",
    "offered",          "recorded",    "refused",         "regrouped",      "released",
    "released-open",    "remembered",  "restored",        "return-failed",  "returned",
    "started",          "unconfirmed", "unprepared",      "withheld"};

constexpr std::string_view kGuardPrefix = "guard-";

constexpr std::array kNotFree{Holding::kTaking,    Holding::kAnswered,  Holding::kAllocated,
                              Holding::kForgotten, Holding::kLingering, Holding::kForeign,
                              Holding::kReturning};

}  // namespace

std::vector<std::string> knownOfferReasons() {
  std::vector<std::string> codes(kOffers.begin(), kOffers.end());
  const auto last = static_cast<unsigned>(Obstacle::kNoNode);
  for (unsigned obstacle = 1; obstacle <= last; ++obstacle) {
    codes.emplace_back(reasonCode(static_cast<Obstacle>(obstacle)));
  }
  for (unsigned guard = 0; guard < kGuards; ++guard) {
    codes.push_back(std::string(kGuardPrefix) + std::string(nameOf(static_cast<Guard>(guard))));
  }
  for (const Holding holding : kNotFree) codes.push_back("group-" + std::string(nameOf(holding)));
  return codes;
}

std::vector<std::string> knownRefusals() {
  return {kRefusals.begin(), kRefusals.end()};
}

std::vector<std::string> knownJournalEvents() {
  return {kEvents.begin(), kEvents.end()};
}

std::string headOf(std::string_view code) {
  return std::string(code.substr(0, code.find(':')));
}

std::optional<Guard> guardIn(std::string_view reason) {
  reason = reason.substr(reason.find(':') + 1);
  if (!reason.starts_with(kGuardPrefix)) return std::nullopt;
  return guardNamed(reason.substr(kGuardPrefix.size()));
}

}  // namespace vfiogate
