#include "privd/rpc/connection.h"

#include "ipc/codec/limits.h"

namespace vfiogate {

Connection::Connection(Node& node, Rights rights, kj::Maybe<DescriptorSender> channel,
                       kj::Own<kj::AsyncIoStream> stream, AuditPeer who)
    : stream_(kj::mv(stream)),
      hungUp_(kj::newPromiseAndFulfiller<kj::String>()),
      metered_(*stream_),
      network_(metered_, capnp::rpc::twoparty::Side::SERVER, kFromPrivd),
      rpc_(capnp::makeRpcServer(
          network_, makeHandshake(node, Service{rights, kj::mv(channel),
                                                [this](kj::StringPtr why) { hangUp(why); },
                                                std::move(who)}))) {
  rpc_.setFlowLimit(kFlowLimitWords);
  metered_.countQueueWith([this]() { return network_.getCurrentQueueCount(); });
}

kj::Promise<kj::String> Connection::ended() {
  auto left = network_.onDisconnect().then([]() { return kj::String(); });
  auto offended =
      metered_.offended().then([](Offence offence) { return kj::str(reasonOf(offence)); });
  return left.exclusiveJoin(kj::mv(hungUp_.promise)).exclusiveJoin(kj::mv(offended));
}

}  // namespace vfiogate
