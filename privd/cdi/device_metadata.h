#pragma once
// The file in which a container finds the devices of one request of its claim (KEP-5304).

#include "ipc/types/claim_spec.h"

#include <string>

namespace vfiogate {

// The version of the contract that is kept.
inline constexpr const char* kMetadataVersion = "metadata.resource.k8s.io/v1alpha1";
inline constexpr const char* kMetadataKind = "DeviceMetadata";
inline constexpr const char* kMetadataAddress = "resource.kubernetes.io/pciBusID";
/// The same of a mediated device: its UUID.
inline constexpr const char* kMetadataUuid = "mdevUUID";
/// As a ResourceSlice says them, where they are known.
inline constexpr const char* kMetadataRootComplex = "resource.kubernetes.io/pcieRoot";
inline constexpr const char* kMetadataNode = "numaNode";
/// In the container.
inline constexpr const char* kMetadataRoot = "/var/run/kubernetes.io/dra-device-attributes";
/// On the host, below the driver's directory.
inline constexpr const char* kMetadataDirectory = "/dra-device-metadata";

/// On the host: `<uid>_<request>.json`.
std::string metadataFileName(const std::string& uid, const std::string& request);

/// True for the names of all files of the claim, and for the temporary ones of such files.
bool isMetadataFileOf(const std::string& uid, std::string_view name);

/// Of the claim's devices that the request got, as JSON. Nothing is escaped: faultIn() finds none.
std::string metadataText(const ClaimSpec& spec, const std::string& request);

/// Where the container finds it.
std::string metadataMount(const ClaimSpec& spec, const std::string& request);

}  // namespace vfiogate
