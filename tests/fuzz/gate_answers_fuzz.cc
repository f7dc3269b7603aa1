// Whatever privd's gate answers about the kubelet's files and sockets, with whatever descriptor
// beside it: no more is read than the file has, and a refusal has words.

#include "ipc/codec/limits.h"
#include "plugind/privd/gate_client.h"
#include "tests/fuzz/aligned_words.h"
#include "tests/fuzz/fuzz_input.h"

#include <kj/async-io.h>

#include <sys/mman.h>
#include <sys/socket.h>

namespace vfiogate {
namespace {

constexpr std::size_t kFileBytes = 64;

class ToldGate final : public schema::KubeletGate::Server {
public:
  explicit ToldGate(capnp::MessageReader& told) : told_(told) {}

protected:
  kj::Promise<void> checkpoint(CheckpointContext context) override {
    context.setResults(told_.getRoot<schema::KubeletGate::CheckpointResults>());
    return kj::READY_NOW;
  }
  kj::Promise<void> dial(DialContext context) override {
    context.setResults(told_.getRoot<schema::KubeletGate::DialResults>());
    return kj::READY_NOW;
  }
  kj::Promise<void> listen(ListenContext context) override {
    context.setResults(told_.getRoot<schema::KubeletGate::ListenResults>());
    return kj::READY_NOW;
  }

private:
  capnp::MessageReader& told_;
};

/// A descriptor that says `kind`, and holds kFileBytes.
void sendFile(DescriptorSender& sender, std::uint32_t ticket, DescriptorKind kind) {
  const kj::AutoCloseFd file(memfd_create("checkpoint", MFD_CLOEXEC));
  require(ftruncate(file, kFileBytes) == 0);
  require(sender.send(ticket, kind, file) == DescriptorSender::Sent::kSent);
}

template <typename Answer>
kj::Promise<void> checked(kj::Promise<Result<Answer, SocketRefusal>> answer) {
  return answer.then([](const Result<Answer, SocketRefusal>& told) {
    if (!told) return require(!told.error().why.empty());
    if constexpr (requires { told->text; }) require(told->text.size() <= kFileBytes);
  });
}

/// All three at once; what waits for a descriptor that does not come is given up.
void askAll(capnp::MessageReader& told, kj::AsyncIoContext& io) {
  int pair[2];
  require(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, pair) == 0);
  DescriptorSender sender{kj::AutoCloseFd(pair[0])};
  const auto receiver =
      std::make_shared<DescriptorReceiver>(io.unixEventPort, kj::AutoCloseFd(pair[1]));
  SessionCalls calls(io.provider->getTimer());
  GateClient gate(kj::heap<ToldGate>(told), receiver, calls);
  kj::Vector<kj::Promise<void>> asked;
  asked.add(checked(gate.checkpoint()).eagerlyEvaluate([](kj::Exception&&) {}));
  asked.add(checked(gate.dialKubelet()).eagerlyEvaluate([](kj::Exception&&) {}));
  asked.add(checked(gate.listenFor(*ResourceName::parse("vfiogate.dev/gpu")))
                .eagerlyEvaluate([](kj::Exception&&) {}));
  sendFile(sender, 1, DescriptorKind::kFile);
  sendFile(sender, 2, DescriptorKind::kConnection);
  sendFile(sender, 3, DescriptorKind::kListener);
  io.waitScope.poll();
}

}  // namespace
}  // namespace vfiogate

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace vfiogate;
  static kj::AsyncIoContext io = kj::setupAsyncIo();
  readMessage(data, size, kFromPrivd, [](capnp::MessageReader& told) { askAll(told, io); });
  return 0;
}
