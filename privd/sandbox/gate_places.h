#pragma once
// Where the gate may open files once it is locked down: the table of its Landlock rules, and the
// directories without which it is of no use.

#include "privd/sandbox/lasting_directories.h"
#include "privd/sandbox/place_table.h"

#include <array>

namespace vfiogate {

struct GateOptions;

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
    PlaceRow{"<state-dir>/plugind.lock", kReadFile | kWriteFile, "plugind's lease"},
    PlaceRow{"<state-dir>/holds", kReadDirectory, "which devices operators exclude"},
    PlaceRow{"<record-dir>", kReadFile | kReadDirectory | kReplaceFiles | kTruncate,
             "what is allocated, and to whom"},
};

/// Those of the table that these options and rights need.
AllowedPlaces gatePlaces(const GateOptions& options);

/// The record of allocations, exclusions, and those of the kubelet's, of the DRA driver's and of
/// CDI specs. Confined: by Landlock.
enum class Confined { kNo, kYes };
LastingDirectories gateDirectories(const GateOptions& options, Confined confined);

}  // namespace vfiogate
