// Writes the seeds that are committed beside this file: make_seeds tests/fuzz/corpus

#include "ipc/codec/snapshot_codec.h"
#include "tests/fuzz/seeds/seed_files.h"
#include "tests/support/random_snapshot.h"

#include <iostream>

namespace vfiogate {
namespace {

using path = SeedPath;

void writeUpdate(const path& file, const Update& update) {
  capnp::MallocMessageBuilder message;
  encode(update, message.initRoot<schema::Update>(), noControl);
  writeSeed(file, capnp::messageToFlatArray(message).asBytes());
}

void writeAll(const path& corpus) {
  writeAnswers(corpus);
  writeGateRequests(corpus / "gate_requests_fuzz");
  writeGateAnswers(corpus / "gate_answers_fuzz");
  writeBinderMessages(corpus / "binder_messages_fuzz");
  writeBinderOrders(corpus / "binder_orders_fuzz");
  RandomSnapshots snapshots(1);
  Snapshot before;
  const Snapshot after = snapshots.draw();
  writeUpdate(corpus / "decode_update_fuzz/empty", {1, 1, before});
  writeUpdate(corpus / "decode_update_fuzz/full", {1, 2, after});
  writeUpdate(corpus / "decode_update_fuzz/grown", {1, 2, UpdateDelta{1, diff(before, after)}});
  writeUpdate(corpus / "decode_update_fuzz/shrunk", {1, 3, UpdateDelta{2, diff(after, before)}});

  const path talks = corpus / "metered_stream_fuzz";
  writeTalk(talks / "enter", [](RawPeer& peer) { peer.enter(); });
  writeTalk(talks / "calls", [](RawPeer& peer) {
    peer.enter();
    peer.callReread(RawPeer::kFirstFree);
    peer.finish(RawPeer::kFirstFree, true);
    peer.callDiscovery(RawPeer::kFirstFree + 1);
    peer.finish(RawPeer::kFirstFree + 1, false);
  });
  writeTalk(talks / "floods", [](RawPeer& peer) {
    peer.enter();
    for (std::uint32_t q = RawPeer::kFirstFree; q < 40; ++q) peer.callDiscovery(q);
  });
}

}  // namespace
}  // namespace vfiogate

int main(int argc, char** argv) {
  if (argc != 2) {
    std::cerr << "usage: make_seeds DIRECTORY\n";
    return 2;
  }
  vfiogate::writeAll(argv[1]);
  return 0;
}
