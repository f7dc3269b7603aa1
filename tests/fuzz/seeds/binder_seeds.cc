#include "ipc/binder/binder_packets.h"
#include "tests/fuzz/packet_file.h"
#include "tests/fuzz/seeds/seed_files.h"

#include <cerrno>
#include <string>
#include <vector>

namespace vfiogate {
namespace {

template <typename Message>
void writePackets(const SeedPath& file, const std::vector<Message>& messages) {
  PacketFile packets(file);
  for (const Message& message : messages) packets.add(encode(message));
}

}  // namespace

// The target asks for a change of each of ten groups: eight are on their way.
void writeBinderMessages(const SeedPath& to) {
  using binder::Answer;
  using binder::Changed;
  const std::vector<Bdf> members{*Bdf::parse("0000:01:00.0")};
  const std::vector<Bdf> others{*Bdf::parse("0000:02:00.0"), *Bdf::parse("0000:02:00.1")};
  const GroupBinding bindable{.bindable = true};
  const GroupBinding barred{.bar = "users: 0000:02:00.0: module nvidia is used 3 times"};
  const Changed first{.mayBind = true,
                      .sysfsWriting = SysfsWriting::kPossible,
                      .more = true,
                      .groups = {{IommuGroupId(1), members, bindable}}};
  const Changed rest{.mayBind = true,
                     .sysfsWriting = SysfsWriting::kPossible,
                     .more = false,
                     .groups = {{IommuGroupId(2), others, barred}}};
  const Changed bound{.mayBind = true,
                      .sysfsWriting = SysfsWriting::kPossible,
                      .groups = {{IommuGroupId(1), members, {.boundForAllocation = true}}}};
  writePackets<binder::FromBinder>(to / "binds",
                                   {first, rest, bound, Answer{.number = 1}, Answer{.number = 2},
                                    Answer{.number = 9}, Answer{.number = 10}});
  writePackets<binder::FromBinder>(
      to / "refuses",
      {Changed{}, Answer{1, Answer::Outcome::kRefused, "sda1 is mounted at /srv"},
       Answer{2, Answer::Outcome::kFailed, "bind: EBUSY"},
       Answer{3, Answer::Outcome::kStuck, "unbind has not come back"},
       Answer{4, Answer::Outcome::kVanished, ""}, Answer{5, Answer::Outcome::kDenied, ""}});
  writePackets<binder::FromBinder>(to / "answers_nothing", {Answer{.number = 99}});
  // Of each group its first change, its probe and its card's serial number are on their way: 2, 5
  // and 8 are probes, 3 and 6 serial numbers; 9 is the next one that waits for a place.
  using binder::Probed;
  using binder::SerialTold;
  writePackets<binder::FromBinder>(
      to / "probes", {first, Probed{2, Probed::Found::kIdle, 0}, Probed{5, Probed::Found::kOpen, 0},
                      Probed{8, Probed::Found::kCannot, EPERM}, Answer{.number = 1}});
  writePackets<binder::FromBinder>(
      to / "serials", {first, SerialTold{3, SerialTold::Found::kSerial, 0, "MT2112X01234"},
                       SerialTold{6, SerialTold::Found::kCannot, EIO, ""}, Answer{.number = 1}});
  writePackets<binder::FromBinder>(to / "probes_a_change", {Probed{1, Probed::Found::kIdle, 0}});
}

// The target has the first of the groups on record.
void writeBinderOrders(const SeedPath& to) {
  using binder::Bind;
  using binder::GiveBack;
  using binder::Request;
  using binder::Seen;
  const std::vector<Bdf> members{*Bdf::parse("0000:01:00.0"), *Bdf::parse("0000:01:00.1")};
  const std::vector<Bdf> others{*Bdf::parse("0000:02:00.0")};
  writePackets<Request>(to / "binds", {Seen{}, Bind{1, members}, Seen{}, GiveBack{2, others}});
  writePackets<Request>(to / "unseen", {Bind{1, members}, GiveBack{2, others}});
  writePackets<Request>(to / "a_part", {Seen{}, Bind{1, {members.front()}}, Bind{2, others}});
  using binder::Probe;
  writePackets<Request>(to / "probes",
                        {Seen{}, Probe{1, IommuGroupId(7)}, Probe{2, IommuGroupId(99)}, Seen{}});
  using binder::ReadSerial;
  writePackets<Request>(to / "serials", {Seen{}, ReadSerial{1, members.front()},
                                         ReadSerial{2, others.front()}, Seen{}});
  writePackets<Request>(to / "twice", {Bind{1, members}, GiveBack{2, members}});
}

}  // namespace vfiogate
