#pragma once
// An answer of the gate's, as it is made: with the descriptor that goes with it.

#include "ipc/gate/gate_answers.h"
#include "privd/base/open_file.h"

#include <kj/io.h>

#include <optional>
#include <string>
#include <utility>

namespace vfiogate {

struct GateAnswer {
  gate::Answer answer;
  std::optional<kj::AutoCloseFd> fd;
};

/// The request is carried out.
inline GateAnswer done(gate::Outcome outcome = {}) {
  return {{.code = gate::Code::kDone, .detail = 0, .words = {}, .outcome = std::move(outcome)},
          std::nullopt};
}

/// `detail`: an errno, or a protocol.
inline GateAnswer refused(gate::Code code, int detail = 0) {
  return {{.code = code, .detail = static_cast<std::uint16_t>(detail), .words = {}, .outcome = {}},
          std::nullopt};
}

/// A part of what was sent is not written; `words`, for people, say which.
inline GateAnswer bad(std::string words) {
  return {{.code = gate::Code::kBad, .detail = 0, .words = std::move(words), .outcome = {}},
          std::nullopt};
}

/// What plugind is told of a file, by which it knows it again.
inline gate::FileIdentity told(const FileIdentity& identity) {
  return {identity.inode, identity.changedNs};
}

/// `file`, or why there is none; a file that is missing may come.
inline GateAnswer handed(Result<RegularFile, ReadError> opened) {
  if (!opened) {
    const int error = opened.error().error;
    return refused(error == ENOENT ? gate::Code::kNotYet : gate::Code::kFailed, error);
  }
  RegularFile file = kj::mv(opened).value();
  GateAnswer answer = done(gate::OpenedFile{.size = static_cast<std::uint32_t>(file.status.st_size),
                                            .written = nanosecondsOf(file.status.st_mtim),
                                            .identity = told(identityOf(file.status)),
                                            .kubelet = std::nullopt});
  answer.fd = kj::mv(file.fd);
  return answer;
}

}  // namespace vfiogate
