#pragma once
// Tables of the places where a process may open files once it is locked down, and how Landlock is
// told of them.

#include "ipc/base/result.h"
#include "seccomp/landlock.h"
#include "seccomp/step_failure.h"

#include <kj/io.h>

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace vfiogate {

/// Which peers a place is allowed for: those that may have CDI specs written, those that may be a
/// DRA driver.
enum class PlaceFor { kEveryone, kCdi, kDra };

/// What stands for a place that is not there when privd starts.
enum class IfMissing {
  kNothing,  ///< what comes to be there later is closed, until privd is restarted
  kAbove,    ///< the nearest directory above it that is there, unless --require-landlock
};

/// The options that a table's rows name, such as "<cdi-dir>", each with its value; empty: there is
/// none, or it is for nobody.
using PlaceValues = std::vector<std::pair<std::string_view, std::string>>;

/// One row. Options in <> stand for their values; where one is empty, the row is left out.
/// "<file>/.." is the directory that has the file.
struct PlaceRow {
  std::string_view place;
  std::uint64_t rights;
  std::string_view reason;
  PlaceFor neededBy = PlaceFor::kEveryone;
  IfMissing missing = IfMissing::kNothing;
};

inline constexpr std::uint64_t kReplaceFiles = kWriteFile | kMakeFile | kRemoveFile;
inline constexpr std::uint64_t kReplaceSockets = kMakeSocket | kRemoveFile;

/// A table as these options make it, one path a place. `above`: paths of the table that are not
/// there and for which a directory above stands, with more than was meant.
struct AllowedPlaces {
  struct Place {
    std::string path;
    std::uint64_t rights;
  };
  std::vector<Place> places;
  std::vector<std::string> above;
};

/// What a row stands for that is no path.
struct PlacesOf {
  std::string_view row;  ///< its place
  std::vector<std::string> paths;
};
/// `several` is the one row of the table, if any, that stands for several places.
AllowedPlaces allowedPlaces(std::span<const PlaceRow> table, const PlaceValues& values,
                            const PlacesOf& several = {});

/// Of a privd that is confined; keep it. An entry of /proc that nobody holds is another file when
/// it is looked up again, for which no rule stands.
struct PlacesHeld {
  int abi = 0;  ///< of Landlock; 0: not to be had, and nothing is confined
  std::vector<kj::AutoCloseFd> descriptors;
};

/// Confines this process and says on the log how. Failure: it must not go on.
Result<PlacesHeld, StepFailure> confineTo(const AllowedPlaces& allowed, bool requireLandlock);

}  // namespace vfiogate
