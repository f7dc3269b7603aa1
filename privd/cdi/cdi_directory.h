#pragma once
// The directory in which container runtimes look for CDI specs, or one for what specs name: files
// are put there and taken away.

#include "ipc/gate/gate_answers.h"
#include "privd/base/open_file.h"

#include <string>
#include <utility>
#include <vector>

namespace vfiogate {

/// Names are single parts of a path. No link in the directory is followed. What is done is durable
/// after sync().
class CdiDirectory {
public:
  /// Makes the directory's last part where it is not there.
  static Result<Done, ReadError> make(const std::string& path, mode_t mode = 0755);
  /// Error: the errno of opening it, such as ENOENT.
  static Result<CdiDirectory, ReadError> open(const std::string& path);

  /// True: the file was written, whole and under its name at once; false: it said `text` already.
  /// Error: ENOSPC, EROFS, ...; the old file is unchanged.
  Result<bool, ReadError> put(const std::string& name, const std::string& text) const;

  /// True: it was there.
  Result<bool, ReadError> remove(const std::string& name) const;

  Result<std::vector<std::string>, ReadError> names() const;
  /// In bytes, of the file or link itself; 0: there is none.
  std::size_t sizeOf(const std::string& name) const;

  /// A regular file, for reading. EFBIG: it is longer than `longest`; ELOOP: a link; EINVAL:
  /// something else.
  Result<RegularFile, ReadError> file(const std::string& name, std::size_t longest) const;

  Result<Done, ReadError> sync() const;

private:
  explicit CdiDirectory(kj::AutoCloseFd directory) : directory_(kj::mv(directory)) {}
  kj::AutoCloseFd directory_;
};

/// Why a spec is not on disk as it was asked for, as plugind is told. kFailed: EDQUOT where there
/// are as many as there may be.
using SpecRefused = gate::Answer;
inline Failure<SpecRefused> refusedFor(gate::Code code) {
  return {{.code = code, .detail = 0, .words = {}, .outcome = {}}};
}
/// A part of it is not written; `words`, for people, say which.
inline Failure<SpecRefused> refusedIn(std::string words) {
  return {{.code = gate::Code::kBad, .detail = 0, .words = std::move(words), .outcome = {}}};
}
/// It says so on the log, too: `what` is not as plugind wants it.
Failure<SpecRefused> failedAt(const std::string& what, ReadError error);

/// Says on the log that `what` is not as plugind wants it. Returns `error`.
ReadError toldOf(const std::string& what, ReadError error);

}  // namespace vfiogate
