#include "privd/cli/policy/main_paths.h"

#include "ipc/codec/limits.h"
#include "ipc/codec/snapshot_codec.h"
#include "ipc/gate/opening.h"
#include "ipc/gate/packet_socket.h"
#include "ipc/socket/limited_client.h"
#include "ipc/socket/stream_flags.h"
#include "ipc/socket/unix_socket.h"
#include "privd/bind/binding.h"
#include "privd/cli/policy/step.h"
#include "privd/rpc/connection.h"
#include "privd/sandbox/landlock_places.h"
#include "privd/scan/uevent_socket.h"
#include "seccomp/drop_privileges.h"
#include "seccomp/load_filter.h"

#include <kj/async-io.h>
#include <kj/debug.h>

#include <sys/socket.h>
#include <string>

namespace vfiogate {
namespace {

constexpr auto kLongestAnswer = 10 * kj::SECONDS;
constexpr uid_t kPlugindUid = 64532;

/// Of two records each goes into a file of its own.
AuditSettings rotateAlways() {
  return {.rotateAt = 1, .reserve = 0, .rotated = nullptr};
}

BindingOptions bindingOptionsFor(const ScratchNode& node) {
  BindingOptions options;
  options.auditLog = node.at("audit.jsonl");
  options.moduleAliases = node.at("aliases");
  return options;
}

/// Takes the first update, which is the whole.
class FirstUpdate final : public schema::Observer::Server {
public:
  explicit FirstUpdate(kj::Own<kj::PromiseFulfiller<std::size_t>> devices)
      : devices_(kj::mv(devices)) {}

protected:
  kj::Promise<void> changed(ChangedContext context) override {
    auto decoded = decode(context.getParams().getUpdate());
    KJ_REQUIRE(decoded.has_value(), "an update that makes no sense");
    const auto* whole = std::get_if<Snapshot>(&decoded->update.content);
    KJ_REQUIRE(whole != nullptr, "the first update is not the whole");
    devices_->fulfill(whole->devices.size());
    return kj::READY_NOW;
  }

private:
  kj::Own<kj::PromiseFulfiller<std::size_t>> devices_;
};

/// All that the daemon has open and running, on the scratch node.
class ScratchDaemon {
public:
  ScratchDaemon(const ScratchNode& node, ForkServer forkServer, kj::AsyncIoContext& io)
      : node_(node),
        io_(io),
        timer_(io.provider->getTimer()),
        options_(bindingOptionsFor(node)),
        sysfs_(got(SysfsRoot::open(node.at("sys")), ofRead)),
        dev_(got(DevRoot::open(node.at("dev")), ofRead)),
        lease_(got(PlugindLease::open(node.at("state"), 1), ofRead)),
        deps_(got(openBindingParts(node.at("state"), options_, rotateAlways()), ofText)),
        allocations_(got(AllocationFiles::open(node.at("state/devices"), deps_.bootId), ofState)),
        plugind_(
            got(listenAt(node.at("").c_str(), "plugind.sock", WhoMayConnect::kOwner), ofSocket)),
        uevents_(got(openUeventSocket(), ofErrno)),
        forkServer_(kj::mv(forkServer)) {}

  const SysfsRoot& sysfs() const { return sysfs_; }

  void goAll() {
    step("a scan of sysfs");
    DiscoveryCounts counts;
    SnapshotSource source(timer_, 1, 60 * kj::SECONDS, scanDeps(sysfs_, dev_), counts);
    KJ_REQUIRE(source.current().generation == 1, "sysfs could not be listed");
    KJ_REQUIRE(source.current().snapshot->devices.size() == 1, "the device was not seen");

    step("the kernel's events");
    const UeventListener uevents(
        io_.unixEventPort, kj::mv(uevents_), [&source](const Places& where) { source.hint(where); },
        counts);
    step("the locks of a group");
    KJ_REQUIRE(lease_.isFree(), "a plugind has the node");
    got(allocations_.lock({ScratchNode::device()}), ofErrno);

    Binding binding(
        {sysfs_, dev_, allocations_, lease_, io_.unixEventPort, timer_, kPlugindUid, false},
        kj::mv(deps_), options_, kj::mv(forkServer_));
    session(source, counts);
    change(binding);
    step("an exclusion is kept");
    got(binding.state().put(Exclusion{ScratchNode::device(), "self-test", 0}), ofState);
    KJ_REQUIRE(binding.state().isExcluded(ScratchNode::device()), "it is not excluded");
    got(binding.state().dropExclusion(ScratchNode::device()), ofState);
  }

private:
  template <typename T>
  T soon(kj::Promise<T> promise) {
    return timer_.timeoutAfter(kLongestAnswer, kj::mv(promise)).wait(io_.waitScope);
  }

