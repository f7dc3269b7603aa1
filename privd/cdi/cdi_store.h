#pragma once
// The static CDI specs that plugind declares, kept on disk as it declared them last.

#include "ipc/gate/spec_nodes.h"
#include "privd/base/served_names.h"
#include "privd/cdi/cdi_directory.h"

#include <set>
#include <string>

namespace vfiogate {

/// Writes what plugind may have written and nothing else: names and kinds are privd's rule, which
/// devices and which nodes of VFIO is plugind's choice. A declaration is a put() for each spec and
/// then keepOnlyThose(): every file, whoever made it, whose name isSpecFileName() and which is not
/// of the declaration is unlinked, so that no spec that is out of date names a group that another
/// device has now.
class CdiStore {
public:
  /// Files on disk, and bytes in all of them: those of a declaration and of the one before it. The
  /// largest that a node has is some 3 MiB; where the directory is on a tmpfs they are the gate's
  /// memory.
  static constexpr std::size_t kMostFiles = 128;
  static constexpr std::size_t kMostBytes = 8'388'608;

  /// Borrows `names`. The directory is opened anew for each call.
  CdiStore(std::string directory, const ServedNames& names)
      : directory_(std::move(directory)), names_(names) {}

  /// On disk under its name, and of this declaration; durable with its end. What is in place is not
  /// written again; where this fails an old file is unchanged. kBadName: not an extended resource
  /// name, or CDI has no such kind; kForeign: outside --resource-prefix.
  Result<Done, SpecRefused> put(const StaticSpecText& spec);

  /// Ends the declaration: the others are unlinked, and what is left is durable. One that cannot be
  /// unlinked is only logged, as nobody can do better.
  Result<Done, ReadError> keepOnlyThose();

  /// What was put is no declaration: who made it left.
  void forget() { put_.clear(); }

private:
  /// EDQUOT: with `bytes` in the file `name` there would be too much on disk.
  static Result<Done, ReadError> admit(const CdiDirectory& directory, const std::string& name,
                                       std::size_t bytes);
  void unlinkOthers(const CdiDirectory& directory);

  std::string directory_;
  const ServedNames& names_;
  std::set<std::string> put_;  ///< files
  bool unsynced_ = true;  ///< something may not be durable yet, also of a privd before this one
};

}  // namespace vfiogate
