#pragma once
// One connection of privd's hardware process whose messages the attacker writes himself.

#include "tests/support/played/raw_peer.h"
#include "tests/support/taken_over/captive.h"

#include <capnp/serialize.h>
#include <kj/vector.h>

#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <string>

namespace vfiogate::test {

class Wire {
public:
  explicit Wire(Captive& captive)
      : peer(captive.next(PrivdRole::kHardware), kSendPatience), captive_(captive) {}

  RawPeer peer;

  /// Reads until privd closes.
  std::string howItEnds() {
    for (int i = 0; i < kAnswerPatienceMs / 5; ++i) {
      if (!readMore()) return "hung up";
      captive_.pause(5 * kj::MILLISECONDS);
      if (i > 200 && !peer.refused()) break;  // a second without a word to it
    }
    return "served on";
  }
  /// What the call was answered with: "results", "exception", ..., or "hung up".
  std::string answerTo(std::uint32_t question) {
    for (int i = 0; i < kAnswerPatienceMs / 5; ++i) {
      const bool open = readMore();
      const std::string answer = find(question);
      if (!answer.empty()) return answer;
      if (!open) return "hung up";
      captive_.pause(5 * kj::MILLISECONDS);
    }
    return "nothing";
  }

private:
  /// False: the connection has ended.
  bool readMore() {
    std::array<kj::byte, 65'536> bytes = {};
    while (true) {
      iovec part = {bytes.data(), bytes.size()};
      msghdr message = {};
      message.msg_iov = &part;
      message.msg_iovlen = 1;
      const ssize_t got = recvmsg(peer.fd(), &message, MSG_DONTWAIT);
      if (got <= 0) return got < 0 && errno == EAGAIN;
      heard_.addAll(bytes.data(), bytes.data() + got);
    }
  }

  std::string find(std::uint32_t question) const {
    auto words = kj::heapArray<capnp::word>(heard_.size() / sizeof(capnp::word));
    if (words.size() > 0) memcpy(words.begin(), heard_.begin(), words.asBytes().size());
    kj::ArrayPtr<const capnp::word> rest = words;
    while (rest.size() > 0 && capnp::expectedSizeInWordsFromPrefix(rest) <= rest.size()) {
      capnp::FlatArrayMessageReader reader(rest);
      const auto message = reader.getRoot<capnp::rpc::Message>();
      if (message.isReturn() && message.getReturn().getAnswerId() == question) {
        return message.getReturn().isResults() ? "results" : "exception";
      }
      rest = kj::arrayPtr(reader.getEnd(), rest.end());
    }
    return {};
  }

  static constexpr std::chrono::seconds kSendPatience{5};
  static constexpr int kAnswerPatienceMs = 10'000;

  Captive& captive_;
  kj::Vector<kj::byte> heard_;
};

}  // namespace vfiogate::test
