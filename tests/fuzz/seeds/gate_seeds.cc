#include "ipc/gate/gate_answers.h"
#include "ipc/gate/gate_requests.h"
#include "tests/fuzz/packet_file.h"
#include "tests/fuzz/seeds/seed_files.h"
#include "tests/support/played/claim_specs.h"

#include <string>
#include <vector>

namespace vfiogate {
namespace {

void writePackets(const SeedPath& file, const std::vector<gate::Request>& requests) {
  PacketFile packets(file);
  for (const gate::Request& request : requests) packets.add(encode(request));
}

/// What the gate sends, and whether a file comes with it.
struct Sent {
  gate::FromGate message;
  bool withFile = false;
};

void writePackets(const SeedPath& file, const std::vector<Sent>& sent) {
  constexpr unsigned kWithFile = 1U << 15U;
  PacketFile packets(file);
  for (const Sent& one : sent) packets.add(encode(one.message), one.withFile ? kWithFile : 0);
}

gate::Answer done(gate::Outcome outcome = {}) {
  return {.code = gate::Code::kDone, .detail = 0, .words = {}, .outcome = std::move(outcome)};
}

gate::Answer refused(gate::Code code, std::uint16_t detail = 0) {
  return {.code = code, .detail = detail, .words = {}, .outcome = {}};
}

}  // namespace

void writeGateRequests(const std::filesystem::path& to) {
  using gate::Listen;
  const std::vector<UnitId> members{*Bdf::parse("0000:01:00.0"), *Bdf::parse("0000:01:00.1")};
  const SpecNodes nodes{{SpecNode::Kind::kContainer, 0}, {SpecNode::Kind::kGroup, 8}};
  const std::string& driver = test::kDraDriver;
  writePackets(to / "start",
               {gate::List{gate::List::What::kAllocations, ""}, gate::Seen{},
                gate::Open{gate::Open::File::kConfiguration, ""},
                gate::Open{gate::Open::File::kCheckpoint, ""}, gate::Adopted{}, gate::Enter{}});
  writePackets(to / "sockets", {Listen{Listen::Kind::kResource, "vfiogate.dev/gpu"},
                                Listen{Listen::Kind::kDraService, driver},
                                Listen{Listen::Kind::kDraRegistration, driver},
                                gate::Dial{gate::Dial::Socket::kRegistration},
                                gate::Dial{gate::Dial::Socket::kPodResources}});
  writePackets(to / "allocations",
               {gate::Allocate{members, "resource=vfiogate.dev/gpu"},
                gate::List{gate::List::What::kAllocations, ""}, gate::Release{members}});
  writePackets(to / "specs",
               {gate::Put{StaticSpecText{"vfiogate.dev/gpu", {nodes}, {{members[0], 0}}}},
                gate::Remove{gate::Remove::What::kOtherStatic, ""}});
  writePackets(to / "claims", {gate::Put{ClaimSpecText{test::claimSpec(), {nodes}}},
                               gate::List{gate::List::What::kClaimSpecs, ""},
                               gate::Open{gate::Open::File::kClaimSpec, test::kClaimUid},
                               gate::Remove{gate::Remove::What::kClaim, test::kClaimUid}});
  writePackets(to / "exclusions", {gate::List{gate::List::What::kExclusions, ""},
                                   gate::List{gate::List::What::kExclusions, "0000:01:00.0"}});
}

// In the order in which the target asks: entry, sockets, files, specs, the allocation, what is
// excluded, what is allocated.
void writeGateAnswers(const SeedPath& to) {
  const gate::FileIdentity identity{7, 1'795'000'000'000'000'000};
  const Sent entered{done(gate::Entered{41, true}), true};
  const Sent file{done(gate::OpenedFile{64, 1, identity, identity}), true};
  const Sent listener{done(gate::Endpoint{"vfiogate-0123456789abcdef.sock"}), true};
  const Sent dialled{done(), true};
  const Sent word{done()};
  const Sent uids{done(gate::ClaimUids{{test::kClaimUid}, false})};
  const Sent allocations{
      done(gate::Allocations{{{{*Bdf::parse("0000:02:00.0")}, "resource=gpu"}}, false})};
  const std::vector<UnitId> devices{*Bdf::parse("0000:01:00.0"), *Bdf::parse("0000:02:00.0")};
  const Sent exclusions{done(gate::Exclusions{devices, false})};
  writePackets(to / "granted",
               std::vector<Sent>{entered,
                                 {gate::Changed{{identity, identity, identity, identity, 3}}},
                                 dialled,
                                 listener,
                                 listener,
                                 file,
                                 file,
                                 word,
                                 word,
                                 word,
                                 uids,
                                 word,
                                 exclusions,
                                 allocations,
                                 word,
                                 file});
  writePackets(to / "refused",
               std::vector<Sent>{{refused(gate::Code::kLeased)},
                                 {refused(gate::Code::kNotYet, 2)},
                                 {refused(gate::Code::kForeign)},
                                 {refused(gate::Code::kDenied)},
                                 {refused(gate::Code::kFailed, 5)},
                                 {refused(gate::Code::kNotYet, 2)},
                                 {refused(gate::Code::kBadName)},
                                 {refused(gate::Code::kTooMany)},
                                 {gate::Answer{gate::Code::kBad, 0, "its name", {}}},
                                 {refused(gate::Code::kBusy)}});
  writePackets(to / "other_protocol", std::vector<Sent>{{refused(gate::Code::kWrongProtocol, 9)}});
}

}  // namespace vfiogate
