// Seeds of what crosses each boundary as bytes: Cap'n Proto's messages, and protobuf's.

#include "ipc/api/api_codec.h"
#include "ipc/schema/helper.capnp.h"
#include "ipc/schema/plugind.capnp.h"
#include "tests/fuzz/seeds/seed_files.h"

#include <capnp/rpc.capnp.h>

namespace vfiogate {
namespace {

constexpr const char* kUid = "c7e7b22e-239b-4498-b27c-7f1344481e14";
constexpr const char* kDriver = "vfio.vfiogate.dev";

// ---- What privd answers ----

void writePrivdAnswers(const SeedPath& to) {
  using Reread = schema::GroupControl::RereadResults;
  writeMessage<Reread>(to / "vanished", [](auto out) { out.initAnswer().setVanished(); });
  writeMessage<Reread>(to / "seen", [](auto out) {
    auto seen = out.initAnswer().initSeen();
    auto group = seen.initGroups(1)[0];
    group.setId(12);
    group.initMembers(1)[0].setBus(1);
    auto device = seen.initDevices(1)[0];
    device.initAddress().setBus(1);
    device.setGroup(12);
    device.setDriver("vfio-pci");
  });
}

// ---- What is asked of privd and of plugind's control service ----

/// A call on the object that `question` asked for.
template <typename Interface, typename Params>
void callOn(RawPeer& peer, std::uint32_t question, std::uint32_t next, std::uint16_t method,
            const std::function<void(typename Params::Builder)>& fill) {
  peer.send([&](capnp::rpc::Message::Builder message) {
    auto call = message.initCall();
    call.setQuestionId(next);
    call.initTarget().initPromisedAnswer().setQuestionId(question);
    call.setInterfaceId(capnp::typeId<Interface>());
    call.setMethodId(method);
    fill(call.initParams().getContent().template initAs<Params>());
  });
}

/// Of the objects that privd has exported by then.
constexpr std::uint32_t kControl = 1;

void writeSessions(const SeedPath& to) {
  writeTalk(to / "enter", [](RawPeer& peer) { peer.enter(); });
  writeTalk(to / "ask", [](RawPeer& peer) {
    peer.enter();
    peer.callReread(RawPeer::kFirstFree);
    peer.callDiscovery(RawPeer::kFirstFree + 1);
    peer.callRereadOn(RawPeer::kFirstFree + 2, kControl);
    peer.finish(RawPeer::kFirstFree, true);
    peer.callEnter(RawPeer::kFirstFree + 3);
  });
}

void writeControl(const SeedPath& to) {
  const auto talk = [](RawPeer& peer) {
    using schema::Control;
    peer.bootstrap(RawPeer::kHandshake);
    callOn<Control, Control::MetricsParams>(peer, RawPeer::kHandshake, 1, 2, [](auto) {});
    callOn<Control, Control::ExplainParams>(peer, RawPeer::kHandshake, 2, 1,
                                            [](auto out) { out.setAddress("0000:01:00.0"); });
    callOn<Control, Control::AttachParams>(peer, RawPeer::kHandshake, 3, 4,
                                           [](auto out) { out.setNode("node-1"); });
    peer.finish(1, true);
  };
  writeTalk(to / "netd", talk, std::string(1, '\0'));
  writeTalk(to / "own_user", talk, std::string(1, '\1'));
}

// ---- What netd and plugind tell each other ----

const ClaimAnswer kFound = AllocatedClaim{
    .uid = kUid,
    .allocated = true,
    .podClaimName = "gpus",
    .devices = {{.request = "main/sub", .pool = "node-1", .device = "0000-01-00-0"},
                {.request = "nic", .pool = "node-1", .device = "0000-02-00-0", .shareId = "s"}}};

void writeDraLine(const SeedPath& to) {
  writeMessage<schema::ClaimAnswer>(to / "found", [](auto out) { encode(kFound, out); });
  writeMessage<schema::ClaimAnswer>(to / "unread",
                                    [](auto out) { encode(ClaimAnswer(ClaimUnread{"403"}), out); });
  writeMessage<schema::DevicePool>(to / "pool", [](auto out) {
    PoolDevice device;
    device.attributes = {{"vendor", "10de"},
                         {"numa", std::int64_t{1}},
                         {"vf", true},
                         {"version", VersionText{"1.0.0"}}};
    device.consumes = {{"group-1", "group"}, {"group-1", "other"}};
    device.taints = {{"vfiogate.dev/bad", "gone", {}}};
    encode(DevicePool{.driver = kDriver,
                      .name = "node-1",
                      .devices = {{"0000-01-00-0", device}},
                      .counterSets = {{"group-1", {"group"}}}},
           out);
  });
  writeMessage<schema::ClaimReport>(to / "report", [](auto out) {
    encode(ClaimReport{.driver = kDriver,
                       .claimNamespace = "ml",
                       .name = "train",
                       .uid = kUid,
                       .devices = {{.pool = "node-1",
                                    .device = "0000-01-00-0",
                                    .ready = true,
                                    .reason = "Prepared",
                                    .address = "0000:01:00.0"}}},
           out);
  });
}

// ---- What the kubelet says, in protobuf ----

/// One field of bytes, shorter than 128.
std::string field(int number, const std::string& bytes) {
  return std::string{static_cast<char>(number << 3 | 2), static_cast<char>(bytes.size())} + bytes;
}

std::string lengthOf(const std::string& bytes) {
  return std::string(1, static_cast<char>(bytes.size()));
}

void writeKubelet(const SeedPath& corpus) {
  const std::string one = field(1, "0000:01:00.0");
  const std::string allocate = field(1, one);
  const std::string prefer =
      field(1, one + field(1, "0000:02:00.0") + field(2, "0000:01:00.0") + std::string("\x18\x02"));
  const SeedPath calls = corpus / "device_plugin_fuzz";
  writeSeed(calls / "allocate_start", {},
            std::string(1, '\0') + lengthOf(allocate) + allocate + '\2' + lengthOf(one) + one);
  writeSeed(calls / "prefer", {}, '\1' + lengthOf(prefer) + prefer);

  const std::string claim = field(1, field(1, "ml") + field(2, kUid) + field(3, "train"));
  for (const char kind : {'\0', '\1', '\2'}) {
    writeMessage<schema::ClaimAnswer>(
        corpus / "dra_request_fuzz" / ("kind" + std::to_string(kind)),
        [](auto out) { encode(kFound, out); }, kind + lengthOf(claim) + claim);
  }
  const std::string devices = field(2, field(1, "vfiogate.dev/gpu") + field(2, "0000:02:00.0"));
  writeSeed(corpus / "pod_list_fuzz/one", {},
            field(1, field(1, "train") + field(2, "ml") + field(3, field(1, "main") + devices)));
}

}  // namespace

void writeAnswers(const SeedPath& corpus) {
  writePrivdAnswers(corpus / "privd_answers_fuzz");
  writeSessions(corpus / "privd_session_fuzz");
  writeControl(corpus / "control_fuzz");
  writeDraLine(corpus / "dra_rpc_fuzz");
  writeKubelet(corpus);
}

}  // namespace vfiogate
