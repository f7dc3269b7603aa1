#pragma once
// Cap'n Proto's calls on privd's hardware process, spoken by a taken-over plugind over one
// connection.

#include "ipc/schema/helper.capnp.h"
#include "tests/support/taken_over/captive.h"

#include <capnp/dynamic.h>
#include <capnp/rpc-twoparty.h>
#include <kj/exception.h>

#include <map>
#include <set>
#include <string>
#include <vector>

namespace vfiogate::test {

class Speaker {
public:
  /// Takes its next connection and enters.
  explicit Speaker(Captive& captive);
  KJ_DISALLOW_COPY(Speaker);

  schema::Session::Client session() { return KJ_ASSERT_NONNULL(session_); }
  /// Subscribes, and waits for the whole.
  void watch();
  /// The same beside the subscriptions that there are, which it keeps.
  void watchBeside();
  /// Of the groups that it was told of; those that left too.
  std::map<std::uint32_t, schema::GroupControl::Client> controls;
  /// As soon as privd has told of the group.
  schema::GroupControl::Client controlOf(std::uint32_t group);
  /// Returns as soon as privd has told that the group left.
  void awaitLeft(std::uint32_t group);

  template <typename T>
  auto await(T&& request) {
    return request.send().wait(captive_.io.waitScope);
  }

private:
  class Watcher;

  Captive& captive_;
  kj::Own<kj::AsyncIoStream> stream_;
  capnp::TwoPartyVatNetwork network_;
  capnp::RpcSystem<capnp::rpc::twoparty::VatId> rpc_;
  std::set<std::uint32_t> left_;
  kj::Maybe<schema::Session::Client> session_;
  std::vector<schema::Subscription::Client> subscriptions_;
};

/// What `ask` returns, or "hung up", or "exception".
template <typename Ask>
std::string outcomeOf(Ask ask) {
  try {
    return ask();
  } catch (const kj::Exception& failure) {
    return failure.getType() == kj::Exception::Type::DISCONNECTED ? "hung up" : "exception";
  }
}

/// The name of the member that a struct with one union has: "denied".
std::string memberOf(capnp::DynamicStruct::Reader answer);

}  // namespace vfiogate::test
