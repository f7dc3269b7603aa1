// Writes the seeds that are committed beside this file: make_seeds tests/fuzz/corpus

#include "ipc/codec/change_messages.h"
#include "ipc/codec/encode_snapshot.h"
#include "tests/support/random_snapshot.h"
#include "tests/support/raw_peer.h"

#include <capnp/message.h>
#include <capnp/serialize.h>
#include <kj/debug.h>

#include <sys/socket.h>

#include <array>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iostream>

namespace vfiogate {
namespace {

using std::filesystem::path;

void write(const path& file, kj::ArrayPtr<const kj::byte> bytes) {
  std::filesystem::create_directories(file.parent_path());
  std::ofstream(file, std::ios::binary)
      .write(bytes.asChars().begin(), static_cast<std::streamsize>(bytes.size()));
}

void writeUpdate(const path& file, const Update& update) {
  capnp::MallocMessageBuilder message;
  encode(update, message.initRoot<schema::Update>(), noControl);
  write(file, capnp::messageToFlatArray(message).asBytes());
}

/// Writes what the peer that `talk` makes of it would send.
void writeTalk(const path& file, const std::function<void(RawPeer&)>& talk) {
  int pair[2];
  KJ_SYSCALL(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair));
  const kj::AutoCloseFd server(pair[0]);
  RawPeer peer{kj::AutoCloseFd(pair[1])};
  talk(peer);
  std::array<kj::byte, 65'536> sent = {};
  const ssize_t size = recv(server, sent.data(), sent.size(), MSG_DONTWAIT);
  KJ_REQUIRE(size > 0, "the peer said nothing");
  write(file, kj::arrayPtr(sent.data(), static_cast<std::size_t>(size)));
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
  write(file, capnp::messageToFlatArray(message).asBytes());
}

template <typename Root>
void writeChange(const path& file, const std::function<void(typename Root::Builder)>& fill) {
  capnp::MallocMessageBuilder message;
  fill(message.initRoot<Root>());
  write(file, capnp::messageToFlatArray(message).asBytes());
}

void writeChanges(const path& folder) {
  const Bdf address = Bdf::make(0, 1, 0, 0).value();
  writeChange<schema::BindDesk::ChangeParams>(folder / "order", [&](auto out) {
    encode(ChangeOrder{.addresses = {address},
                       .driver = "vfio-pci",
                       .overrides = {{Guard::kUsers, address}, {Guard::kBootVga, std::nullopt}},
                       .dryRun = true},
           out.initOrder());
  });
  writeChange<schema::BindDesk::ChangeResults>(folder / "report", [&](auto out) {
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
    peer.callLook(RawPeer::kFirstFree);
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
