#include "ipc/gate/opening.h"
#include "ipc/gate/packet_socket.h"
#include "privd/bind/binding.h"
#include "privd/bind/host_view.h"
#include "privd/binder/binder_channel.h"
#include "privd/cli/policy/main_paths.h"
#include "privd/sandbox/binder_places.h"
#include "privd/scan/uevent_socket.h"
#include "privd/scan/uevent_wake.h"
#include "seccomp/drop_privileges.h"
#include "seccomp/load_filter.h"

#include <kj/async-io.h>
#include <kj/debug.h>

#include <cerrno>
#include <string>
#include <variant>

namespace vfiogate {
namespace {

constexpr auto kLongestWait = 10 * kj::SECONDS;

/// Of two records each goes into a file of its own.
AuditSettings rotateAlways() {
  return {.rotateAt = 1, .reserve = 0, .rotated = nullptr};
}

BinderOptions binderOptionsFor(const ScratchNode& node) {
  BinderOptions options;
  options.sysfs = node.at("sys");
  options.dev = node.at("dev");
  options.stateDir = node.at("state");
  options.binding.auditLog = node.at("audit.jsonl");
  options.binding.moduleAliases = node.at("aliases");
  return options;
}

/// All that the binder has open and running, on the scratch node.
class ScratchBinder {
public:
  ScratchBinder(const ScratchNode& node, ForkServer forkServer, kj::AsyncIoContext& io)
      : node_(node),
        io_(io),
        timer_(io.provider->getTimer()),
        options_(binderOptionsFor(node)),
        sysfs_(got(SysfsRoot::open(node.at("sys")), ofRead)),
        dev_(got(DevRoot::open(node.at("dev")), ofRead)),
        lease_(got(PlugindLease::open(node.at("state"), 1), ofRead)),
        deps_(got(openBindingParts(node.at("state"), options_.binding, rotateAlways()), ofText)),
        allocations_(got(AllocationFiles::open(node.at("state/devices"), deps_.bootId), ofState)),
        plugind_(
            got(listenAt(node.at("").c_str(), "plugind.sock", WhoMayConnect::kOwner), ofSocket)),
        uevents_(got(openUeventSocket(), ofErrno)),
        forkServer_(kj::mv(forkServer)) {}

  const BinderOptions& options() const { return options_; }
  const SysfsRoot& sysfs() const { return sysfs_; }

  void goAll() {
    step("the binder's scan of sysfs");
    HostView view({sysfs_, dev_, timer_, 60 * kj::SECONDS,
                   [](const Snapshot&, const IommuGroup&) { return GroupBinding{}; }});
    KJ_REQUIRE(view.current().generation == 1, "sysfs could not be listed");
    step("the kernel's events as a wake-up");
    const UeventWake uevents(io_.unixEventPort, timer_, kj::mv(uevents_),
                             [&view]() { view.wake(); });
    step("the locks of a group");
    KJ_REQUIRE(lease_.isFree(), "a plugind has the node");
    got(allocations_.lock({ScratchNode::device()}), ofErrno);

    Binding binding(
        {sysfs_, dev_, allocations_, lease_, io_.unixEventPort, timer_, kPlugindUid, true},
        kj::mv(deps_), options_.binding, kj::mv(forkServer_));
    channel(view, binding);
    change(binding);
    step("an exclusion is kept");
    got(binding.state().put(Exclusion{ScratchNode::device(), "self-test", 0}), ofState);
    KJ_REQUIRE(binding.state().isExcluded(ScratchNode::device()), "it is not excluded");
    got(binding.state().dropExclusion(ScratchNode::device()), ofState);
  }

private:
  template <typename T>
  T soon(kj::Promise<T> promise) {
    return timer_.timeoutAfter(kLongestWait, kj::mv(promise)).wait(io_.waitScope);
  }

