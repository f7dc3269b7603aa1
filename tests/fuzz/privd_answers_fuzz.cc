// Whatever privd's hardware process answers plugind about a group: the reading is what the answer
// says, and the same once more, or says that there is none, or the connection is broken off.

#include "ipc/codec/limits.h"
#include "plugind/privd/hardware_client.h"
#include "tests/fuzz/aligned_words.h"
#include "tests/fuzz/fuzz_input.h"
#include "tests/support/hardware.h"
#include "tests/support/played/silent_events.h"

#include <capnp/message.h>
#include <kj/async-io.h>

namespace vfiogate {
namespace {

constexpr IommuGroupId kGroup(12);

class ToldControl final : public schema::GroupControl::Server {
public:
  explicit ToldControl(capnp::MessageReader& told) : told_(told) {}

protected:
  kj::Promise<void> reread(RereadContext context) override {
    context.setResults(told_.getRoot<schema::GroupControl::RereadResults>());
    return kj::READY_NOW;
  }

private:
  capnp::MessageReader& told_;
};

class Subscribed final : public schema::Subscription::Server {};

/// Tells of one group, which is reread as the input says.
class OneGroup final : public schema::Session::Server {
public:
  explicit OneGroup(capnp::MessageReader& told) : told_(told) {}

protected:
  kj::Promise<void> watch(WatchContext context) override {
    test::Hardware hardware;
    hardware.add("0000:01:00.0", kGroup.number());
    auto request = context.getParams().getObserver().changedRequest();
    encode(Update{1, 1, hardware.snapshot()}, request.initUpdate(), [this](const IommuGroup&) {
      return kj::Maybe<schema::GroupControl::Client>(kj::heap<ToldControl>(told_));
    });
    context.getResults().setSubscription(kj::heap<Subscribed>());
    return request.send().ignoreResult();
  }

private:
  capnp::MessageReader& told_;
};

void requireTheSame(const Snapshot& seen) {
  capnp::MallocMessageBuilder message;
  encode(seen, message.initRoot<schema::Snapshot>(), noControl);
  const auto again = decode(message.getRoot<schema::Snapshot>().asReader());
  require(again && again->snapshot == seen);
}

void takeReading(capnp::MessageReader& told, kj::AsyncIoContext& io) {
  test::SilentEvents events;
  SessionCalls calls;
  const BindingView bindings;
  HardwareClient client(events, calls, bindings, io.provider->getTimer());
  calls.begin(kj::heap<OneGroup>(told));
  client.subscribe().wait(io.waitScope);
  const GroupReading reading = client.reread(kGroup).wait(io.waitScope);
  if (reading.answer == GroupReading::Answer::kSeen) return requireTheSame(reading.seen);
  require(reading.seen == Snapshot());
}

}  // namespace
}  // namespace vfiogate

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace vfiogate;
  static kj::AsyncIoContext io = kj::setupAsyncIo();
  readMessage(data, size, kFromPrivd, [](capnp::MessageReader& told) { takeReading(told, io); });
  return 0;
}
