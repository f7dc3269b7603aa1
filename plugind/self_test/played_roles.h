#pragma once
// privd's gate and its hardware process as the self-test plays them.

#include "ipc/gate/gate_answers.h"
#include "ipc/gate/gate_requests.h"
#include "ipc/schema/helper.capnp.h"
#include "plugind/self_test/played_privd.h"

#include <kj/async-unix.h>
#include <kj/async.h>
#include <kj/io.h>

namespace vfiogate {

/// Answers what plugind asks over one channel: every wish is granted, and all lists are empty. One
/// thread only.
class PlayedGate {
public:
  /// Borrows `port` and `places`.
  PlayedGate(kj::UnixEventPort& port, kj::AutoCloseFd channel, const ScratchPlaces& places);

  /// Until plugind leaves.
  kj::Promise<void> serve();

private:
  struct Reply {
    gate::Answer answer;
    kj::Maybe<kj::AutoCloseFd> fd;
  };

  void answer(const gate::Request& request);
  Reply replyTo(const gate::Request& request) const;
  Reply listening(const gate::Listen& request) const;
  Reply dialled(const gate::Dial& request) const;

  const ScratchPlaces& places_;
  const kj::AutoCloseFd channel_;
  kj::UnixEventPort::FdObserver readable_;
};

/// What a connection of the hardware process's reaches first: the whole of it is one device in a
/// group of its own.
schema::Handshake::Client playedHardware();

}  // namespace vfiogate
