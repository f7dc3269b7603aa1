// Whatever the API server says of slices, the Node and itself, in lists, events of a watch and
// words of refusal: it is refused in words, or what is read of it is written and read as the same.

#include "netd/dra/api/api_client.h"
#include "netd/dra/api/api_url.h"
#include "netd/dra/api/api_versions.h"
#include "netd/dra/api/json_text.h"
#include "netd/dra/api/line_splitter.h"
#include "netd/dra/slices/publish_trouble.h"
#include "netd/dra/slices/slice.h"
#include "netd/dra/slices/slice_name.h"
#include "netd/dra/slices/slice_requests.h"
#include "netd/dra/slices/slice_view.h"
#include "tests/fuzz/fuzz_input.h"

#include <string>

namespace vfiogate {
namespace {

const SliceOwner kNode{"node-1", "n-uid"};

void checkSlice(ResourceApi api, const Slice& slice) {
  require(!slice.name.empty() && !slice.uid.empty() && !slice.resourceVersion.empty());
  if (!slice.spec.strange.empty()) return;  // never written
  const std::string text = jsonOf(slice, api).dump();
  const auto again = sliceFromText(api, text);
  require(again && *again == slice);
}

/// What the server has, whatever it is, can be brought to what a pool wants.
void checkPlan(ResourceApi api, const ObservedSlices& observed) {
  DevicePool pool{
      .driver = "vfio.vfiogate.dev", .name = kNode.name, .devices = {{"0000-01-00-0", {}}}};
  const auto plan = planSlices(pool, kNode, observed, {});
  if (!plan) return require(!plan.error().empty());
  require(!plan->wanted.empty());
  for (const SliceWrite& write : plan->writes) {
    const ApiRequest request = requestOf(api, write);
    require(request.path.starts_with("/apis/") && readJsonObject(request.body).has_value());
  }
}

void readList(ResourceApi api, const std::string& text) {
  const auto page = slicePageFrom(api, text);
  if (!page) return require(!page.error().empty());
  for (const Slice& slice : page->slices) checkSlice(api, slice);
  require(isOneLine(sliceListPath({api, "vfio.vfiogate.dev", "node-1"}, page->next, true)));
  SliceView view;
  view.begin();
  view.add(*page);
  checkPlan(api, view.slices());
}

void readEvents(ResourceApi api, std::string_view text) {
  SliceView view;
  LineSplitter splitter(4096);
  splitter.feed(text, [&view, api](const std::string& line) {
    const SliceEvent event = sliceEventFrom(api, line);
    if (event.kind == SliceEvent::Kind::kStored) checkSlice(api, event.slice);
    view.hear(event);
  });
  checkPlan(api, view.slices());
}

void readWords(const std::string& text) {
  require(statusMessage(text).size() <= 256);
  require(!wordsOf({403, text}).empty());
  require(quotedJsonText(text).size() <= 80 && isOneLine(quotedJsonText(text)));
  if (const auto uid = uidFrom(text)) require(!uid->empty());
  for (const unsigned status : {200U, 422U}) {
    const auto served = isServed(ApiAnswer{status, text});
    require(served || !served.error().empty());
    require(status == 422 || !refusesCounters(ApiAnswer{status, text}));
  }
  if (const auto url = ApiUrl::parse(text)) require(*ApiUrl::parse(url->str()) == *url);
  if (const auto slot = sliceSlotOf("base", text)) require(sliceName("base", *slot) == text);
}

}  // namespace
}  // namespace vfiogate

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string text(vfiogate::textOf(data, size));
  for (const vfiogate::ResourceApi api : vfiogate::kResourceApis) {
    vfiogate::readList(api, text);
    vfiogate::readEvents(api, text);
  }
  vfiogate::readWords(text);
  return 0;
}
