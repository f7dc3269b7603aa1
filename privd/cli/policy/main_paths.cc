#include "privd/cli/policy/main_paths.h"

#include "ipc/codec/limits.h"
#include "ipc/codec/snapshot_codec.h"
#include "ipc/socket/limited_client.h"
#include "ipc/socket/unix_socket.h"
#include "privd/bind/binding.h"
#include "privd/options/serve_options.h"
#include "privd/rpc/command_socket.h"
#include "privd/sandbox/landlock_places.h"
#include "privd/scan/uevent_socket.h"
#include "seccomp/drop_privileges.h"
#include "seccomp/load_filter.h"

#include <kj/async-io.h>
#include <kj/debug.h>

#include <unistd.h>

#include <cstring>
#include <string>

namespace vfiogate {
namespace {

constexpr auto kLongestAnswer = 10 * kj::SECONDS;
constexpr RolePolicy kNobodyElse{.plugindUid = 64532, .plugindRights = {}};

void say(const std::string& line) {
  const std::string whole = line + "\n";
  [[maybe_unused]] const ssize_t nobodyMinds = write(STDOUT_FILENO, whole.data(), whole.size());
}

/// What the outcome was, or throws with what went wrong.
template <typename T, typename E, typename Words>
T got(Result<T, E> result, Words words) {
  KJ_REQUIRE(result.has_value(), words(result.error()).c_str());
  return kj::mv(result).value();
}

std::string ofErrno(int error) {
  return strerror(error);
}
std::string ofRead(const ReadError& error) {
  return strerror(error.error);
}
std::string ofState(const StateFailure& error) {
  return error.str();
}
std::string ofText(const std::string& text) {
  return text;
}
std::string ofSocket(const SocketError& error) {
  return std::string(error.step) + ": " + strerror(error.error);
}
/// Of two records each goes into a file of its own.
AuditSettings rotateAlways() {
  return {.rotateAt = 1, .reserve = 0, .rotated = nullptr};
}

ServeOptions serveOptionsFor(const ScratchNode& node) {
  ServeOptions options;
  options.sysfs = node.at("sys");
  options.dev = node.at("dev");
  options.kubeletDir = node.at("kubelet");
  options.cdiDir = node.at("cdi");
  options.stateDir = node.at("state");
  options.plugindRights = "watch,kubelet,cdi";
  options.binding.auditLog = node.at("audit.jsonl");
  return options;
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
        allocations_(got(AllocationRecords::open(node.at("state/devices"), deps_.bootId), ofState)),
        commands_(
            got(listenAt(node.at("").c_str(), "privd.sock", WhoMayConnect::kOwner), ofSocket)),
        uevents_(got(openUeventSocket(), ofErrno)),
        forkServer_(kj::mv(forkServer)),
        gate_(io.unixEventPort, timer_, node.at("kubelet").c_str(), prefixes()) {}

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
    gateOfTheKubelet();
    cdiSpec();

    step("a plugind's lease");
    KJ_REQUIRE(lease_.take(0) != std::nullopt, "nobody has it, and it was refused");

    allocation();
    Binding binding({sysfs_, dev_, allocations_, lease_, io_.unixEventPort, timer_,
                     kNobodyElse.plugindUid, false},
                    kj::mv(deps_), options_, kj::mv(forkServer_));
    session(source, counts);
    change(binding);
    step("an exclusion is kept");
    got(binding.operators().exclude(ScratchNode::device(), "self-test", kSelf), ofText);
    got(binding.operators().release(ScratchNode::device(), kSelf), ofText);
  }

  static void step(const char* name) { say(std::string(">") + name); }

private:
  template <typename T>
  T soon(kj::Promise<T> promise) {
    return timer_.timeoutAfter(kLongestAnswer, kj::mv(promise)).wait(io_.waitScope);
  }

  static kj::Vector<kj::String> prefixes() {
    kj::Vector<kj::String> prefixes;
    prefixes.add(kj::str("vfiogate.dev/"));
    return prefixes;
  }

