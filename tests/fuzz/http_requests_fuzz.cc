// Whatever a client of the metrics server sends: it gets answers that begin as HTTP's do, and the
// connection is over soon after its end.

#include "netd/metrics/http_visit.h"
#include "netd/metrics/news_cache.h"
#include "tests/fuzz/fuzz_input.h"

#include <kj/async-io.h>

#include <array>
#include <string>

namespace vfiogate {
namespace {

class ReadyPlugind final : public PlugindSource {
public:
  kj::Promise<PlugindAnswer> ask() override {
    return PlugindAnswer(PlugindNews{"vfiogate_up 1\n", true, "ready"});
  }
};

/// All that is written into a stream up to its end.
std::string readAll(kj::AsyncIoStream& stream, kj::WaitScope& scope) {
  std::string text;
  std::array<char, 4096> piece = {};
  while (true) {
    auto read = stream.tryRead(piece.data(), 1, piece.size());
    if (!read.poll(scope)) return text;  // the server waits for more
    const std::size_t size = read.wait(scope);
    if (size == 0) return text;
    text.append(piece.data(), size);
  }
}

void visit(kj::ArrayPtr<const kj::byte> sent, kj::WaitScope& scope) {
  kj::TimerImpl timer(kj::origin<kj::TimePoint>());
  ReadyPlugind plugind;
  NetdCounters counters;
  NewsCache news(plugind, timer, counters);
  HttpBook book;
  const kj::HttpHeaderTable headers;
  auto pipe = kj::newTwoWayPipe();
  {
    HttpVisit visit({news, counters, timer, headers, book}, kj::mv(pipe.ends[0]));
    auto served = visit.serve().eagerlyEvaluate(nullptr);
    auto written = pipe.ends[1]
                       ->write(sent.begin(), sent.size())
                       .then([&end = *pipe.ends[1]]() { end.shutdownWrite(); })
                       .eagerlyEvaluate([](kj::Exception&&) {});
    const std::string answers = readAll(*pipe.ends[1], scope);
    require(answers.empty() || answers.starts_with("HTTP/1.1 "));
    // Every patience is over by then.
    timer.advanceTo(kj::origin<kj::TimePoint>() + 1 * kj::MINUTES);
    readAll(*pipe.ends[1], scope);
    timer.advanceTo(kj::origin<kj::TimePoint>() + 2 * kj::MINUTES);
    require(served.poll(scope));
  }
}

}  // namespace
}  // namespace vfiogate

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace vfiogate;
  static kj::EventLoop loop;
  static kj::WaitScope scope(loop);
  require(!nameOf(placeOf(textOf(data, size))).empty());
  visit(kj::arrayPtr(data, size), scope);
  return 0;
}
