#pragma once
// Where the gate may open files once it is locked down: the table of its Landlock rules.

#include "privd/sandbox/place_table.h"

#include <array>

namespace vfiogate {

inline constexpr std::array kGatePlaces{
    PlaceRow{"<kubelet-dir>/device-plugins", kReadFile | kReplaceSockets,
             "the kubelet's checkpoint; the device plugin's sockets", PlaceFor::kEveryone,
             IfMissing::kAbove},
    PlaceRow{"<kubelet-dir>/plugins_registry", kReplaceSockets, "the DRA driver's registration",
             PlaceFor::kDra, IfMissing::kAbove},
    PlaceRow{"<kubelet-dir>/plugins/<dra-driver>", kReplaceSockets, "the DRA driver's service",
             PlaceFor::kDra},
    PlaceRow{"<kubelet-dir>/plugins/<dra-driver>/dra-device-metadata",
             kReadFile | kReadDirectory | kReplaceFiles, "metadata files of claims",
             PlaceFor::kDra},
    PlaceRow{"<cdi-dir>", kReadFile | kReadDirectory | kReplaceFiles, "CDI specs", PlaceFor::kCdi},
    PlaceRow{"<plugind-config>/..", kReadFile, "plugind's configuration", PlaceFor::kEveryone,
             IfMissing::kAbove},
    PlaceRow{"<state-dir>/plugind.lock", kReadFile | kWriteFile | kTruncate, "plugind's lease"},
    PlaceRow{"<record-dir>", kReadFile | kReadDirectory | kReplaceFiles | kTruncate,
             "what is allocated, and to whom"},
};

}  // namespace vfiogate
