#pragma once
// The CDI specs of prepared claims, on disk as the record of what was prepared.

#include "ipc/types/claim_spec.h"
#include "privd/cdi/cdi_directory.h"
#include "privd/gate/kubelet_gate.h"
#include "privd/scan/sysfs_root.h"

#include <set>
#include <string>
#include <variant>
#include <vector>

namespace vfiogate {

/// Why a claim's spec is not on disk as it was asked for.
using ClaimFault = std::variant<std::string,  ///< which part of it is not written, for people
                                Bdf,          ///< this device has no node now
                                ReadError>;

/// Writes what plugind may have written and nothing else: names, kind and nodes are privd's. What
/// it answers with is durable. A spec is never unlinked but by unlink().
class ClaimStore {
public:
  /// `directory` is that of CDI specs, `metadataDirectory` that of metadata files. Borrows gate and
  /// dev. Both directories are opened anew each time.
  ClaimStore(std::string directory, std::string metadataDirectory, const KubeletGate& gate,
             const DevRoot& dev)
      : directory_(std::move(directory)),
        metadataDirectory_(std::move(metadataDirectory)),
        gate_(gate),
        dev_(dev) {}

  /// The CDI names of the devices, in their order. faultIn() finds none in `spec`; `hardware` is
  /// privd's own view, as of now. Where this fails the old file is unchanged.
  Result<std::vector<std::string>, ClaimFault> write(const ClaimSpec& spec,
                                                     const Snapshot& hardware);

  /// The spec first, then its metadata files. `uid` isUid().
  Result<Done, ReadError> unlink(const std::string& uid);

  /// The texts of all, by UID. Links, and what is no file or too long, are none of ours and passed
  /// over. EOVERFLOW: there are more than kMostClaimSpecs.
  Result<std::vector<std::string>, ReadError> texts() const;

private:
  std::optional<ClaimFault> refuse(const ClaimSpec& spec, const Snapshot& hardware) const;
  Result<Done, ReadError> putMetadata(const ClaimSpec& spec) const;
  /// All of the claim's but those `kept`.
  Result<Done, ReadError> unlinkMetadata(const std::string& uid,
                                         const std::set<std::string>& kept) const;
  /// EDQUOT: there is no room for another claim.
  Result<Done, ReadError> admit(const std::string& uid) const;
  Result<Done, ReadError> put(const std::string& uid, const std::string& text);

  std::string directory_;
  std::string metadataDirectory_;
  const KubeletGate& gate_;
  const DevRoot& dev_;
  bool unsynced_ = true;  ///< something may not be durable yet, also of a privd before this one
};

}  // namespace vfiogate