  /// Both ends in this process: what plugind's end asks of the kernel, the daemon asks, too. Not on
  /// the dialled socket, which nobody may accept here.
  void session(SnapshotSource& source, const DiscoveryCounts& counts) {
    step("plugind's socket is dialled");
    const auto dialled = got(dialAt(node_.at("plugind.sock").c_str()), ofSocket);
    KJ_REQUIRE(peerOf(dialled).uid == 0, "somebody else listens there");
    step("plugind's connection");
    int ends[2];
    KJ_SYSCALL(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends));
    kj::AutoCloseFd ours(ends[0]);
    kj::AutoCloseFd theirs(ends[1]);
    const auto channel = got(sendOpening(ours, kChannelVersion), ofText);
    const auto opening = got(receivePacket(theirs, 1), ofText);
    KJ_REQUIRE(opening != nullptr, "no opening came");
    Node shared{source, counts, sysfs_, dev_, allocations_, nullptr, timer_};
    const Connection connection(shared, {.watch = true},
                                io_.lowLevelProvider->wrapSocketFd(kj::mv(ours), kStreamFlags));
    LimitedClient plugind(*io_.lowLevelProvider, kj::mv(theirs), kFromPrivd);
    auto enter = plugind.bootstrap<schema::Handshake>().enterRequest();
    enter.setProtocol(schema::PROTOCOL);
    auto entered = soon(enter.send());
    KJ_REQUIRE(entered.getAnswer().isSession(), "the handshake was refused");
    auto devices = kj::newPromiseAndFulfiller<std::size_t>();
    auto watch = entered.getAnswer().getSession().watchRequest();
    watch.setObserver(kj::heap<FirstUpdate>(kj::mv(devices.fulfiller)));
    const auto watching = soon(watch.send());
    KJ_REQUIRE(soon(kj::mv(devices.promise)) == 1, "the device was not told");
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
  const BindingOptions options_;
  SysfsRoot sysfs_;
  DevRoot dev_;
  PlugindLease lease_;
  BindingDeps deps_;
  AllocationFiles allocations_;
  kj::AutoCloseFd plugind_;
  kj::AutoCloseFd uevents_;
  ForkServer forkServer_;
};

void goUnderFilter(const ScratchNode& node, std::span<const Rule> table) {
  step("giving up power");
  if (const auto failure = dropPrivileges({})) KJ_FAIL_REQUIRE(failure->str().c_str());
  step("the fork server's start");
  auto forkServer = got(ForkServer::start(), ofText);
  step("what is opened before the lock-down");
  auto io = kj::setupAsyncIo();
  ScratchDaemon daemon(node, kj::mv(forkServer), io);
  io.waitScope.poll();  // KJ asks for signals at its first poll
  step("Landlock");
  const auto places = confineTo(serveOptionsFor(node), daemon.sysfs());
  if (!places) KJ_FAIL_REQUIRE(places.error().str().c_str());
  step("the filter");
  if (const auto failure = loadFilter(table)) KJ_FAIL_REQUIRE(failure->str().c_str());
  daemon.goAll();
}

}  // namespace

int goMainPaths(const ScratchNode& node, std::span<const Rule> table) {
  KJ_IF_MAYBE (wrong, kj::runCatchingExceptions([&]() { goUnderFilter(node, table); })) {
    say(std::string("!") + wrong->getDescription().cStr());
    return 1;
  }
  return 0;
}

}  // namespace vfiogate
