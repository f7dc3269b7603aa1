#pragma once
// privd's binder as a played privd keeps it: the made-up hardware follows what it binds.

#include "ipc/binder/binder_packets.h"
#include "tests/support/played/fake_privd_rpc.h"

#include <kj/async-unix.h>
#include <kj/async.h>
#include <kj/io.h>

#include <map>
#include <vector>

namespace vfiogate::test {

/// One channel's end. Answers as the test says. privd's thread only.
class PlayedBinder final : private kj::TaskSet::ErrorHandler {
public:
  /// `play` is borrowed.
  PlayedBinder(Play& play, kj::UnixEventPort& port, kj::AutoCloseFd channel);

  /// Resolves when plugind has hung up.
  kj::Promise<void> serve();
  /// Tells what is another than was told, if that was seen, and sends the answers that wait for it.
  void tellNews();

private:
  void take(const binder::Request& request);
  void change(std::uint32_t number, const std::vector<Bdf>& members, bool bind);
  void end(std::uint32_t number, IommuGroupId group, bool bind);
  kj::Promise<void> untilNoWait();
  std::vector<binder::GroupState> news();
  void send(const binder::FromBinder& message);
  void taskFailed(kj::Exception&& exception) override;

  Play& play_;
  kj::AutoCloseFd channel_;
  kj::UnixEventPort::FdObserver readable_;
  bool first_ = true;
  bool awaitsSeen_ = false;
  std::map<IommuGroupId, binder::GroupState> told_;
  std::vector<binder::Answer> answers_;  ///< after the next Changed
  kj::TaskSet changes_;                  // last: they use all of the above
};

}  // namespace vfiogate::test
