#include "netd/dra/slices/slice_view.h"

#include <charconv>
#include <cstdint>
#include <utility>

namespace vfiogate {
namespace {

/// Versions are numbers that rise; 0 for one that is none.
std::uint64_t numberOf(const std::string& version) {
  std::uint64_t number = 0;
  std::from_chars(version.data(), version.data() + version.size(), number);
  return number;
}

}  // namespace

void SliceView::begin() {
  slices_.clear();
  version_.clear();
}

void SliceView::add(SlicePage page) {
  for (Slice& slice : page.slices) {
    std::string name = slice.name;
    slices_.insert_or_assign(std::move(name), std::move(slice));
  }
  version_ = std::move(page.version);
}

void SliceView::addStranger(Slice slice) {
  std::string name = slice.name;
  slices_.emplace(std::move(name), std::move(slice));
}

bool SliceView::hear(const SliceEvent& event) {
  const Slice& told = event.slice;
  if (numberOf(told.resourceVersion) >= numberOf(version_)) version_ = told.resourceVersion;
  if (event.kind == SliceEvent::Kind::kBookmark) return false;
  const auto known = slices_.find(told.name);
  if (known != slices_.end() &&
      numberOf(told.resourceVersion) < numberOf(known->second.resourceVersion)) {
    return false;
  }
  if (event.kind == SliceEvent::Kind::kDeleted) return slices_.erase(told.name) > 0;
  const bool same = known != slices_.end() && known->second.spec == told.spec &&
                    known->second.owner == told.owner;
  slices_.insert_or_assign(told.name, told);
  return !same;
}

void SliceView::wrote(const SliceWrite& write, const Slice& stored) {
  echoes_[stored.name] = {.sent = write.slice.spec, .stored = stored.spec};
  const auto known = slices_.find(stored.name);
  const std::uint64_t written = numberOf(stored.resourceVersion);
  // The watch has told of what came after already: then it has been changed again, or deleted.
  const bool older = known == slices_.end() ? written <= numberOf(version_)
                                            : written < numberOf(known->second.resourceVersion);
  if (!older) slices_.insert_or_assign(stored.name, stored);
}

KeptFields SliceView::kept(const std::vector<Slice>& wanted) const {
  KeptFields all;
  for (const Slice& slice : wanted) {
    const auto stands = slices_.find(slice.name);
    if (stands == slices_.end()) continue;
    const KeptFields kept = keptOf(slice.spec, stands->second.spec);
    all.counters = all.counters && kept.counters;
    all.taints = all.taints && kept.taints;
  }
  return all;
}

}  // namespace vfiogate
