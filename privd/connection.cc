#include "privd/connection.h"

#include "ipc/codec/limits.h"

namespace vfiogate {

Connection::Connection(Node& node, Rights rights, kj::Maybe<DescriptorSender> channel,
                       kj::Own<kj::AsyncIoStream> stream)
    : stream_(kj::mv(stream)),
      hungUp_(kj::newPromiseAndFulfiller<kj::String>()),
      metered_(*stream_),
      network_(metered_, capnp::rpc::twoparty::Side::SERVER, kFromPeer),
      rpc_(capnp::makeRpcServer(
          network_, makeDoor(node, Service{rights, kj::mv(channel), [this](kj::StringPtr why) {
                                             hungUp_.fulfiller->fulfill(kj::str(why));
                                           }}))) {
  rpc_.setFlowLimit(kFlowLimitWords);
}

kj::Promise<kj::String> Connection::ended() {
  auto left = network_.onDisconnect().then([this]() -> kj::String {
    KJ_IF_MAYBE (verdict, metered_.verdict()) return kj::str(verdict->text);
    return kj::String();
  });
  return left.exclusiveJoin(kj::mv(hungUp_.promise));
}

}  // namespace vfiogate
