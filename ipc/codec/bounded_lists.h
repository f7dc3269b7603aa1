#pragma once
// What every encoder needs: texts and lists that keep to the bounds of the RPC.

#include "ipc/codec/limits.h"
#include "ipc/schema/helper.capnp.h"
#include "ipc/types/bdf.h"

#include <kj/string.h>

#include <algorithm>
#include <string>
#include <utility>

namespace vfiogate {

inline capnp::uint bounded(std::size_t size, std::uint32_t limit) {
  return static_cast<capnp::uint>(std::min<std::size_t>(size, limit));
}

inline kj::String cut(const std::string& text) {
  return kj::heapString(text.data(), bounded(text.size(), kMaxText));
}

template <typename Key, typename Value>
const Value& valueIn(const std::pair<const Key, Value>& entry) {
  return entry.second;
}

template <typename Value>
const Value& valueIn(const Value& item) {
  return item;
}

/// Fills the list that `init` makes with the first `limit` items, of a map with its values.
template <typename Items, typename Init, typename Write>
void encodeList(const Items& items, std::uint32_t limit, Init init, Write write) {
  const capnp::uint size = bounded(items.size(), limit);
  if (size == 0) return;
  auto list = init(size);
  capnp::uint index = 0;
  for (const auto& item : items) {
    if (index == size) return;
    write(valueIn(item), list[index++]);
  }
}

inline void encodeAddress(const Bdf& address, schema::Address::Builder out) {
  out.setSegment(address.segment());
  out.setBus(address.bus());
  out.setDevice(address.device());
  out.setFunction(address.function());
}

}  // namespace vfiogate
