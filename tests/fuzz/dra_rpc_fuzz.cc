// Whatever bytes plugind and `netd dra` tell each other of claims, pools and reports: decoding
// refuses them in words, or what it makes of them is the same once more over RPC; and netd
// makes requests of every pool and report, or refuses it in words.

#include "ipc/api/api_codec.h"
#include "ipc/codec/limits.h"
#include "netd/dra/api/json_text.h"
#include "netd/dra/claims/claim_json.h"
#include "netd/dra/slices/slice_requests.h"
#include "tests/fuzz/aligned_words.h"
#include "tests/fuzz/fuzz_input.h"

#include <capnp/message.h>

#include <string>

namespace vfiogate {
namespace {

template <typename Schema>
auto readTwice(capnp::MessageReader& reader) {
  auto value = decode(reader.getRoot<Schema>());
  if (value) {
    capnp::MallocMessageBuilder message;
    encode(*value, message.initRoot<Schema>());
    require(*decode(message.getRoot<Schema>().asReader()) == *value);
  } else {
    require(!value.error().empty());
  }
  return value;
}

void claimOnceMore(capnp::MessageReader& reader) {
  static_cast<void>(readTwice<schema::ClaimAnswer>(reader));
}

void poolOnceMore(capnp::MessageReader& reader) {
  const auto pool = readTwice<schema::DevicePool>(reader);
  if (!pool) return;
  const auto plan = planSlices(*pool, {"node-1", "n-uid"}, {}, {});
  if (!plan) return require(!plan.error().empty());
  for (const SliceWrite& write : plan->writes) {
    require(readJsonObject(requestOf(ResourceApi::kV1, write).body).has_value());
  }
}

void reportOnceMore(capnp::MessageReader& reader) {
  const auto report = readTwice<schema::ClaimReport>(reader);
  if (!report) return;
  const std::string claim = R"({"metadata": {"uid": "u"}, "status": {"allocation": {}}})";
  ClaimReport ours = *report;
  ours.uid = "u";
  const auto written = claimWithReport(claim, ours, std::chrono::sys_seconds());
  require(written && (!*written || readJsonObject(**written).has_value()));
}

}  // namespace
}  // namespace vfiogate

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace vfiogate;
  readMessage(data, size, kFromPeer, claimOnceMore, poolOnceMore, reportOnceMore);
  return 0;
}
