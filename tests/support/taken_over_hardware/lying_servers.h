#pragma once
// What plugind asks the hardware process, answered as the attacker likes.

#include "ipc/schema/helper.capnp.h"
#include "ipc/types/snapshot_delta.h"
#include "tests/support/taken_over_hardware/hardware_captive.h"

#include <capnp/rpc-twoparty.h>

#include <cstdint>
#include <string>

namespace vfiogate::test {

/// How it answers, where not as an honest one.
struct Story {
  Snapshot hardware;                          ///< what a reread of any group sees of it
  std::uint16_t protocol = schema::PROTOCOL;  ///< the only one that it enters
  bool rereads = true;                        ///< false: that is never answered
  bool enters = true;                         ///< false: the same
};

/// One connection to plugind on which it serves.
class Liar {
public:
  Liar(HardwareCaptive& captive, Story story);
  KJ_DISALLOW_COPY(Liar);

  /// Until plugind watches. False: it hung up.
  bool isWatched();
  /// Without waiting.
  kj::Promise<void> tell(const Update& update);
  /// Waits for it to be taken. False: it hung up.
  bool tellAndWait(const Update& update);
  /// From now on nothing that plugind sends is taken.
  void readNoMore() { hears_.deaf = true; }
  /// Lets what was told go out.
  void turn() { captive_.pause(0 * kj::SECONDS); }
  bool isOver() const { return over_; }
  /// Whether plugind hangs up: "hung up" or "served on".
  std::string howItEnds(kj::Duration patience = 12 * kj::SECONDS);

  static constexpr std::uint64_t kEpoch = 77;
  std::uint64_t generation = 1;
  unsigned watches = 0;  ///< how often plugind asked for the whole
  kj::Maybe<schema::Observer::Client> observer;

private:
  /// A stream that may stop to read.
  class Hearing final : public kj::AsyncIoStream {
  public:
    explicit Hearing(kj::Own<kj::AsyncIoStream> inner) : inner_(kj::mv(inner)) {}
    kj::Promise<std::size_t> tryRead(void* buffer, std::size_t least, std::size_t most) override {
      if (deaf) return kj::NEVER_DONE;
      return inner_->tryRead(buffer, least, most);
    }
    kj::Promise<void> write(const void* buffer, std::size_t size) override {
      return inner_->write(buffer, size);
    }
    kj::Promise<void> write(kj::ArrayPtr<const kj::ArrayPtr<const kj::byte>> pieces) override {
      return inner_->write(pieces);
    }
    kj::Promise<void> whenWriteDisconnected() override { return inner_->whenWriteDisconnected(); }
    void shutdownWrite() override { inner_->shutdownWrite(); }

    bool deaf = false;

  private:
    kj::Own<kj::AsyncIoStream> inner_;
  };

  HardwareCaptive& captive_;
  Hearing hears_;
  const Story story_;
  capnp::TwoPartyVatNetwork network_;
  capnp::RpcSystem<capnp::rpc::twoparty::VatId> rpc_;
  bool over_ = false;
  kj::Promise<void> left_;
};

}  // namespace vfiogate::test
