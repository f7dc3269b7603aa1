#include "privd/cli/policy/main_paths.h"

#include "ipc/codec/limits.h"
#include "ipc/codec/snapshot_codec.h"
#include "ipc/gate/opening.h"
#include "ipc/gate/packet_socket.h"
#include "ipc/socket/limited_client.h"
#include "ipc/socket/stream_flags.h"
#include "ipc/socket/unix_socket.h"
#include "privd/hardware/connection.h"
#include "privd/sandbox/hardware_places.h"
#include "privd/scan/snapshot_source.h"
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

/// All that the hardware process has open and running, on the scratch node.
class ScratchHardware {
public:
  ScratchHardware(const ScratchNode& node, kj::AsyncIoContext& io)
      : node_(node),
        io_(io),
        timer_(io.provider->getTimer()),
        sysfs_(got(SysfsRoot::open(node.at("sys")), ofRead)),
        dev_(got(DevRoot::open(node.at("dev")), ofRead)),
        plugind_(
            got(listenAt(node.at("").c_str(), "plugind.sock", WhoMayConnect::kOwner), ofSocket)),
        uevents_(got(openUeventSocket(), ofErrno)) {
    int ends[2];
    KJ_SYSCALL(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends));
    ours_ = kj::AutoCloseFd(ends[0]);
    theirs_ = kj::AutoCloseFd(ends[1]);
  }

  void goAll() {
    step("a scan of sysfs");
    DiscoveryCounts counts;
    SnapshotSource source(timer_, 1, Rescan::mostlyGlances(10 * kj::SECONDS),
                          scanDeps(sysfs_, dev_), counts);
    KJ_REQUIRE(source.current().generation == 1, "sysfs could not be listed");
    KJ_REQUIRE(source.current().snapshot->devices.size() == 1, "the device was not seen");

    step("the kernel's events");
    const UeventListener uevents(
        io_.unixEventPort, kj::mv(uevents_), [&source](const Places& where) { source.hint(where); },
        counts);
    session(source, counts);
  }

private:
  template <typename T>
  T soon(kj::Promise<T> promise) {
    return timer_.timeoutAfter(kLongestAnswer, kj::mv(promise)).wait(io_.waitScope);
  }

  /// Both ends in this process: what plugind's end asks of the kernel, the process asks, too. Not
  /// on the dialled socket, which nobody may accept here.
  void session(SnapshotSource& source, const DiscoveryCounts& counts) {
    step("plugind's socket is dialled");
    const auto dialled = got(dialAt(node_.at("plugind.sock").c_str()), ofSocket);
    KJ_REQUIRE(peerOf(dialled).uid == 0, "somebody else listens there");
    step("plugind's connection");
    got(sendHardwareOpening(ours_, kChannelVersion), ofText);
    const auto opening = got(receiveOpening(theirs_, kChannelVersion), ofText);
    KJ_REQUIRE(opening != nullptr, "no opening came");
    Node shared{source, counts, sysfs_, dev_, timer_};
    const Connection connection(shared,
                                io_.lowLevelProvider->wrapSocketFd(kj::mv(ours_), kStreamFlags));
    LimitedClient plugind(*io_.lowLevelProvider, kj::mv(theirs_), kFromPrivd);
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

  const ScratchNode& node_;
  kj::AsyncIoContext& io_;
  kj::Timer& timer_;
  SysfsRoot sysfs_;
  DevRoot dev_;
  kj::AutoCloseFd plugind_;
  kj::AutoCloseFd uevents_;
  kj::AutoCloseFd ours_;
  kj::AutoCloseFd theirs_;
};

void goUnderHardwareFilter(const ScratchNode& node, std::span<const Rule> table) {
  step("giving up power");
  if (const auto failure = dropPrivilegesAsIs({})) KJ_FAIL_REQUIRE(failure->str().c_str());
  step("what the hardware process opens before the lock-down");
  auto io = kj::setupAsyncIo();
  ScratchHardware hardware(node, io);
  io.waitScope.poll();  // KJ asks for signals at its first poll
  step("its Landlock");
  HardwareOptions options;
  options.sysfs = node.at("sys");
  const auto places = confineTo(allowedPlaces(kHardwarePlaces, placeValuesOf(options)), false);
  if (!places) KJ_FAIL_REQUIRE(places.error().str().c_str());
  step("its filter");
  if (const auto failure = loadFilter(table)) KJ_FAIL_REQUIRE(failure->str().c_str());
  hardware.goAll();
}

}  // namespace

int goHardwarePaths(const ScratchNode& node, std::span<const Rule> table) {
  KJ_IF_MAYBE (wrong, kj::runCatchingExceptions([&]() { goUnderHardwareFilter(node, table); })) {
    say(std::string("!") + wrong->getDescription().cStr());
    return 1;
  }
  return 0;
}

}  // namespace vfiogate
