#pragma once
// Which PCI functions and mediated devices a person means: the words of options and of
// configuration files.

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ipc/base/result.h"
#include "ipc/types/snapshot.h"

namespace vfiogate {

enum class SelectorKey : std::uint8_t {
  kVendor,
  kDevice,
  kSubvendor,
  kSubdevice,
  kClass,
  kDriver,
  kAddress,
  kRoot,
  kNuma,
  kSriov,
  kMdev,
  kVgpu,
  kProduct,
  kSlot,
  kRootPort,
  kSerial,
};

/// The key as people write it: "vendor", "numa".
std::string_view selectorKeyName(SelectorKey key);

/// What is wrong with a selector's text and what would mend it, for people.
struct SelectorProblem {
  std::string text;
};

/// A condition on a PCI function; with the key mdev on a mediated device, and the other keys are
/// then its parent's. Every key must match; a key with several values wants any one of them;
/// without a key it matches every function. Only with values that can match something: parse() and
/// add() are the only ways in.
class Selector {
public:
  /// Reads "key=value[,key=value...]", or "10de:2684" for vendor and device.
  static Result<Selector, SelectorProblem> parse(std::string_view text);

  /// Accepts one more value for `key`. Hex in either case, with or without 0x; `class` is a prefix
  /// of 2, 4 or 6 digits; `address` takes '*'; `sriov` is none, pf or vf; `vgpu` is the number of a
  /// vGPU's type or its name, in which '_' stands for a blank, too, and '*' for anything; so is
  /// `product`, what pci.ids calls the model. `slot` takes '*', `rootPort` is an address,
  /// `serial` is what isSerialNumber().
  Result<Done, SelectorProblem> add(std::string_view key, std::string_view value);

  bool empty() const { return values_.empty(); }
  /// The accepted values in their one spelling: lower case, without 0x, as matched.
  const std::map<SelectorKey, std::vector<std::string>>& values() const { return values_; }

  friend bool operator==(const Selector&, const Selector&) = default;

private:
  std::map<SelectorKey, std::vector<std::string>> values_;
};

/// Selector::parse() of PCI functions, by what sysfs says of each. Error, too: the keys mdev,
/// product, slot and serial.
Result<Selector, SelectorProblem> functionSelector(std::string_view text);

/// What sysfs does not say about `device` matches no value, and no function matches a selector of
/// mediated devices. `product` is what pci.ids calls its model, `serial` the serial number that the
/// card tells; empty: that is not known, or there is none; without a value it may be any, so that
/// all other keys are asked.
bool matches(const Selector& selector, const PciDevice& device, std::string_view product = {},
             std::optional<std::string_view> serial = std::string_view());

/// True if the selector has the key product: who matches by it has to know pci.ids.
bool selectsProducts(const Selector& selector);

/// True if the selector has the key serial: who matches by it has to have asked the cards.
bool selectsSerials(const Selector& selector);

/// True if the selector has the key vgpu: it is of functions that are vGPUs.
bool selectsVgpus(const Selector& selector);

/// True if the selector has the key mdev: it is of mediated devices.
bool selectsMediated(const Selector& selector);
/// `mdev` by the id of the type, or by its name, in which '_' stands for a blank, too, and '*' for
/// anything. A parent that is no PCI function of `snapshot` matches no other key. `product` and
/// `serial` are the parent's.
bool matches(const Selector& selector, const Snapshot& snapshot, const MediatedDevice& device,
             std::string_view product = {},
             std::optional<std::string_view> serial = std::string_view());

/// True for what a slot may be called so that a selector can say it: visible ASCII and blanks, at
/// most 64. Firmware says 4, the kernel 4-1 of a second one, others are P1-C5 or "GPU slot 2".
bool isSlotName(std::string_view text);

/// Of a serial number, bytes.
inline constexpr std::size_t kLongestSerial = 64;
/// True for 1 to 64 visible ASCII characters and blanks, none of those at either end.
bool isSerialNumber(std::string_view text);

/// True if `pattern` (with '*' for any run of characters) covers `text`.
bool matchesPattern(std::string_view pattern, std::string_view text);

}  // namespace vfiogate
