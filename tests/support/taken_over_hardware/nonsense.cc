#include "tests/support/hardware.h"
#include "tests/support/taken_over_hardware/attacks.h"
#include "tests/support/taken_over_hardware/lying_servers.h"

#include <capnp/message.h>
#include <capnp/rpc.capnp.h>
#include <capnp/serialize.h>
#include <kj/debug.h>

#include <sys/socket.h>

#include <array>
#include <cstring>
#include <random>
#include <vector>

namespace vfiogate::test {
namespace {

/// What there is no room for is not sent.
void send(int fd, kj::ArrayPtr<const kj::byte> bytes, int withFd = -1) {
  union {
    cmsghdr header;
    char room[CMSG_SPACE(sizeof(int))];
  } control = {};
  iovec part = {const_cast<kj::byte*>(bytes.begin()), bytes.size()};
  msghdr message = {};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  if (withFd >= 0) {
    message.msg_control = &control;
    message.msg_controllen = sizeof(control.room);
    control.header.cmsg_level = SOL_SOCKET;
    control.header.cmsg_type = SCM_RIGHTS;
    control.header.cmsg_len = CMSG_LEN(sizeof(int));
    memcpy(CMSG_DATA(&control.header), &withFd, sizeof(int));
  }
  sendmsg(fd, &message, MSG_DONTWAIT | MSG_NOSIGNAL);
}

kj::Array<kj::byte> words(std::initializer_list<std::uint32_t> values, std::size_t more = 0) {
  auto bytes = kj::heapArray<kj::byte>(values.size() * 4 + more);
  memset(bytes.begin(), 0, bytes.size());
  memcpy(bytes.begin(), values.begin(), values.size() * 4);
  return bytes;
}

std::string afterOpening(HardwareCaptive& captive, kj::ArrayPtr<const kj::byte> bytes) {
  const auto connection = captive.dial();
  send(connection, bytes);
  return captive.howItEnds(connection);
}

std::string garbage(HardwareCaptive& captive) {
  auto bytes = kj::heapArray<kj::byte>(1 << 16);
  std::mt19937 random(4711);  // always the same garbage
  for (kj::byte& byte : bytes) byte = static_cast<kj::byte>(random());
  return afterOpening(captive, bytes);
}

std::string aMessageOfGigabytes(HardwareCaptive& captive) {
  return afterOpening(captive, words({0, 0x1000'0000}, 4096));
}

std::string segmentsWithoutNumber(HardwareCaptive& captive) {
  return afterOpening(captive, words({0xffff'ffff, 0}, 64));
}

std::string halfAMessage(HardwareCaptive& captive) {
  return afterOpening(captive, words({0, 16}, 32));
}

template <typename Fill>
std::string aMessage(HardwareCaptive& captive, Fill fill) {
  capnp::MallocMessageBuilder message;
  fill(message.initRoot<capnp::rpc::Message>());
  const auto flat = capnp::messageToFlatArray(message);
  return afterOpening(captive, flat.asBytes());
}

std::string answersWhatWasNotAsked(HardwareCaptive& captive) {
  return aMessage(captive, [](auto message) {
    auto answer = message.initReturn();
    answer.setAnswerId(99);
    answer.initResults();
  });
}

std::string finishesWhatItDidNotAsk(HardwareCaptive& captive) {
  return aMessage(captive, [](auto message) { message.initFinish().setQuestionId(99); });
}

std::string callsWhatItWasNotGiven(HardwareCaptive& captive) {
  return aMessage(captive, [](auto message) {
    auto call = message.initCall();
    call.initTarget().setImportedCap(12'345);
    call.initParams();
  });
}

/// Takes the answers, and never says so.
std::string leavesQuestionsOpen(HardwareCaptive& captive) {
  const auto connection = captive.dial();
  for (std::uint32_t question = 0; question < 100; ++question) {
    capnp::MallocMessageBuilder message;
    message.initRoot<capnp::rpc::Message>().initBootstrap().setQuestionId(question);
    const auto flat = capnp::messageToFlatArray(message);
    send(connection, flat.asBytes());
  }
  return captive.howItEnds(connection, 2 * kj::SECONDS);
}

std::string speaksAnotherProtocol(HardwareCaptive& captive) {
  Liar liar(captive, {.protocol = 9});
  return liar.howItEnds();
}

/// Each in a session of its own.
template <typename Change>
std::string anUpdate(HardwareCaptive& captive, Change change) {
  const Story story;
  Liar liar(captive, story);
  if (!liar.isWatched()) return "hung up at once";
  auto request = KJ_ASSERT_NONNULL(liar.observer).changedRequest();
  auto update = request.initUpdate();
  update.setEpoch(Liar::kEpoch);
  update.setGeneration(1);
  change(update);
  request.send().ignoreResult().detach([](kj::Exception&&) {});
  return liar.howItEnds(2 * kj::SECONDS);
}

std::string anUpdateOfTwoThatAreOne(HardwareCaptive& captive) {
  return anUpdate(captive,
                  [](schema::Update::Builder update) { update.initFull().initDevices(2); });
}

std::string anUpdateWithoutEnd(HardwareCaptive& captive) {
  return anUpdate(captive, [](schema::Update::Builder update) {
    update.initFull().initGroups(1)[0].initMembers(100'000);
  });
}

/// Out of order, and of devices that it does not name.
std::string anUpdateOfForeignMembers(HardwareCaptive& captive) {
  return anUpdate(captive, [](schema::Update::Builder update) {
    auto members = update.initFull().initGroups(1)[0].initMembers(2);
    members[0].setBus(9);
    members[1].setBus(3);
  });
}

std::string opensAsNobody(HardwareCaptive& captive) {
  const auto connection = captive.dialSilently();
  send(connection, words({0xffff'ffff}));
  return captive.howItEnds(connection);
}

/// It cannot make a channel; so with another connection in its place.
std::string opensAs(HardwareCaptive& captive, PrivdRole role) {
  const auto other = captive.dialSilently();
  const auto connection = captive.dialSilently();
  const std::array said{static_cast<kj::byte>(role), static_cast<kj::byte>(kChannelVersion)};
  send(connection, kj::arrayPtr(said.data(), said.size()), other);
  return captive.howItEnds(connection);
}

std::string makesAChannel(HardwareCaptive& captive) {
  captive.dialAs(PrivdRole::kGate);
  return "made one";
}

std::string saysThatItIsTheGate(HardwareCaptive& captive) {
  return opensAs(captive, PrivdRole::kGate);
}

std::string saysThatItIsTheBinder(HardwareCaptive& captive) {
  return opensAs(captive, PrivdRole::kBinder);
}

std::string handsADescriptorDown(HardwareCaptive& captive) {
  const auto gift = captive.dialSilently();
  const auto connection = captive.dialSilently();
  send(connection, words({0}), gift);
  return captive.howItEnds(connection);
}

constexpr std::array kNonsense{
    HardwareAttack{"Garbage", garbage},
    HardwareAttack{"AMessageOfGigabytes", aMessageOfGigabytes},
    HardwareAttack{"SegmentsWithoutNumber", segmentsWithoutNumber},
    HardwareAttack{"HalfAMessage", halfAMessage},
    HardwareAttack{"AnswersWhatWasNotAsked", answersWhatWasNotAsked},
    HardwareAttack{"FinishesWhatItDidNotAsk", finishesWhatItDidNotAsk},
    HardwareAttack{"CallsWhatItWasNotGiven", callsWhatItWasNotGiven},
    HardwareAttack{"SpeaksAnotherProtocol", speaksAnotherProtocol},
    HardwareAttack{"AnUpdateOfTwoThatAreOne", anUpdateOfTwoThatAreOne},
    HardwareAttack{"AnUpdateWithoutEnd", anUpdateWithoutEnd},
    HardwareAttack{"AnUpdateOfForeignMembers", anUpdateOfForeignMembers},
    HardwareAttack{"OpensAsNobody", opensAsNobody},
    HardwareAttack{"SaysThatItIsTheGate", saysThatItIsTheGate},
    HardwareAttack{"SaysThatItIsTheBinder", saysThatItIsTheBinder},
    HardwareAttack{"MakesAChannel", makesAChannel},
    HardwareAttack{"HandsADescriptorDown", handsADescriptorDown},
    HardwareAttack{"LeavesQuestionsOpen", leavesQuestionsOpen},
};

}  // namespace

std::span<const HardwareAttack> nonsense() {
  return kNonsense;
}

}  // namespace vfiogate::test
