// Whatever the file of the token says, and whatever bytes the API server answers: a request ends in
// an answer within bounds or a failure in words, a watch tells lines, and no line of a token gets
// into the head.
//
// The input: the token's text up to the first zero byte, then the server's bytes.

#include "netd/dra/api/kj_api_client.h"
#include "sim/base/temp_dir.h"
#include "tests/fuzz/fuzz_input.h"

#include <kj/async-io.h>
#include <kj/debug.h>

#include <array>
#include <fstream>
#include <string>

namespace vfiogate {
namespace {

/// A connection on which all that will be said is there already.
class ToldServer final : public kj::NetworkAddress {
public:
  ToldServer(kj::ArrayPtr<const kj::byte> told, std::string& asked) : told_(told), asked_(asked) {}

  kj::Promise<kj::Own<kj::AsyncIoStream>> connect() override {
    auto pipe = kj::newTwoWayPipe();
    auto answered = pipe.ends[1]
                        ->write(told_.begin(), told_.size())
                        .then([&end = *pipe.ends[1]]() { end.shutdownWrite(); })
                        .eagerlyEvaluate([](kj::Exception&&) {});
    auto read = hear(*pipe.ends[1]).eagerlyEvaluate([](kj::Exception&&) {});
    return pipe.ends[0].attach(kj::mv(answered), kj::mv(read), kj::mv(pipe.ends[1]));
  }
  kj::Own<kj::ConnectionReceiver> listen() override {
    kj::throwFatalException(KJ_EXCEPTION(UNIMPLEMENTED, "not here"));
  }
  kj::Own<kj::NetworkAddress> clone() override {
    kj::throwFatalException(KJ_EXCEPTION(UNIMPLEMENTED, "not here"));
  }
  kj::String toString() override { return kj::str("told"); }

private:
  kj::Promise<void> hear(kj::AsyncIoStream& stream) {
    return stream.tryRead(piece_.data(), 1, piece_.size())
        .then([this, &stream](std::size_t size) -> kj::Promise<void> {
          asked_.append(piece_.data(), size);
          return size == 0 ? kj::Promise<void>(kj::READY_NOW) : hear(stream);
        });
  }

  kj::ArrayPtr<const kj::byte> told_;
  std::string& asked_;
  std::array<char, 4096> piece_ = {};
};

void checkOutcome(const Result<ApiAnswer, ApiFailure>& outcome) {
  if (!outcome) return require(!outcome.error().why.empty());
  require(outcome->body.size() <= std::size_t{4} << 20U);
}

void checkAsked(const std::string& asked) {
  if (asked.empty()) return;
  const std::string_view head = std::string_view(asked).substr(0, asked.find("\r\n\r\n"));
  std::size_t lines = 0;
  for (const char c : head) lines += c == '\n' ? 1 : 0;
  require(head.starts_with("GET /") && lines <= 5);  // Host and ours
}

void ask(std::string_view token, kj::ArrayPtr<const kj::byte> told, kj::WaitScope& scope) {
  static const TempDir kDirectory("/dev/shm");
  std::ofstream(kDirectory / "token", std::ios::binary) << token;
  for (const bool watches : {false, true}) {
    kj::TimerImpl timer(kj::origin<kj::TimePoint>());
    std::string asked;
    ToldServer server(told, asked);
    WatchedFile file(kDirectory / "token", 65536);
    KjApiClient client({timer, server, "api.example:443", file});
    auto answer = watches ? client.watch("/api/v1/nodes?watch=1",
                                         [](const std::string& line) { require(!line.empty()); })
                          : client.ask(ApiMethod::kGet, "/api/v1/nodes/n", {});
    if (!answer.poll(scope)) timer.advanceTo(kj::origin<kj::TimePoint>() + 1 * kj::HOURS);
    checkOutcome(answer.wait(scope));
    checkAsked(asked);
  }
}

}  // namespace
}  // namespace vfiogate

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace vfiogate;
  static kj::EventLoop loop;
  static kj::WaitScope scope(loop);
  std::string_view rest = textOf(data, size);
  const std::string_view token = takePart(rest, '\0');
  ask(token, kj::arrayPtr(data + size - rest.size(), rest.size()), scope);
  return 0;
}
