#pragma once
// Devices and groups as JSON: the form that docs/list-json.md promises.

#include "privd/cli/base/list_filter.h"
#include "privd/cli/base/node_view.h"

#include <nlohmann/json.hpp>

namespace vfiogate {

/// One device, as in `devices` of `privd list -o json`.
nlohmann::ordered_json deviceJson(const NodeView& view, const PciDevice& device);

/// One mediated device, as in `mediated` there.
nlohmann::ordered_json mediatedJson(const Snapshot& snapshot, const MediatedDevice& device);

/// The whole document of `privd list -o json`: what `filter` lets pass, and the groups of that.
nlohmann::ordered_json listJson(const NodeView& view, const ListFilter& filter);

/// Text from outside as valid UTF-8, which JSON needs.
std::string jsonText(const std::string& text);

}  // namespace vfiogate
