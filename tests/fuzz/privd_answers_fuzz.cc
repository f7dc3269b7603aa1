// Whatever privd answers plugind about a group's drivers: the asking ends in what the answer says,
// in words that say that it makes no sense, or in a broken connection.

#include "ipc/codec/limits.h"
#include "plugind/privd/hardware_client.h"
#include "tests/fuzz/aligned_words.h"
#include "tests/fuzz/fuzz_input.h"

#include <kj/async-io.h>

namespace vfiogate {
namespace {

class ToldControl final : public schema::GroupControl::Server {
public:
  explicit ToldControl(capnp::MessageReader& told) : told_(told) {}

protected:
  kj::Promise<void> bind(BindContext context) override {
    context.setResults(told_.getRoot<schema::GroupControl::BindResults>());
    return kj::READY_NOW;
  }

private:
  capnp::MessageReader& told_;
};

void takeBinding(capnp::MessageReader& told, kj::WaitScope& scope) {
  const auto answered = askToBind(kj::heap<ToldControl>(told)).wait(scope);
  const bool done = answered.outcome.answer == BindOutcome::Answer::kDone;
  if (done) require(answered.outcome.why.empty());
}

}  // namespace
}  // namespace vfiogate

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace vfiogate;
  static kj::AsyncIoContext io = kj::setupAsyncIo();
  readMessage(data, size, kFromPrivd,
              [](capnp::MessageReader& told) { takeBinding(told, io.waitScope); });
  return 0;
}
