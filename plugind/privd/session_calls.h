#pragma once
// How privd is asked over one connection: so many questions at a time, and none beyond its end.

#include "ipc/schema/helper.capnp.h"
#include "plugind/base/concurrency_limit.h"

#include <capnp/capability.h>
#include <kj/async.h>
#include <kj/timer.h>

#include <string>

namespace vfiogate {

template <typename Results>
using Response = capnp::Response<Results>;

/// Resolves after `patience`, of which the last second begins only once we run: where we were
/// frozen what has come meanwhile is taken first. `patience` is at least 1 s.
kj::Promise<void> waitedInVain(kj::Timer& timer, kj::Duration patience);

/// Shared by the clients of one connection. The loop's thread only.
class SessionCalls {
public:
  SessionCalls();
  KJ_DISALLOW_COPY(SessionCalls);

  void begin(schema::Session::Client session) { session_ = kj::mv(session); }
  /// Null: privd has not let us in yet.
  kj::Maybe<schema::Session::Client>& session() { return session_; }

  /// What privd does wrongly ends the connection; why, is for the log.
  void hangUp(const std::string& why);
  /// Resolves with the first reason to hang up. Once.
  kj::Promise<std::string> over() { return kj::mv(over_.promise); }

  /// Whoever waits for an answer is told that privd is away. Before what the calls use goes.
  void end();

  /// `promise`, which ends with the connection.
  template <typename T>
  kj::Promise<T> keep(kj::Promise<T> promise) {
    return asked_.wrap(kj::mv(promise));
  }

  /// `promise`, and the connection's end, by the reason `why`, where that takes longer.
  template <typename T>
  kj::Promise<T> within(kj::Timer& timer, kj::Duration patience, const char* why,
                        kj::Promise<T> promise) {
    auto late = waitedInVain(timer, patience).then([this, why]() -> kj::Promise<T> {
      hangUp(why);
      return kj::NEVER_DONE;
    });
    return promise.exclusiveJoin(kj::mv(late));
  }

  /// `call` returns a promise, and is called when there is a place.
  template <typename Call>
  auto pass(Call call) -> decltype(call()) {
    return keep(calls_.pass(kj::mv(call)));
  }

private:
  ConcurrencyLimit calls_;
  kj::Maybe<schema::Session::Client> session_;
  kj::PromiseFulfillerPair<std::string> over_ = kj::newPromiseAndFulfiller<std::string>();
  kj::Canceler asked_;  // last: what was asked uses all of the above
};

/// Of what is asked before privd let us in.
kj::Exception notInYet();

}  // namespace vfiogate
