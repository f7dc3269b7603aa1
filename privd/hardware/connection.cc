#include "privd/hardware/connection.h"

#include "ipc/codec/limits.h"

namespace vfiogate {

Connection::Connection(Node& node, kj::Own<kj::AsyncIoStream> stream)
    : stream_(kj::mv(stream)),
      hungUp_(kj::newPromiseAndFulfiller<std::string>()),
      metered_(*stream_, node.timer),
      network_(metered_, capnp::rpc::twoparty::Side::SERVER, kFromPrivd),
      rpc_(capnp::makeRpcServer(network_, makeHandshake(node, [this](kj::StringPtr why) {
                                  hungUp_.fulfiller->fulfill(why.cStr());
                                }))) {
  rpc_.setFlowLimit(kFlowLimitWords);
  metered_.countQueueWith([this]() { return network_.getCurrentQueueCount(); });
}

kj::Promise<std::string> Connection::ended() {
  auto left = network_.onDisconnect().then([]() { return std::string(); });
  auto offended = metered_.offended().then(
      [](Offence offence) { return std::string(kj::StringPtr(reasonOf(offence)).cStr()); });
  return left.exclusiveJoin(kj::mv(hungUp_.promise)).exclusiveJoin(kj::mv(offended));
}

}  // namespace vfiogate
