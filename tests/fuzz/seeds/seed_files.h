#pragma once
// Writes seeds: messages, and what a peer says.

#include "tests/support/played/raw_peer.h"

#include <capnp/message.h>
#include <capnp/serialize.h>
#include <kj/debug.h>

#include <sys/socket.h>

#include <array>
#include <filesystem>
#include <fstream>
#include <functional>
#include <string>

namespace vfiogate {

using SeedPath = std::filesystem::path;

inline void writeSeed(const SeedPath& file, kj::ArrayPtr<const kj::byte> bytes,
                      const std::string& before = {}) {
  std::filesystem::create_directories(file.parent_path());
  std::ofstream out(file, std::ios::binary);
  out << before;
  out.write(bytes.asChars().begin(), static_cast<std::streamsize>(bytes.size()));
}

/// `before` comes before the message.
template <typename Root>
void writeMessage(const SeedPath& file, const std::function<void(typename Root::Builder)>& fill,
                  const std::string& before = {}) {
  capnp::MallocMessageBuilder message;
  fill(message.initRoot<Root>());
  writeSeed(file, capnp::messageToFlatArray(message).asBytes(), before);
}

/// Writes what the peer that `talk` makes of it would send.
inline void writeTalk(const SeedPath& file, const std::function<void(RawPeer&)>& talk,
                      const std::string& before = {}) {
  int pair[2];
  KJ_SYSCALL(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair));
  const kj::AutoCloseFd server(pair[0]);
  RawPeer peer{kj::AutoCloseFd(pair[1])};
  talk(peer);
  std::array<kj::byte, 65'536> sent = {};
  const ssize_t size = recv(server, sent.data(), sent.size(), MSG_DONTWAIT);
  KJ_REQUIRE(size > 0, "the peer said nothing");
  writeSeed(file, kj::arrayPtr(sent.data(), static_cast<std::size_t>(size)), before);
}

/// In boundary_seeds.cc: what privd, plugind, the kubelet and netd answer each other.
void writeAnswers(const SeedPath& corpus);

/// In gate_seeds.cc: what plugind sends privd's gate, and what that sends, into the folder `to`.
void writeGateRequests(const SeedPath& to);
void writeGateAnswers(const SeedPath& to);

/// In binder_seeds.cc: what privd's binder sends plugind, and what that sends, into the folder
/// `to`.
void writeBinderMessages(const SeedPath& to);
void writeBinderOrders(const SeedPath& to);

}  // namespace vfiogate
