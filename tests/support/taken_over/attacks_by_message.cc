#include "ipc/codec/limits.h"
#include "tests/support/taken_over/attacks.h"
#include "tests/support/taken_over/flood.h"
#include "tests/support/taken_over/wire.h"

#include <capnp/serialize.h>
#include <kj/debug.h>
#include <kj/vector.h>

#include <sys/eventfd.h>
#include <sys/socket.h>

#include <array>
#include <cstring>
#include <random>
#include <string>

namespace vfiogate::test {
namespace {

enum class Reads : bool { kNever, kAll };

template <typename Step>
std::string keepsOn(Captive& captive, Reads reads, Step step) {
  constexpr std::uint32_t kSteps = 60'000;
  Wire wire(captive);
  wire.peer.enter();
  for (std::uint32_t i = 0; i < kSteps && !wire.peer.refused(); ++i) {
    step(wire.peer, RawPeer::kFirstFree + i);
    if (reads == Reads::kAll) wire.peer.drain();
  }
  return wire.howItEnds();
}

std::string opensQuestions(Captive& captive) {
  return keepsOn(captive, Reads::kAll,
                 [](RawPeer& peer, std::uint32_t question) { peer.bootstrap(question); });
}

std::string readsNothing(Captive& captive) {
  return keepsOn(captive, Reads::kNever, [](RawPeer& peer, std::uint32_t question) {
    peer.callReread(question);
    peer.finish(question, true);
  });
}

/// Again and again, and takes no update.
std::string watchesAnewWithoutTaking(Captive& captive) {
  return keepsOn(captive, Reads::kNever, [](RawPeer& peer, std::uint32_t question) {
    peer.callWatch(question, question);
    peer.finish(question, true);
  });
}

/// As many as it may have, and no more, for some seconds.
std::string leavesQuestionsOpen(Captive& captive) {
  Wire wire(captive);
  wire.peer.enter();
  for (std::uint32_t i = RawPeer::kFirstFree; i < kMaxOpenQuestions; ++i) wire.peer.callReread(i);
  Tally tally;
  for (std::uint32_t i = 0; i < kMaxOpenQuestions; ++i) tally.add(wire.answerTo(i));
  captive.pause(1500 * kj::MILLISECONDS);
  wire.peer.callReread(kMaxOpenQuestions);
  return tally.str() + ", and one more " + wire.answerTo(kMaxOpenQuestions);
}

/// To the first call of its observer: how the connection ends then.
std::string answerOf(unsigned size, bool fails, Captive& captive) {
  constexpr unsigned kFirstCall = 0;
  Wire wire(captive);
  wire.peer.enter();
  KJ_REQUIRE(wire.answerTo(RawPeer::kWatching) == "results");
  wire.peer.send([&](capnp::rpc::Message::Builder message) {
    auto answer = message.initReturn();
    answer.setAnswerId(kFirstCall);
    const std::string much(size, 'x');
    if (fails) {
      answer.initException().setReason(much.c_str());
    } else {
      answer.initResults().getContent().setAs<capnp::Text>(much.c_str());
    }
  });
  return wire.howItEnds();
}

/// Results and reasons that are larger than a message may be.
std::string answersOfMegabytes(Captive& captive) {
  Tally tally;
  for (const unsigned size : {64U << 10U, 1U << 20U, 8U << 20U}) {
    for (const bool fails : {false, true}) tally.add(answerOf(size, fails, captive));
  }
  return tally.str();
}

/// How many bytes the kernel takes now; below 0: the other end is closed.
int sendSome(int socket, kj::ArrayPtr<const kj::byte> bytes) {
  iovec part = {const_cast<kj::byte*>(bytes.begin()), bytes.size()};
  msghdr message = {};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  const ssize_t taken = sendmsg(socket, &message, MSG_DONTWAIT | MSG_NOSIGNAL);
  return taken < 0 && errno == EAGAIN ? 0 : static_cast<int>(taken);
}

/// Messages that cost nobody an answer, so that there is always one to read: a connection that is
/// never empty must not keep the hardware process from all else that it does.
std::string releasesWithoutEnd(Captive& captive) {
  constexpr std::size_t kAtOnce = 1024;
  Wire wire(captive);
  wire.peer.bootstrap(RawPeer::kHandshake);
  wire.peer.callEnter(RawPeer::kSession);
  KJ_REQUIRE(wire.answerTo(RawPeer::kSession) == "results");
  kj::Vector<kj::byte> many;
  for (std::size_t i = 0; i < kAtOnce; ++i) {
    capnp::MallocMessageBuilder message;
    auto release = message.initRoot<capnp::rpc::Message>().initRelease();
    release.setId(0);  // the handshake, of which nothing is given back
    release.setReferenceCount(0);
    many.addAll(capnp::messageToFlatArray(message).asBytes());
  }
  const auto end = std::chrono::steady_clock::now() + 2 * kFlood;
  std::size_t sent = 0;  // of them; what was begun is sent to its end
  while (std::chrono::steady_clock::now() < end || sent != 0) {
    const int taken = sendSome(wire.peer.fd(), many.asPtr().slice(sent, many.size()));
    if (taken < 0) return "hung up";
    sent = (sent + static_cast<std::size_t>(taken)) % many.size();
  }
  wire.peer.callDiscovery(RawPeer::kWatching);
  return wire.answerTo(RawPeer::kWatching);
}

/// Half a message, and nothing more.
std::string halfAMessageAndSilence(Captive& captive) {
  Wire wire(captive);
  capnp::MallocMessageBuilder message;
  message.initRoot<capnp::rpc::Message>().initBootstrap().setQuestionId(0);
  const auto whole = capnp::messageToFlatArray(message);
  wire.peer.sendBytes(whole.asBytes().slice(0, whole.asBytes().size() / 2));
  captive.pause(10 * kj::SECONDS);  // which a peer has to say something whole
  return wire.howItEnds();
}

std::string hoardsCapabilities(Captive& captive) {
  return keepsOn(captive, Reads::kAll, [](RawPeer& peer, std::uint32_t question) {
    peer.callWatch(question, question);
    peer.finish(question, false);
  });
}

std::string aGroupThatItWasNotGiven(Captive& captive) {
  Tally tally;
  for (const std::uint32_t guess : {2U, 3U, 0xffff'ffffU}) {
    Wire wire(captive);
    wire.peer.bootstrap(RawPeer::kHandshake);
    wire.peer.callEnter(RawPeer::kSession);
    wire.peer.callRereadOn(RawPeer::kFirstFree, guess);
    tally.add(wire.answerTo(RawPeer::kFirstFree));
  }
  return tally.str();
}

std::string aGroupOfAnEarlierConnection(Captive& captive) {
  constexpr std::uint32_t kControl = 2;
  std::string first;
  {
    Wire wire(captive);
    wire.peer.enter();
    KJ_REQUIRE(wire.answerTo(RawPeer::kWatching) == "results");
    wire.peer.callReread(RawPeer::kFirstFree);
    first = wire.answerTo(RawPeer::kFirstFree);
  }
  Wire wire(captive);
  wire.peer.bootstrap(RawPeer::kHandshake);
  wire.peer.callEnter(RawPeer::kSession);
  wire.peer.callRereadOn(RawPeer::kFirstFree, kControl);
  return "first " + first + ", then " + wire.answerTo(RawPeer::kFirstFree);
}

/// What a group understands, said to the handshake and the session.
std::string takesOneThingForAnother(Captive& captive) {
  Wire wire(captive);
  wire.peer.bootstrap(RawPeer::kHandshake);
  wire.peer.callEnter(RawPeer::kSession);
  Tally tally;
  for (std::uint32_t object = 0; object < 2; ++object) {
    const std::uint32_t question = RawPeer::kFirstFree + object;
    wire.peer.callRereadOn(question, object);
    tally.add(wire.answerTo(question));
  }
  return tally.str();
}

kj::Array<kj::byte> words(std::initializer_list<std::uint32_t> values, std::size_t more = 0) {
  auto bytes = kj::heapArray<kj::byte>(values.size() * 4 + more);
  memset(bytes.begin(), 0, bytes.size());
  memcpy(bytes.begin(), values.begin(), values.size() * 4);
  return bytes;
}

std::string messagesThatAreNone(Captive& captive) {
  kj::Vector<kj::Array<kj::byte>> all;
  all.add(words({0xffff'ffff, 0}, 64));              // segments whose count overflows
  all.add(words({0x00ff'ffff, 1}, 64));              // sixteen million segments
  all.add(words({0, 0x1000'0000}, 4096));            // a message of 2 GiB
  all.add(words({0, 8193}, 4096));                   // a word more than allowed
  all.add(words({0, 1, 0x7fff'fffc, 0xffff'ffff}));  // a root far outside
  auto garbage = kj::heapArray<kj::byte>(1 << 20);
  std::mt19937 random(4711);  // always the same garbage
  for (kj::byte& byte : garbage) byte = static_cast<kj::byte>(random());
  all.add(kj::mv(garbage));
  Tally tally;
  for (const auto& bytes : all) {
    Wire wire(captive);
    wire.peer.sendBytes(bytes);
    tally.add(wire.howItEnds());
  }
  return tally.str();
}

/// Sends `bytes` with many descriptors beside them; false: not taken.
bool sendDescriptors(int socket, kj::ArrayPtr<const kj::byte> bytes, int fd) {
  constexpr std::size_t kAtOnce = 250;
  union {
    cmsghdr header;
    char room[CMSG_SPACE(kAtOnce * sizeof(int))];
  } control = {};
  std::array<int, kAtOnce> fds = {};
  fds.fill(fd);
  iovec part = {const_cast<kj::byte*>(bytes.begin()), bytes.size()};
  msghdr message = {};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = &control;
  message.msg_controllen = sizeof(control.room);
  control.header.cmsg_level = SOL_SOCKET;
  control.header.cmsg_type = SCM_RIGHTS;
  control.header.cmsg_len = CMSG_LEN(sizeof(fds));
  memcpy(CMSG_DATA(&control.header), fds.data(), sizeof(fds));
  return sendmsg(socket, &message, MSG_DONTWAIT | MSG_NOSIGNAL) >= 0;
}

std::string handsDescriptorsUp(Captive& captive) {
  constexpr int kRounds = 8;
  Wire wire(captive);
  const kj::AutoCloseFd gift(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  unsigned sent = 0;
  for (std::uint32_t i = 0; i < kRounds; ++i) {
    capnp::MallocMessageBuilder message;
    message.initRoot<capnp::rpc::Message>().initBootstrap().setQuestionId(i);
    const auto flat = capnp::messageToFlatArray(message);
    sent += sendDescriptors(wire.peer.fd(), flat.asBytes(), gift) ? 1 : 0;
    KJ_REQUIRE(wire.answerTo(i) == "results");
    wire.peer.finish(i, true);
  }
  captive.pause(500 * kj::MILLISECONDS);  // for whoever counts privd's descriptors
  wire.peer.bootstrap(RawPeer::kHandshake);
  wire.peer.callEnter(RawPeer::kSession);
  return "sent " + std::to_string(sent) + " times, then " + wire.answerTo(RawPeer::kSession);
}

constexpr std::array kAttacks{
    WireAttack{"AGroupThatItWasNotGiven", aGroupThatItWasNotGiven},
    WireAttack{"AGroupOfAnEarlierConnection", aGroupOfAnEarlierConnection},
    WireAttack{"TakesOneThingForAnother", takesOneThingForAnother},
    WireAttack{"MessagesThatAreNone", messagesThatAreNone},
    WireAttack{"HandsDescriptorsUp", handsDescriptorsUp},
    WireAttack{"OpensQuestions", opensQuestions},
    WireAttack{"ReadsNothing", readsNothing},
    WireAttack{"WatchesAnewWithoutTaking", watchesAnewWithoutTaking},
    WireAttack{"LeavesQuestionsOpen", leavesQuestionsOpen},
    WireAttack{"AnswersOfMegabytes", answersOfMegabytes},
    WireAttack{"ReleasesWithoutEnd", releasesWithoutEnd},
    WireAttack{"HalfAMessageAndSilence", halfAMessageAndSilence},
    WireAttack{"HoardsCapabilities", hoardsCapabilities},
};

}  // namespace

std::span<const WireAttack> attacksByMessage() {
  return kAttacks;
}

}  // namespace vfiogate::test