  void gateOfTheKubelet() {
    step("a socket for the kubelet");
    const ResourceName name = ResourceName::parse("vfiogate.dev/self-test").value();
    const auto listener = got(gate_.listen(name), ofSocket);
    // Nobody listens there, which is an answer.
    const auto dialled = gate_.dial(KubeletGate::Socket::kRegistration);
    KJ_REQUIRE(!dialled && meansNotYet(dialled.error().error), "a kubelet answers here");
    gate_.readFiles();
  }

  void cdiSpec() {
    step("a CDI spec");
    const auto directory = got(CdiDirectory::open(node_.at("cdi")), ofRead);
    const ResourceName name = ResourceName::parse("vfiogate.dev/self-test").value();
    const std::string text = specText(name, {{ScratchNode::device(), {"/dev/vfio/7"}}});
    KJ_REQUIRE(got(directory.put(specFileName(name), text), ofRead), "it was there already");
    got(directory.sync(), ofRead);
    KJ_REQUIRE(!got(directory.put(specFileName(name), text), ofRead), "it was written twice");
    KJ_REQUIRE(got(directory.remove(specFileName(name)), ofRead), "it was gone");
  }

  /// Both ends in this process: what a client asks of the kernel, the daemon asks, too.
  void allocation() {
    step("an allocation on record");
    const auto session = allocations_.newSession();
    KJ_REQUIRE(allocations_.allocate({ScratchNode::device()}, "self-test", session),
               "it could not be written");
    allocations_.release({ScratchNode::device()});
    allocations_.keepOnly(session);
    KJ_REQUIRE(allocations_.complete(), "it is not complete");
  }

  void session(SnapshotSource& source, const DiscoveryCounts& counts) {
    step("a command's connection");
    Node shared{source, counts,  sysfs_,  dev_,    gate_,  allocations_,
                lease_, nullptr, nullptr, nullptr, timer_, nullptr};
    const CommandSocket commands(shared, io_, kNobodyElse, kj::mv(commands_));
    LimitedClient daemon(*io_.lowLevelProvider,
                         got(dialAt(node_.at("privd.sock").c_str()), ofSocket), kFromPrivd);
    auto enter = daemon.bootstrap<schema::Handshake>().enterRequest();
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
        soon(binding.operators().change({.addresses = {ScratchNode::device()}}, kSelf));
    KJ_REQUIRE(report.outcome == ChangeOutcome::kFailed && report.auditSequence != 0,
               report.error.c_str());
    const std::string bound = got(sysfs_.read("bus/pci/drivers/vfio-pci/bind"), ofRead);
    KJ_REQUIRE(bound == ScratchNode::device().str(), "the fork server wrote nothing",
               bound.c_str());
  }

  static inline const AuditPeer kSelf{.role = "root", .uid = 0, .pid = 0};

  const ScratchNode& node_;
  kj::AsyncIoContext& io_;
  kj::Timer& timer_;
  const BindingOptions options_;
  SysfsRoot sysfs_;
  DevRoot dev_;
  PlugindLease lease_;
  BindingDeps deps_;
  AllocationRecords allocations_;
  kj::AutoCloseFd commands_;
  kj::AutoCloseFd uevents_;
  ForkServer forkServer_;
  KubeletGate gate_;
};

void goUnderFilter(const ScratchNode& node, std::span<const Rule> table) {
  ScratchDaemon::step("giving up power");
  if (const auto failure = dropPrivileges({})) KJ_FAIL_REQUIRE(failure->str().c_str());
  ScratchDaemon::step("the fork server's start");
  auto forkServer = got(ForkServer::start(), ofText);
  ScratchDaemon::step("what is opened before the lock-down");
  auto io = kj::setupAsyncIo();
  ScratchDaemon daemon(node, kj::mv(forkServer), io);
  io.waitScope.poll();  // KJ asks for signals at its first poll
  ScratchDaemon::step("Landlock");
  const auto places = confineTo(serveOptionsFor(node), daemon.sysfs());
  if (!places) KJ_FAIL_REQUIRE(places.error().str().c_str());
  ScratchDaemon::step("the filter");
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
