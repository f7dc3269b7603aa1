#pragma once
// The serial numbers of the cards that somebody selects by theirs: what is known, and which card is
// to be asked next. Pure: knows no clock and asks nobody.

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "ipc/types/snapshot.h"
#include "plugind/core/moment.h"

namespace vfiogate {

/// What came of one question.
struct SerialAnswer {
  enum class Found : std::uint8_t {
    kSerial,  ///< `text` is what the card tells
    kNone,    ///< it tells none
    kFailed,  ///< it could not be read; it is asked again after a pause
    kNobody,  ///< nobody is there who reads it, or may: asked again when that is otherwise
  };
  Found found = Found::kNone;
  std::string text;  ///< of kFailed and kNobody why, for people
};

/// A card is asked once, and what it said stays known for as long as it is there. One that left and
/// came back, or is another, is asked anew: somebody may have changed it.
class SerialNumbers {
public:
  /// Cards that are asked at the same time, as each may take a minute.
  static constexpr std::size_t kMostAsked = 2;

  /// A question that is on its way.
  struct Question {
    Bdf device;
    std::uint64_t number;
  };

  /// What is there now.
  void seen(const Snapshot& hardware);
  /// Nobody sees any more what is there: all may be others when somebody does again.
  void forget();
  /// Those whose serial number is asked for from now on.
  void want(std::set<Bdf> devices) { wanted_ = std::move(devices); }
  /// Another binder is there, or other rights: whom nobody could ask is asked again.
  void readerCame();

  /// Whom to ask now. They are on their way then.
  std::vector<Question> next(Instant now);
  /// When next() may say more without anything else. Null: never.
  std::optional<Instant> nextDeadline() const;
  /// False: nothing is known otherwise than before.
  bool told(const Question& question, SerialAnswer answer, Instant now);

  /// Empty: it tells none. Null: that is not known.
  std::optional<std::string_view> of(const Bdf& device) const;
  /// Why it is not known, for people.
  std::string_view whyUnknown(const Bdf& device) const;
  /// Those of all cards that tell one.
  std::map<Bdf, std::string> known() const;

private:
  /// What tells one card from the next without asking it.
  using Identity = std::tuple<std::optional<std::uint16_t>, std::optional<std::uint16_t>,
                              std::optional<std::uint16_t>, std::optional<std::uint16_t>,
                              std::optional<std::uint32_t>, std::optional<std::uint8_t>>;

  struct Card {
    Identity identity{};
    std::optional<std::string> serial{};      ///< empty text: it tells none
    std::optional<std::uint64_t> question{};  ///< on its way
    std::optional<Instant> again{};           ///< when it is asked again; null: when somebody can
    std::string why{};                        ///< of the last failure; empty: there was none
    unsigned failures = 0;
  };

  static Identity identityOf(const PciDevice& device);
  std::size_t asked() const;
  bool isDue(const Bdf& device, Instant now) const;

  std::map<Bdf, Identity> there_;
  std::map<Bdf, Card> cards_;  ///< those that were asked
  std::set<Bdf> wanted_;
  std::uint64_t lastQuestion_ = 0;
};

}  // namespace vfiogate
