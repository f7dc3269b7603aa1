// The closed table of the binder's requests and what it tells: what is written is read again, and
// nothing else is.

#include "ipc/binder/binder_packets.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <random>
#include <string>
#include <vector>

namespace vfiogate::binder {
namespace {

Bdf at(std::uint8_t device, std::uint8_t function = 0) {
  return *Bdf::make(0, 2, device, function);
}

std::vector<Bdf> many(std::size_t count) {
  std::vector<Bdf> addresses;
  for (std::size_t i = 0; i < count; ++i) {
    addresses.push_back(*Bdf::make(0, static_cast<std::uint8_t>(i / 256),
                                   static_cast<std::uint8_t>(i / 8 % 32),
                                   static_cast<std::uint8_t>(i % 8)));
  }
  return addresses;
}

GroupState barred() {
  return {.id = IommuGroupId(9),
          .members = {at(3)},
          .binding = {.bar = "users: 0000:02:03.0: module nvidia is used 3 times"}};
}

GroupState bound() {
  return {.id = IommuGroupId(7),
          .members = {at(1), at(1, 1)},
          .binding = {.bindable = true, .busy = true, .boundForAllocation = true, .stuck = true}};
}

std::vector<Request> requests() {
  return {Bind{.number = 1, .members = {at(1), at(1, 1)}},
          GiveBack{.number = 4'000'000'000, .members = {at(2)}}, Seen{},
          Probe{.number = 9, .group = IommuGroupId(kMostGroups - 1)},
          ReadSerial{.number = 10, .device = at(3)}};
}

std::vector<FromBinder> messages() {
  return {Answer{},
          Answer{.number = 7, .outcome = Answer::Outcome::kDenied, .why = "see --plugind-rights"},
          Changed{},
          Changed{.mayBind = true,
                  .sysfsWriting = SysfsWriting::kDenied,
                  .more = true,
                  .groups = {bound(), barred(), {IommuGroupId(0), {at(4)}, {}}}},
          Probed{},
          Probed{.number = 8, .found = Probed::Found::kCannot, .error = EPERM},
          Probed{.number = 9, .found = Probed::Found::kDenied},
          SerialTold{},
          SerialTold{.number = 10, .found = SerialTold::Found::kSerial, .serial = "MT 2112X"},
          SerialTold{.number = 11, .found = SerialTold::Found::kCannot, .error = EIO}};
}

TEST(BinderRequests, AreReadAsTheyWereWritten) {
  std::size_t number = 0;
  for (const Request& request : requests()) {
    const auto read = decodeRequest(encode(request));
    ASSERT_TRUE(read) << read.error();
    EXPECT_TRUE(*read == request) << number;
    number = std::max(number, request.index() + 1);
  }
  EXPECT_EQ(number, kRequests) << "a request has no case here";
}

TEST(BinderMessages, AreReadAsTheyWereWritten) {
  for (const FromBinder& message : messages()) {
    const auto read = decodeFromBinder(encode(message));
    ASSERT_TRUE(read) << read.error();
    EXPECT_TRUE(*read == message);
  }
}

TEST(BinderMessages, TheGateTellsOfExclusionsNotTheBinder) {
  GroupState group = barred();
  group.binding.excluded = true;
  const auto read = decodeFromBinder(encode(Changed{.groups = {group}}));
  ASSERT_TRUE(read) << read.error();
  EXPECT_FALSE(std::get<Changed>(*read).groups.front().binding.excluded);
}

TEST(BinderMessages, WordsAreCutToWhatIsRead) {
  GroupState group = barred();
  group.binding.bar = std::string(kLongestWords + 1, 'b');
  const auto told = decodeFromBinder(encode(Changed{.groups = {group}}));
  ASSERT_TRUE(told) << told.error();
  EXPECT_EQ(std::get<Changed>(*told).groups.front().binding.bar.size(), kLongestWords);
  const auto answer = decodeFromBinder(encode(Answer{.why = std::string(kLongestWords + 1, 'w')}));
  ASSERT_TRUE(answer) << answer.error();
  EXPECT_EQ(std::get<Answer>(*answer).why.size(), kLongestWords);
}

/// I6: the table is closed, and so is each form in it.
TEST(BinderRequests, I6_WhatIsCutOffOrLongerIsRefused) {
  for (const Request& request : requests()) {
    const std::string packet = encode(request);
    for (std::size_t size = 0; size < packet.size(); ++size) {
      EXPECT_FALSE(decodeRequest(packet.substr(0, size))) << size;
    }
    EXPECT_FALSE(decodeRequest(packet + '\0'));
  }
  for (const std::size_t number : {std::size_t{0}, kRequests + 1, std::size_t{255}}) {
    const auto read = decodeRequest(std::string(1, static_cast<char>(number)));
    ASSERT_FALSE(read);
    EXPECT_EQ(read.error(), "an unknown request");
  }
}

TEST(BinderMessages, WhatIsCutOffOrLongerIsRefused) {
  for (const FromBinder& message : messages()) {
    const std::string packet = encode(message);
    for (std::size_t size = 0; size < packet.size(); ++size) {
      EXPECT_FALSE(decodeFromBinder(packet.substr(0, size))) << size;
    }
    EXPECT_FALSE(decodeFromBinder(packet + '\0'));
  }
  for (const int number : {0, 5, 255}) {
    const auto read = decodeFromBinder(std::string(1, static_cast<char>(number)));
    ASSERT_FALSE(read);
    EXPECT_EQ(read.error(), "an unknown message");
  }
}

std::string refused(const Request& request) {
  const auto read = decodeRequest(encode(request));
  return read ? std::string() : read.error();
}

std::string refused(const FromBinder& message) {
  const auto read = decodeFromBinder(encode(message));
  return read ? std::string() : read.error();
}

TEST(BinderRequests, WhatIsOutsideItsFormIsRefused) {
  EXPECT_EQ(refused(Bind{.number = 1, .members = {}}), "no address");
  EXPECT_EQ(refused(GiveBack{.number = 1, .members = {}}), "no address");
  EXPECT_EQ(refused(Bind{.number = 1, .members = {at(2), at(1)}}), "addresses out of order");
  EXPECT_EQ(refused(GiveBack{.number = 1, .members = {at(1), at(1)}}), "addresses out of order");
  EXPECT_EQ(refused(Bind{.number = 1, .members = many(kMostMembers + 1)}),
            "a list that is too long");
}

TEST(BinderRequests, AGroupThatNoNodeCanHaveIsRefused) {
  for (const std::uint32_t group : {kMostGroups, 0xffffffffU}) {
    EXPECT_EQ(refused(Request(Probe{.number = 1, .group = IommuGroupId(group)})),
              "a group number that no node has");
  }
}

TEST(BinderMessages, AnErrorStandsWhereTheGroupCouldNotBeOpenedAndNowhereElse) {
  const char* const why = "an error where there can be none";
  EXPECT_EQ(refused(FromBinder(Probed{.found = Probed::Found::kCannot})), why);
  EXPECT_EQ(refused(FromBinder(Probed{.found = Probed::Found::kCannot, .error = kMostErrors})),
            why);
  for (const auto found : {Probed::Found::kIdle, Probed::Found::kOpen, Probed::Found::kDenied}) {
    EXPECT_EQ(refused(FromBinder(Probed{.found = found, .error = EPERM})), why);
  }
  EXPECT_EQ(refused(FromBinder(Probed{.found = static_cast<Probed::Found>(4)})),
            "an unknown choice");
}

TEST(BinderMessages, ASerialNumberStandsWhereOneWasReadAndNowhereElse) {
  using Found = SerialTold::Found;
  const char* const none = "a serial number that is none";
  for (const std::string& text : {std::string(), std::string(kLongestSerial, ' '),
                                  std::string(" A"), std::string("A\n"), std::string("\xc3\xa9")}) {
    EXPECT_EQ(refused(FromBinder(SerialTold{.found = Found::kSerial, .serial = text})), none)
        << text;
  }
  for (const auto found : {Found::kNone, Found::kDenied}) {
    EXPECT_EQ(refused(FromBinder(SerialTold{.found = found, .serial = "A"})), none);
    EXPECT_EQ(refused(FromBinder(SerialTold{.found = found, .error = EIO})),
              "an error where there can be none");
  }
  EXPECT_EQ(refused(FromBinder(SerialTold{.found = Found::kCannot})),
            "an error where there can be none");
  EXPECT_EQ(refused(FromBinder(SerialTold{.found = static_cast<Found>(4)})), "an unknown choice");
  std::string packet = encode(FromBinder(SerialTold{.found = Found::kSerial, .serial = "A"}));
  packet[packet.size() - 3] = static_cast<char>(kLongestSerial + 1);  // its length
  EXPECT_FALSE(decodeFromBinder(packet + std::string(kLongestSerial, 'A')));
}

TEST(BinderRequests, AnAddressThatIsNoneIsRefused) {
  std::string packet = encode(Request(Bind{.number = 1, .members = {at(1)}}));
  packet[packet.size() - 2] = 32;  // the device
  const auto read = decodeRequest(packet);
  ASSERT_FALSE(read);
  EXPECT_EQ(read.error(), "no PCI address");
}

TEST(BinderMessages, WhatIsOutsideItsFormIsRefused) {
  EXPECT_EQ(refused(Answer{.outcome = static_cast<Answer::Outcome>(6)}), "an unknown choice");
  EXPECT_EQ(refused(Changed{.sysfsWriting = static_cast<SysfsWriting>(4)}), "an unknown choice");
  GroupState group = barred();
  group.members.clear();
  EXPECT_EQ(refused(Changed{.groups = {group}}), "no address");
  group.members = {at(2), at(1)};
  EXPECT_EQ(refused(Changed{.groups = {group}}), "addresses out of order");
  EXPECT_EQ(refused(Changed{.groups = std::vector<GroupState>(kMostMembers + 1, barred())}),
            "a list that is too long");
  std::string packet = encode(FromBinder(Changed{}));
  packet[1] = 2;  // mayBind
  const auto read = decodeFromBinder(packet);
  ASSERT_FALSE(read);
  EXPECT_EQ(read.error(), "a flag that is neither 0 nor 1");
}

TEST(BinderMessages, ALargerTextThanItsFormIsRefused) {
  std::string packet = encode(FromBinder(Answer{.why = std::string(kLongestWords, 'w')}));
  const auto size = static_cast<std::uint16_t>(kLongestWords + 1);
  memcpy(packet.data() + 6, &size, sizeof(size));  // after kind, number, outcome
  packet += 'w';
  const auto read = decodeFromBinder(packet);
  ASSERT_FALSE(read);
  EXPECT_EQ(read.error(), "a text that is too long");
}

TEST(BinderRequests, TheLargestGroupFitsIntoAPacket) {
  EXPECT_LE(encode(Request(Bind{.number = 1, .members = many(kMostMembers)})).size(),
            kLargestRequest);
}

TEST(BinderMessages, TheLargestGroupFitsIntoAPacket) {
  GroupState group{.id = IommuGroupId(1), .members = many(kMostMembers), .binding = {}};
  group.binding.bar = std::string(kLongestWords, 'b');
  EXPECT_LE(encode(FromBinder(Changed{.groups = {group}})).size(), kLargestMessage);
}

TEST(BinderMessages, SizeOfAGroupIsWhatItAdds) {
  const std::size_t empty = encode(FromBinder(Changed{})).size();
  EXPECT_LT(empty, 16U);
  for (const GroupState& group : {bound(), barred()}) {
    EXPECT_EQ(encode(FromBinder(Changed{.groups = {group}})).size(), empty + sizeOf(group));
  }
}

/// A message of random fields.
class RandomMessages {
public:
  explicit RandomMessages(unsigned seed) : random_(seed) {}

  Request request() {
    switch (below(5)) {
      case 0:
        return Bind{.number = random32(), .members = members()};
      case 1:
        return GiveBack{.number = random32(), .members = members()};
      case 2:
        return Probe{.number = random32(), .group = IommuGroupId(below(kMostGroups))};
      case 3:
        return ReadSerial{.number = random32(), .device = members().front()};
      default:
        return Seen{};
    }
  }

  FromBinder message() {
    if (below(4) == 0) {
      const auto found = static_cast<Probed::Found>(below(4));
      const bool failed = found == Probed::Found::kCannot;
      return Probed{random32(), found, static_cast<std::uint16_t>(failed ? 1 + below(4095) : 0)};
    }
    if (below(4) == 0) {
      const auto found = static_cast<SerialTold::Found>(below(4));
      const bool failed = found == SerialTold::Found::kCannot;
      return SerialTold{random32(), found, static_cast<std::uint16_t>(failed ? 1 + below(4095) : 0),
                        found == SerialTold::Found::kSerial ? "S" + words() : ""};
    }
    if (below(2) == 0) {
      return Answer{
          .number = random32(), .outcome = static_cast<Answer::Outcome>(below(6)), .why = words()};
    }
    Changed changed{.mayBind = flag(),
                    .sysfsWriting = static_cast<SysfsWriting>(below(4)),
                    .more = flag(),
                    .groups = {}};
    for (unsigned i = below(4); i > 0; --i) {
      changed.groups.push_back({.id = IommuGroupId(random32()),
                                .members = members(),
                                .binding = {.bindable = flag(),
                                            .busy = flag(),
                                            .boundForAllocation = flag(),
                                            .stuck = flag(),
                                            .bar = words()}});
    }
    return changed;
  }

  /// Some bytes of it are others, or none.
  std::string spoilt(std::string packet) {
    for (unsigned i = below(4); i > 0; --i)
      packet[below(packet.size())] = static_cast<char>(random_());
    return packet;
  }

private:
  unsigned below(std::size_t limit) { return static_cast<unsigned>(random_() % limit); }
  std::uint32_t random32() { return static_cast<std::uint32_t>(random_()); }
  bool flag() { return below(2) == 1; }
  std::string words() { return std::string(below(40), static_cast<char>('a' + below(26))); }
  std::vector<Bdf> members() { return many(1 + below(9)); }

  std::mt19937 random_;
};

TEST(BinderMessages, RandomOnesAreReadAsTheyWereWritten) {
  RandomMessages random(23);
  for (int i = 0; i < 5'000; ++i) {
    const Request request = random.request();
    const auto asked = decodeRequest(encode(request));
    ASSERT_TRUE(asked && *asked == request) << i;
    const FromBinder message = random.message();
    const auto told = decodeFromBinder(encode(message));
    ASSERT_TRUE(told && *told == message) << i;
  }
}

TEST(BinderMessages, SpoiltOnesAreRefusedOrReadAsTheyAre) {
  RandomMessages random(29);
  for (int i = 0; i < 20'000; ++i) {
    const std::string up = random.spoilt(encode(random.request()));
    const auto asked = decodeRequest(up);
    ASSERT_TRUE(!asked || encode(*asked) == up) << i;
    const std::string down = random.spoilt(encode(random.message()));
    const auto told = decodeFromBinder(down);
    ASSERT_TRUE(!told || encode(*told) == down) << i;
  }
}

}  // namespace
}  // namespace vfiogate::binder
