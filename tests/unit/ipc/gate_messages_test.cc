// The closed table of the gate's requests and answers: what is written is read again, and nothing
// else is.

#include "ipc/gate/gate_answers.h"
#include "ipc/gate/gate_requests.h"

#include <gtest/gtest.h>

#include <random>
#include <vector>

namespace vfiogate::gate {
namespace {

Bdf at(std::uint8_t device, std::uint8_t function = 0) {
  return *Bdf::make(0, 2, device, function);
}

ClaimSpecText claimText() {
  return {.spec = {.driver = "vfio.vfiogate.dev",
                   .uid = "c7e7b22e-239b-4498-b27c-7f1344481e14",
                   .claimNamespace = "ml",
                   .name = "train",
                   .devices = {{.address = at(1),
                                .resource = "vfiogate.dev/gpu",
                                .backend = Backend::kBoth,
                                .hands = {at(1), at(1, 1)},
                                .request = "gpu",
                                .root = at(0),
                                .numaNode = 1},
                               // On no node, below no root complex that is known.
                               {.address = at(2),
                                .resource = "vfiogate.dev/gpu",
                                .hands = {at(2)},
                                .request = "gpu"}},
                   .metadata = true,
                   .podClaimName = "gpu",
                   .pool = "node-1"},
          .nodes = {{{SpecNode::Kind::kContainer, 0}, {SpecNode::Kind::kGroup, 7}},
                    {{SpecNode::Kind::kContainer, 0}, {SpecNode::Kind::kGroup, 8}}}};
}

StaticSpecText staticText() {
  return {.resource = "vfiogate.dev/gpu",
          .nodeSets = {{{SpecNode::Kind::kIommufd, 0},
                        {SpecNode::Kind::kDevice, 3},
                        {SpecNode::Kind::kEgm, 4}}},
          .devices = {{at(1), 0}, {at(2), 0}}};
}

std::vector<Request> requests() {
  return {Enter{.protocol = 1, .lease = 77},
          Adopted{},
          Seen{},
          Listen{.kind = Listen::Kind::kDraService, .name = "vfio.vfiogate.dev"},
          Dial{.socket = Dial::Socket::kPodResources},
          Open{.file = Open::File::kClaimSpec, .uid = "c7e7b22e-239b-4498-b27c-7f1344481e14"},
          Allocate{.members = {at(1), at(1, 1)}, .note = "resource vfiogate.dev/gpu\n"},
          Release{.members = {at(1)}},
          Put{.spec = staticText()},
          Put{.spec = claimText()},
          Remove{.what = Remove::What::kOtherStatic, .uid = ""},
          List{.what = List::What::kAllocations, .after = "0000:02:01.0"},
          List{.what = List::What::kExclusions, .after = "0000:02:01.0"}};
}

std::vector<FromGate> messages() {
  const FileIdentity identity{.inode = 5, .changed = -3};
  return {Answer{},
          Answer{.code = Code::kFailed, .detail = 28, .words = "", .outcome = {}},
          Answer{.code = Code::kBad, .detail = 0, .words = "uid: no UUID", .outcome = {}},
          Answer{.outcome = Entered{.lease = 9, .complete = true}},
          Answer{.outcome = Endpoint{"vfiogate-0011223344556677.sock"}},
          Answer{.outcome = OpenedFile{12, 34, identity, identity}},
          Answer{.outcome = ClaimUids{{"a", "b"}, true}},
          Answer{.outcome = Allocations{{{{at(1)}, "note"}, {{at(2)}, ""}}, false}},
          Answer{.outcome = Exclusions{}},
          Answer{.outcome = Exclusions{{at(1), at(1, 1), at(2)}, true}},
          Changed{},
          Changed{{identity, std::nullopt, identity, std::nullopt, 7}}};
}

TEST(GateRequests, AreReadAsTheyWereWritten) {
  std::size_t number = 0;
  for (const Request& request : requests()) {
    const auto read = decodeRequest(encode(request));
    ASSERT_TRUE(read) << read.error();
    EXPECT_TRUE(*read == request) << number;
    number = std::max(number, request.index() + 1);
  }
  EXPECT_EQ(number, kRequests) << "a request has no case here";
}

TEST(GateAnswers, AreReadAsTheyWereWritten) {
  for (const FromGate& message : messages()) {
    const auto read = decodeFromGate(encode(message));
    ASSERT_TRUE(read) << read.error();
    EXPECT_TRUE(*read == message);
  }
}

/// I6: the table is closed, and so is each form in it.
TEST(GateRequests, I6_WhatIsCutOffOrLongerIsRefused) {
  for (const Request& request : requests()) {
    const std::string packet = encode(request);
    for (std::size_t size = 0; size < packet.size(); ++size) {
      EXPECT_FALSE(decodeRequest(packet.substr(0, size))) << size;
    }
    EXPECT_FALSE(decodeRequest(packet + '\0'));
  }
  EXPECT_FALSE(decodeRequest(std::string(1, '\0')));
  EXPECT_FALSE(decodeRequest(std::string(1, static_cast<char>(kRequests + 1))));
}

TEST(GateAnswers, WhatIsCutOffOrLongerIsRefused) {
  for (const FromGate& message : messages()) {
    const std::string packet = encode(message);
    for (std::size_t size = 0; size < packet.size(); ++size) {
      EXPECT_FALSE(decodeFromGate(packet.substr(0, size))) << size;
    }
    EXPECT_FALSE(decodeFromGate(packet + '\0'));
  }
}

TEST(GateRequests, WhatIsOutsideItsFormIsRefused) {
  const auto refused = [](const Request& request) {
    const auto read = decodeRequest(encode(request));
    return read ? std::string() : read.error();
  };
  EXPECT_EQ(refused(Allocate{.members = {}, .note = "n"}), "no address");
  EXPECT_EQ(refused(Allocate{.members = {at(2), at(1)}, .note = "n"}), "addresses out of order");
  EXPECT_EQ(refused(Allocate{.members = {at(1)}, .note = std::string(kLongestNote + 1, 'n')}),
            "a text that is too long");
  EXPECT_EQ(refused(Listen{.kind = static_cast<Listen::Kind>(9), .name = "a"}),
            "an unknown choice");
  auto text = staticText();
  text.devices[1].nodes = 1;
  EXPECT_EQ(refused(Put{text}), "nodes that are not told");
  text = staticText();
  text.devices.clear();
  EXPECT_EQ(refused(Put{text}), "a spec without devices");
  auto claim = claimText();
  claim.nodes[0].clear();
  EXPECT_EQ(refused(Put{claim}), "a device without nodes");
}

TEST(GateAnswers, OfExclusionsAreInOrder) {
  const auto refused = [](std::vector<UnitId> devices) {
    const auto read =
        decodeFromGate(encode(Answer{.outcome = Exclusions{std::move(devices), false}}));
    return read ? std::string() : read.error();
  };
  EXPECT_EQ(refused({at(2), at(1)}), "addresses out of order");
  EXPECT_EQ(refused({at(1), at(1)}), "addresses out of order");
  EXPECT_EQ(refused(std::vector<UnitId>(kMostExclusions + 1, at(1))), "a list that is too long");
}

TEST(GateAnswers, TheLongestPartOfExclusionsFitsIntoAPacket) {
  const Exclusions part{.devices = std::vector<UnitId>(kMostExclusions, at(1)), .more = true};
  EXPECT_LE(encode(Answer{.outcome = part}).size(), kLargestAnswer);
}

TEST(GateRequests, TheLargestSpecFitsIntoAPacket) {
  StaticSpecText text{.resource = std::string(kLongestName, 'r'), .nodeSets = {}, .devices = {}};
  for (std::uint32_t i = 0; i < 4096; ++i) {
    text.nodeSets.push_back({{SpecNode::Kind::kContainer, 0},
                             {SpecNode::Kind::kGroup, i},
                             {SpecNode::Kind::kIommufd, 0},
                             {SpecNode::Kind::kDevice, i}});
    const auto bus = static_cast<std::uint8_t>(i / 256);
    const auto device = static_cast<std::uint8_t>(i / 8 % 32);
    const auto function = static_cast<std::uint8_t>(i % 8);
    text.devices.push_back({*Bdf::make(0, bus, device, function), static_cast<std::uint16_t>(i)});
  }
  EXPECT_LE(encode(Put{text}).size(), kLargestRequest);
}

TEST(GateRequests, RandomBytesDoNoHarm) {
  std::minstd_rand random(20);
  for (int i = 0; i < 20'000; ++i) {
    std::string packet = encode(requests()[random() % requests().size()]);
    for (unsigned k = random() % 4; k > 0; --k) {
      packet[random() % packet.size()] = static_cast<char>(random());
    }
    const auto read = decodeRequest(packet);
    if (!read) continue;
    EXPECT_EQ(encode(*read), packet);
  }
}

}  // namespace
}  // namespace vfiogate::gate
