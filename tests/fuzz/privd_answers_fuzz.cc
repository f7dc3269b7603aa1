// Whatever privd answers plugind: the asking ends in what the answer says, in words that say that
// it makes no sense, or in a broken connection.

#include "ipc/codec/limits.h"
#include "plugind/privd/files_observer.h"
#include "plugind/privd/hardware_client.h"
#include "plugind/privd/spec_codec.h"
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

/// Counts what is new of the kubelet; the rest is never told here.
class Heard final : public PrivdEvents {
public:
  void hardwareSeen(const Snapshot&) override {}
  void allocationsTold(const RecordedAllocations& /*recorded*/) override {}
  void rightToBindTold(bool) override {}
  void socketsAvailable() override {}
  void kubeletAppeared(const KubeletIdentity&) override { ++count; }
  void podResourcesAppeared() override { ++count; }
  void checkpointReplaced() override { ++count; }
  void configurationPosted(const std::string&) override {}
  void privdWent() override {}

  unsigned count = 0;
};

void takeBinding(capnp::MessageReader& told, kj::WaitScope& scope) {
  const auto answered = askToBind(kj::heap<ToldControl>(told)).wait(scope);
  const bool done = answered.outcome.answer == BindOutcome::Answer::kDone;
  if (done) require(answered.outcome.why.empty());
}

void takeFiles(capnp::MessageReader& told, kj::WaitScope& scope) {
  Heard heard;
  schema::KubeletObserver::Client observer = kj::heap<FilesObserver>(heard);
  for (const unsigned news : {3U, 0U}) {  // the same again is nothing new
    const unsigned before = heard.count;
    auto request = observer.changedRequest();
    request.setFiles(told.getRoot<schema::KubeletObserver::ChangedParams>().getFiles());
    request.send().ignoreResult().wait(scope);
    require(heard.count <= before + news);
  }
}

void takeSpecs(capnp::MessageReader& told) {
  const std::vector<StaticSpec> specs{
      {.resource = "vfiogate.dev/gpu", .devices = {Bdf::make(0, 1, 0, 0).value()}}};
  const auto answer =
      decode(told.getRoot<schema::Session::DeclareSpecsResults>().getAnswer(), specs);
  if (answer) require(answer->specs.size() == 1);
  if (!answer) require(!answer.error().empty());
}

void takeClaimSpecs(capnp::MessageReader& told) {
  const auto written =
      decode(told.getRoot<schema::Session::WriteClaimSpecResults>().getAnswer(), 1);
  if (written) require(written->size() == 1);
  if (!written) require(!written.error().why.empty());
}

void takeClaimEnds(capnp::MessageReader& told) {
  const auto gone = decode(told.getRoot<schema::Session::UnlinkClaimSpecResults>().getAnswer());
  if (!gone) require(!gone.error().why.empty());
}

void takeClaimTexts(capnp::MessageReader& told) {
  const auto texts = decode(told.getRoot<schema::Session::ClaimSpecsResults>().getAnswer());
  if (texts) require(texts->size() <= kMostClaimSpecs);
  if (!texts) require(!texts.error().why.empty());
}

}  // namespace
}  // namespace vfiogate

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace vfiogate;
  static kj::AsyncIoContext io = kj::setupAsyncIo();
  const auto waiting = [](auto take) {
    return [take](capnp::MessageReader& told) { take(told, io.waitScope); };
  };
  readMessage(data, size, kFromPrivd, waiting(takeBinding), waiting(takeFiles), takeSpecs,
              takeClaimSpecs, takeClaimEnds, takeClaimTexts);
  return 0;
}
