#pragma once
// Packets of privd's gate, spoken by a taken-over plugind over one channel.

#include "ipc/gate/gate_answers.h"
#include "ipc/gate/gate_requests.h"
#include "tests/support/taken_over/captive.h"

#include <kj/common.h>
#include <kj/io.h>

#include <functional>
#include <string>
#include <string_view>

namespace vfiogate::test {

/// Says that it has seen each Changed, as an honest peer does.
class GateSpeaker {
public:
  enum class Begins : std::uint8_t { kEntered, kStrange };

  /// Takes the gate's next channel, and enters unless it stays a stranger.
  explicit GateSpeaker(Captive& captive, Begins begins = Begins::kEntered);
  KJ_DISALLOW_COPY(GateSpeaker);

  /// How the request ended: "done", "tooMany", ..., or "hung up".
  std::string ask(const gate::Request& request);
  /// The same with a packet that need not be a request.
  std::string exchange(std::string_view packet, int fd = -1);
  /// Waits where the gate has not read what came before. False: it is hung up on.
  bool send(std::string_view packet, int fd = -1);
  /// Takes what comes until it is hung up on. Returns "hung up".
  std::string awaitEnd();
  /// Returns as soon as it is told of files that are `like` this.
  void awaitFiles(const std::function<bool(const gate::WatchedFiles&)>& like);

  gate::Answer answer;            ///< the last one
  kj::Maybe<kj::AutoCloseFd> fd;  ///< that came with it
  gate::WatchedFiles files;       ///< as they were told last

private:
  enum class Heard : std::uint8_t { kAnswer, kChanged, kEnd };

  void enter();
  /// Waits for the next packet, and takes it.
  Heard hear();

  Captive& captive_;
  kj::AutoCloseFd channel_;
};

}  // namespace vfiogate::test
