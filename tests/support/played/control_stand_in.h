#pragma once
// plugind as `netd dra` meets it: takes the API server that is attached, and asks it.

#include "ipc/api/api_claim.h"
#include "ipc/api/device_pool.h"
#include "ipc/schema/plugind.capnp.h"

#include <capnp/rpc-twoparty.h>
#include <kj/async-io.h>

#include <optional>
#include <string>

namespace vfiogate::test {

/// Lives on the test's own loop.
class ControlStandIn {
public:
  /// Listens at `directory`/plugind.sock, which everybody may reach. An empty `driver`: DRA is off.
  ControlStandIn(kj::AsyncIoContext& io, const std::string& directory, std::string driver);
  // Where the connection's type is known.
  ~ControlStandIn();
  ControlStandIn(const ControlStandIn&) = delete;
  ControlStandIn& operator=(const ControlStandIn&) = delete;

  /// Waits until netd attached once more than was waited for before. Throws after 30 s.
  void awaitAttached();
  /// Hangs up, as a plugind that restarts.
  void hangUp();

  const std::string& node() const { return node_; }
  unsigned attachments() const { return attached_; }
  schema::ApiServer::Client api() { return KJ_ASSERT_NONNULL(api_); }
  ClaimAnswer claim(const std::string& driver, const std::string& name);
  /// Waits until it is stored.
  KeptFields publish(const DevicePool& pool);
  /// The failure; empty: stored.
  std::string report(const ClaimReport& report);

private:
  class Control;
  struct Connection;

  kj::Promise<void> acceptNext();

  kj::AsyncIoContext& io_;
  const std::string driver_;
  kj::Own<kj::ConnectionReceiver> listener_;
  kj::Own<Connection> connection_;
  kj::Maybe<schema::ApiServer::Client> api_;
  std::string node_;
  unsigned attached_ = 0;
  unsigned awaited_ = 0;
  kj::Promise<void> accepting_ = nullptr;
};

}  // namespace vfiogate::test
