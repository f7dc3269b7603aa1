#pragma once
// Local stream sockets: made without a gap, dialled without waiting, and who is at the other end.

#include "ipc/base/result.h"

#include <kj/io.h>
#include <kj/string.h>

#include <sys/types.h>

#include <optional>

namespace vfiogate {

/// An errno that a caller is expected to meet, and the step that met it.
struct SocketError {
  int error;
  const char* step;  ///< "socket", "unlink", "bind", "listen", "rename", "connect"
};

/// Who may connect, decided by the socket's mode at bind time: root without capabilities cannot
/// chmod its way later.
enum class WhoMayConnect : mode_t {
  kOwner = 0177,     ///< mode 0600
  kEverybody = 0111  ///< mode 0666
};

/// A listening, non-blocking, close-on-exec socket at `directory`/`name`. It is bound to a dot name
/// and renamed over what stood there, so diallers meet the old or the new one, never none.
/// Not for two threads at once: it sets the umask for the moment of the bind.
Result<kj::AutoCloseFd, SocketError> listenAt(kj::StringPtr directory, kj::StringPtr name,
                                              WhoMayConnect who);

/// The same under its own name at once, in place of what stood there: where names are watched, one
/// that is gone again is an error to the watcher. Diallers may for a moment meet nobody.
Result<kj::AutoCloseFd, SocketError> listenInPlace(kj::StringPtr directory, kj::StringPtr name,
                                                   WhoMayConnect who);

/// A connected, non-blocking, close-on-exec socket to `path`. Never waits: a full backlog is
/// EAGAIN.
Result<kj::AutoCloseFd, SocketError> dialAt(kj::StringPtr path);

/// True for what dialling meets while the other side is not there yet: try again later.
bool meansNotYet(int error);

/// The next connection of listener `listenFd` (borrowed), non-blocking and close-on-exec; null when
/// there is none now. Throws on a listener that is unusable.
kj::Maybe<kj::AutoCloseFd> acceptFrom(int listenFd);

struct PeerIdentity {
  uid_t uid;
  std::optional<pid_t> pid;  ///< absent across PID namespaces; it may have ended, and be another's
};

/// Who connected, or, for the dialler, who called listen(). `socketFd` is borrowed.
PeerIdentity peerOf(int socketFd);

}  // namespace vfiogate
