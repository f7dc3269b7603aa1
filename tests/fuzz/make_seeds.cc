// Writes the seeds that are committed beside this file: make_seeds tests/fuzz/corpus

#include "ipc/codec/request_messages.h"
#include "ipc/codec/snapshot_codec.h"
#include "tests/fuzz/seed_files.h"
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

void writeDeclaration(const path& file, capnp::uint specs) {
  capnp::MallocMessageBuilder message;
  auto declared = message.initRoot<schema::Session::DeclareSpecsParams>().initSpecs(specs);
  for (capnp::uint i = 0; i < specs; ++i) {
    declared[i].setResource("vfiogate.dev/r" + std::to_string(i));
    declared[i].setWholeGroups(i % 2 == 1);
    auto devices = declared[i].initDevices(i + 1);
    for (capnp::uint k = 0; k < devices.size(); ++k) devices[k].setSegment(k);
  }
  writeSeed(file, capnp::messageToFlatArray(message).asBytes());
}

void writeChanges(const path& folder) {
  const Bdf address = Bdf::make(0, 1, 0, 0).value();
  writeMessage<schema::BindControl::ChangeParams>(folder / "order", [&](auto out) {
    encode(ChangeOrder{.addresses = {address},
                       .driver = "vfio-pci",
                       .overrides = {{Guard::kUsers, address}, {Guard::kBootVga, std::nullopt}},
                       .dryRun = true},
           out.initOrder());
  });
  writeMessage<schema::BindControl::ChangeResults>(folder / "report", [&](auto out) {
    encode(ChangeReport{.outcome = ChangeOutcome::kStuck,
                        .error = "no answer",
                        .writes = {{address, "driver_override", "\n"}},
                        .leftAlone = {{address, "a bridge"}},
                        .objections = {{.guard = Guard::kUsers, .address = address}},
                        .differences = {"driver: none"},
                        .remarks = {"another boot"},
                        .auditSequence = 7},
           out.initReport());
  });
}

void writeAll(const path& corpus) {
  writeAnswers(corpus);
  writeChanges(corpus / "decode_change_fuzz");
  writeDeclaration(corpus / "decode_specs_fuzz/none", 0);
  writeDeclaration(corpus / "decode_specs_fuzz/three", 3);
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
    peer.callDial(RawPeer::kFirstFree + 1, 7);
    peer.finish(RawPeer::kFirstFree + 1, true);
    peer.callListen(RawPeer::kFirstFree + 2);
    peer.finish(RawPeer::kFirstFree + 2, false);
  });
  writeTalk(talks / "floods", [](RawPeer& peer) {
    peer.enter();
    for (std::uint32_t q = RawPeer::kFirstFree; q < 40; ++q) peer.callListen(q);
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
