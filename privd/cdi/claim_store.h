#pragma once
// The CDI specs of prepared claims, on disk as the record of what was prepared.

#include "ipc/gate/spec_nodes.h"
#include "privd/base/served_names.h"
#include "privd/cdi/cdi_directory.h"

#include <map>
#include <string>
#include <vector>

namespace vfiogate {

/// Writes what plugind may have written and nothing else: names and kind are privd's rule, which
/// nodes of VFIO plugind's choice. What it answers with is durable. A spec is never unlinked but by
/// unlink().
class ClaimStore {
public:
  /// `directory` is that of CDI specs, `metadataDirectory` that of metadata files. Borrows `names`.
  /// Both directories are opened anew each time.
  ClaimStore(std::string directory, std::string metadataDirectory, const ServedNames& names)
      : directory_(std::move(directory)),
        metadataDirectory_(std::move(metadataDirectory)),
        names_(names) {}

  /// Each device has nodes. Where this fails the old file is unchanged; metadata files of requests
  /// that the text does not have may be gone.
  Result<Done, SpecRefused> write(const ClaimSpecText& text);

  /// The spec first, then its metadata files. `uid` isUid().
  Result<Done, ReadError> unlink(const std::string& uid);

  /// Of all, ascending. EOVERFLOW: there are more than kMostClaimSpecs.
  Result<std::vector<std::string>, ReadError> uids() const;

  /// The spec, for reading. `uid` isUid(). ENOENT: there is none; ELOOP, EINVAL and EFBIG: a link,
  /// no file, or too long, so none of ours.
  Result<RegularFile, ReadError> open(const std::string& uid) const;

private:
  /// In words; empty: it may be written.
  std::string refuse(const ClaimSpec& spec) const;
  Result<Done, ReadError> putMetadata(const ClaimSpec& spec) const;
  using RequestsByFile = std::map<std::string, std::string>;
  /// All of the claim's but those `kept`.
  Result<Done, ReadError> unlinkMetadata(const std::string& uid, const RequestsByFile& kept) const;
  /// EDQUOT: there is no room for another claim.
  Result<Done, ReadError> put(const ClaimSpec& spec, const std::string& text);

  std::string directory_;
  std::string metadataDirectory_;
  const ServedNames& names_;
  bool unsynced_ = true;  ///< something may not be durable yet, also of a privd before this one
};

}  // namespace vfiogate
