#include "ipc/gate/opening.h"
#include "ipc/gate/packet_socket.h"
#include "privd/cdi/cdi_store.h"
#include "privd/cdi/claim_store.h"
#include "privd/cli/policy/main_paths.h"
#include "privd/gate/gate_service.h"
#include "privd/gate/plugind_dial.h"
#include "privd/options/program_options.h"
#include "privd/sandbox/gate_places.h"
#include "seccomp/drop_privileges.h"
#include "seccomp/load_filter.h"

#include <kj/exception.h>

#include <array>
#include <set>

namespace vfiogate {
namespace {

constexpr const char* kResource = "vfiogate.dev/self-test";
constexpr const char* kUid = "00000000-0000-4000-8000-000000000000";
constexpr const char* kDriver = "vfio.vfiogate.dev";

const SpecNodes kNodes{{SpecNode::Kind::kContainer, 0}, {SpecNode::Kind::kGroup, 7}};

gate::Put staticSpec() {
  return {StaticSpecText{
      .resource = kResource, .nodeSets = {kNodes}, .devices = {{ScratchNode::device(), 0}}}};
}

gate::Put claimSpec() {
  ClaimSpecText text{.spec = {.driver = kDriver,
                              .uid = kUid,
                              .claimNamespace = "default",
                              .name = "self-test",
                              .devices = {},
                              .metadata = false,
                              .podClaimName = "",
                              .pool = ""},
                     .nodes = {kNodes}};
  text.spec.devices.push_back({.address = ScratchNode::device(),
                               .resource = kResource,
                               .backend = Backend::kAuto,
                               .hands = {ScratchNode::device()},
                               .request = "gpu"});
  return {text};
}

GateOptions optionsFor(const ScratchNode& node) {
  GateOptions options;
  options.plugind = node.at("kubelet/plugind.sock");
  options.plugindRights = "watch,kubelet,cdi";
  options.kubeletDir = node.at("kubelet");
  options.cdiDir = node.at("cdi");
  options.stateDir = node.at("state");
  return options;
}

/// All that the gate has open, on the scratch node.
class ScratchGate {
public:
  explicit ScratchGate(const ScratchNode& node)
      : options_(optionsFor(node)),
        names_{options_.resourcePrefixes, kDriver},
        kubelet_(options_.kubeletDir.c_str(), names_),
        lease_(got(PlugindLease::open(options_.stateDir, 1), ofRead)),
        records_(got(AllocationRecords::open(node.at("state/devices"), "self-test"), ofState)),
        specs_(options_.cdiDir, names_),
        claims_(options_.cdiDir, node.at("cdi"), names_),
        service_({kubelet_,
                  names_,
                  lease_,
                  records_,
                  specs_,
                  claims_,
                  {.kubelet = true, .cdi = true},
                  "",
                  node.at("state/holds")}),
        session_(service_.newSession()),
        plugind_(got(packetPair(), ofErrno)),
        listener_(got(listenAt(node.at("kubelet").c_str(), "plugind.sock", WhoMayConnect::kOwner),
                      ofSocket)),
        dial_(options_.plugind, options_.plugindUid) {}

  void goAll() {
    // It meets a socket of root's, which is not plugind's.
    step("plugind is dialled");
    KJ_REQUIRE(dial_.dial(dial_.due()) == nullptr, "root was taken for plugind");
    step("a channel for plugind");
    got(sendChannelOpening(plugind_.ours, PrivdRole::kGate, kChannelVersion), ofText);
    ask("a plugind's lease", gate::Enter{});
    ask("a socket for the kubelet", gate::Listen{gate::Listen::Kind::kResource, kResource});
    // Nobody listens there, and nothing is written there, which is an answer.
    ask("the kubelet is dialled", gate::Dial{}, gate::Code::kNotYet);
    ask("the kubelet's checkpoint", gate::Open{}, gate::Code::kNotYet);
    ask("an allocation on record", gate::Allocate{{ScratchNode::device()}, "self-test"});
    ask("the record is listed", gate::List{gate::List::What::kAllocations, ""});
    ask("the allocation is over", gate::Release{{ScratchNode::device()}});
    ask("all that is allocated is known", gate::Adopted{});
    ask("a CDI spec", staticSpec());
    ask("no other CDI spec", gate::Remove{gate::Remove::What::kOtherStatic, ""});
    ask("a claim's CDI spec", claimSpec());
    ask("the claims' specs are listed", gate::List{gate::List::What::kClaimSpecs, ""});
    ask("a claim's spec is read", gate::Open{gate::Open::File::kClaimSpec, kUid});
    ask("a claim's spec is taken away", gate::Remove{gate::Remove::What::kClaim, kUid});
    ask("exclusions are listed", gate::List{gate::List::What::kExclusions, ""});
    step("what there is of the kubelet");
    service_.files();
  }

private:
  void ask(const char* name, const gate::Request& request,
           gate::Code expected = gate::Code::kDone) {
    step(name);
    const GateAnswer told = service_.answer(session_, request);
    KJ_REQUIRE(told.answer.code == expected, "another answer", static_cast<int>(told.answer.code),
               told.answer.detail, told.answer.words.c_str());
  }

  const GateOptions options_;
  const ServedNames names_;
  KubeletGate kubelet_;
  PlugindLease lease_;
  AllocationRecords records_;
  CdiStore specs_;
  ClaimStore claims_;
  GateService service_;
  GateSession session_;
  PacketPair plugind_;
  kj::AutoCloseFd listener_;
  PlugindDial dial_;
};

void goUnderGateFilter(const ScratchNode& node, std::span<const Rule> table) {
  step("giving up power");
  if (const auto failure = dropPrivilegesAsIs({})) KJ_FAIL_REQUIRE(failure->str().c_str());
  step("what the gate opens before the lock-down");
  ScratchGate gate(node);
  step("the gate's Landlock");
  const auto places = confineTo(gatePlaces(optionsFor(node)), false);
  if (!places) KJ_FAIL_REQUIRE(places.error().str().c_str());
  step("the gate's filter");
  if (const auto failure = loadFilter(table)) KJ_FAIL_REQUIRE(failure->str().c_str());
  gate.goAll();
}

}  // namespace

int goGatePaths(const ScratchNode& node, std::span<const Rule> table) {
  KJ_IF_MAYBE (wrong, kj::runCatchingExceptions([&]() { goUnderGateFilter(node, table); })) {
    say(std::string("!") + wrong->getDescription().cStr());
    return 1;
  }
  return 0;
}

}  // namespace vfiogate
