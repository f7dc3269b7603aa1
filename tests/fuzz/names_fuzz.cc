// Whatever a person or a peer gives for a name: it is refused, or it keeps to its form, and what is
// written of it reads as the same.

#include "ipc/base/hex.h"
#include "ipc/base/kube_names.h"
#include "ipc/types/binding_change.h"
#include "ipc/types/selector.h"
#include "plugind/core/dra/device_attributes.h"
#include "privd/bind/plan/declaration.h"
#include "privd/cdi/cdi_spec.h"
#include "tests/fuzz/fuzz_input.h"

#include <string>

namespace vfiogate {
namespace {

bool isPath(std::string_view name) {
  return name == "." || name == ".." || name.find('/') != std::string_view::npos;
}

void readAddress(const std::string& text) {
  if (const auto address = Bdf::parse(text)) {
    require(*Bdf::parse(address->str()) == *address && text.size() <= 16);
    require(deviceAddress(deviceName(*address)) == *address);
  }
  if (const auto address = deviceAddress(text)) require(deviceName(*address) == text);
  if (const auto number = parseDecimal(text)) require(std::to_string(*number).size() <= 10);
}

void readResource(std::string_view text) {
  const auto resource = ResourceName::parse(text);
  if (!resource) return;
  require(resource->str() == text && isOneLine(text) && text.size() <= 308);
  require(isSpecFileName(specFileName(*resource)) && !isPath(specFileName(*resource)));
  if (isCdiKind(*resource))
    require(resource->str().find('.', resource->prefix().size()) == std::string::npos);
}

void readNames(std::string_view text) {
  if (isDriverName(text)) require(isOneLine(text) && !isPath(text));
  if (isDnsLabel(text)) require(isDnsSubdomain(text) && text.size() <= 63);
  if (isDnsSubdomain(text)) require(isPoolName(text) && !isPath(text) && isPlainPath(text));
  if (isPoolName(text)) require(isPlainPath(text) && text.find("..") == std::string_view::npos);
  if (isDraDriver(text)) require(isDnsSubdomain(text, kLongestDraDriver));
  if (isUid(text))
    require(text.size() == 36 && claimUidOf(claimFileName(std::string(text))) == text);
  if (claimUidOf(text) || isSpecFileName(text)) require(!isPath(text) && isOneLine(text));
}

/// The values in their one spelling are accepted again, as the same.
void readSelector(const Selector& selector) {
  Selector again;
  for (const auto& [key, values] : selector.values()) {
    for (const std::string& value : values) {
      require(again.add(selectorKeyName(key), value).has_value());
    }
  }
  require(again == selector);
  PciDevice device{.address = Bdf::make(0, 1, 0, 0).value()};
  matches(selector, device);
}

void readOptions(std::string_view text) {
  if (const auto selector = Selector::parse(text)) readSelector(*selector);
  if (const auto declared = parseDeclaration(text)) readSelector(*declared);
  const auto lifted = parseOverride(text);
  if (lifted) require(guardNamed(nameOf(lifted->guard)) == lifted->guard);
  if (!lifted) require(!lifted.error().empty());
  const std::string_view pattern = takePart(text, '\n');
  if (matchesPattern(pattern, text)) require(pattern == text || pattern.find('*') != pattern.npos);
}

}  // namespace
}  // namespace vfiogate

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text = vfiogate::textOf(data, size);
  vfiogate::readAddress(std::string(text));
  vfiogate::readResource(text);
  vfiogate::readNames(text);
  vfiogate::readOptions(text);
  return 0;
}