  /// The dialled connection is not accepted here: the opening goes to a socket of our own.
  void channel(HostView& view, Binding& binding) {
    step("plugind's socket is dialled");
    const auto dialled = got(dialAt(node_.at("plugind.sock").c_str()), ofSocket);
    KJ_REQUIRE(peerOf(dialled).uid == 0, "somebody else listens there");
    step("the channel to plugind");
    auto line = got(packetPair(), ofErrno);
    auto ours = got(sendChannelOpening(line.ours, PrivdRole::kBinder, kChannelVersion), ofText);
    auto opened = got(receivePacket(line.theirs, 2), ofText);
    auto& opening = KJ_REQUIRE_NONNULL(opened, "no opening came");
    const int plugind = KJ_REQUIRE_NONNULL(opening.fd, "it has no channel").get();
    GroupProbes probes(dev_, timer_);
    SerialReads serials(sysfs_, binding.writer(), timer_);
    BinderChannel channel({io_.unixEventPort, timer_, sysfs_, dev_, allocations_, view,
                           &binding.allocations(), &probes, &serials},
                          kj::mv(ours));
    KJ_REQUIRE(std::holds_alternative<binder::Changed>(told(plugind)), "it told nothing first");
    ask(plugind, binder::Seen{});
    ask(plugind, binder::Bind{.number = 1, .members = {ScratchNode::device()}});
    const auto answer = told(plugind);
    KJ_REQUIRE(std::get<binder::Answer>(answer).outcome == binder::Answer::Outcome::kRefused,
               "what is not allocated was bound");
    step("a group's node is opened");
    ask(plugind, binder::Probe{.number = 2, .group = IommuGroupId(0)});
    const auto probed = told(plugind);
    KJ_REQUIRE(std::get<binder::Probed>(probed).error == ENOENT,
               "a group without a node was opened");
    step("a card's serial number is read");
    ask(plugind, binder::ReadSerial{.number = 3, .device = ScratchNode::device()});
    const auto serial = told(plugind);
    KJ_REQUIRE(std::get<binder::SerialTold>(serial).serial == ScratchNode::kSerial,
               "another was read");
  }

  static void ask(int plugind, const binder::Request& request) {
    KJ_REQUIRE(sendPacket(plugind, encode(request)) == PacketSent::kSent);
  }

  binder::FromBinder told(int plugind) {
    for (;;) {
      auto received = got(receivePacket(plugind, binder::kLargestMessage), ofText);
      KJ_IF_MAYBE (packet, received) return got(binder::decodeFromBinder(packet->bytes), ofText);
      soon(timer_.afterDelay(1 * kj::MILLISECONDS));
    }
  }

  /// No kernel is behind these files, so the change is carried out, read back, found wrong, undone.
  void change(Binding& binding) {
    step("a change of drivers: plan, guards, audit log, state, writes, undo");
    const ChangeReport report =
        soon(binding.binder().change({.order = {.addresses = {ScratchNode::device()}},
                                      .by = ChangeBy::kOperator,
                                      .peer = {.role = "root"}}));
    KJ_REQUIRE(report.outcome == ChangeOutcome::kFailed && report.auditSequence != 0,
               report.error.c_str());
    const std::string bound = got(sysfs_.read("bus/pci/drivers/vfio-pci/bind"), ofRead);
    KJ_REQUIRE(bound == ScratchNode::device().str(), "the fork server wrote nothing",
               bound.c_str());
  }

  const ScratchNode& node_;
  kj::AsyncIoContext& io_;
  kj::Timer& timer_;
  const BinderOptions options_;
  SysfsRoot sysfs_;
  DevRoot dev_;
  PlugindLease lease_;
  BindingDeps deps_;
  AllocationFiles allocations_;
  kj::AutoCloseFd plugind_;
  kj::AutoCloseFd uevents_;
  ForkServer forkServer_;
};

void goUnderBinderFilter(const ScratchNode& node, std::span<const Rule> table) {
  step("giving up power");
  if (const auto failure = dropPrivilegesAsIs({})) KJ_FAIL_REQUIRE(failure->str().c_str());
  step("the fork server's start");
  auto forkServer = got(ForkServer::start(), ofText);
  step("what the binder opens before the lock-down");
  auto io = kj::setupAsyncIo();
  ScratchBinder binder(node, kj::mv(forkServer), io);
  io.waitScope.poll();  // KJ asks for signals at its first poll
  step("the binder's Landlock");
  const auto places = confineTo(allowedPlaces(binder.options(), binder.sysfs()), false);
  if (!places) KJ_FAIL_REQUIRE(places.error().str().c_str());
  step("the binder's filter");
  if (const auto failure = loadFilter(table)) KJ_FAIL_REQUIRE(failure->str().c_str());
  binder.goAll();
}

}  // namespace

int goBinderPaths(const ScratchNode& node, std::span<const Rule> table) {
  KJ_IF_MAYBE (wrong, kj::runCatchingExceptions([&]() { goUnderBinderFilter(node, table); })) {
    say(std::string("!") + wrong->getDescription().cStr());
    return 1;
  }
  return 0;
}

}  // namespace vfiogate
