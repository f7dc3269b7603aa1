#pragma once
// Packets of privd's binder, spoken by a taken-over plugind over one channel.

#include "ipc/binder/binder_packets.h"
#include "tests/support/taken_over/captive.h"

#include <kj/common.h>
#include <kj/io.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace vfiogate::test {

/// Says that it has seen each Changed, as an honest peer does, but for the first one if it is told
/// so: the binder tells nothing more then, answers neither.
class BinderSpeaker {
public:
  enum class First : std::uint8_t { kSeen, kUnseen };

  /// Takes the binder's next channel, and what is told first.
  explicit BinderSpeaker(Captive& captive, First first = First::kSeen);
  KJ_DISALLOW_COPY(BinderSpeaker);

  /// How the change ended: "done", "refused", ..., or "hung up".
  std::string bind(const std::vector<Bdf>& members);
  std::string giveBack(const std::vector<Bdf>& members);
  /// What the probe of the group found: "idle", "open", "cannot 2" with the errno, "not allowed",
  /// or "hung up".
  std::string probe(std::uint32_t group);
  /// What the card told: "serial", "none", "cannot 5" with the errno, "not allowed", or "hung up".
  std::string serialOf(const Bdf& device);
  /// The same with a packet that need not be a request.
  std::string exchange(std::string_view packet, int fd = -1);
  /// Waits where the binder has not read what came before. False: it is hung up on.
  bool send(std::string_view packet, int fd = -1);
  /// Sends one more, which the binder may answer.
  bool sendBind(std::uint32_t number, const std::vector<Bdf>& members);
  /// Takes what comes until it is hung up on: "hung up"; "served on" if that does not happen in
  /// `patience`.
  std::string howItEnds(kj::Duration patience = 10 * kj::SECONDS);
  /// What has come and was not taken: "an answer", "news", "hung up", or "nothing".
  std::string next();

  std::string answer;    ///< the last one, in words
  binder::Changed told;  ///< the last one

private:
  Captive& captive_;
  kj::AutoCloseFd channel_;
  std::uint32_t lastNumber_ = 0;
};

}  // namespace vfiogate::test
