#include "privd/rpc/connection.h"

#include "ipc/codec/limits.h"

namespace vfiogate {

Connection::Connection(Node& node, Rights rights, kj::Own<kj::AsyncIoStream> stream)
    : stream_(kj::mv(stream)),
      hungUp_(kj::newPromiseAndFulfiller<kj::String>()),
      metered_(*stream_),
      network_(metered_, capnp::rpc::twoparty::Side::SERVER, kFromPrivd),
      rpc_(capnp::makeRpcServer(
          network_, makeHandshake(node, Service{rights, [this](kj::StringPtr why) {
                                                  hungUp_.fulfiller->fulfill(kj::str(why));
                                                }}))) {
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
