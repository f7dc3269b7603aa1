#pragma once
// TLS to one server, whose certificate must be signed by the authorities in a file.

#include "ipc/base/result.h"
#include "netd/dra/api/watched_file.h"

#include <kj/async-io.h>
#include <kj/compat/tls.h>
#include <kj/refcount.h>

#include <string>

namespace vfiogate {

/// At least TLS 1.2. The file is read again where it was replaced, for the connections that come
/// after; while it makes no sense, the authorities that were there last stand.
class TlsConnector {
public:
  /// `serverName`: a DNS name; kj-tls looks at no addresses. Nothing is read yet.
  TlsConnector(std::string caPath, std::string serverName);

  /// Reads the file, and has OpenSSL read what it wants of the system: before the lock-down.
  /// Error: for people.
  Result<Done, std::string> open();

  /// Resolves when the server has shown who it is; fails if it cannot.
  kj::Promise<kj::Own<kj::AsyncIoStream>> wrap(kj::Own<kj::AsyncIoStream> stream);

private:
  struct Context : kj::Refcounted {
    explicit Context(kj::TlsContext::Options options) : tls(kj::mv(options)) {}
    kj::TlsContext tls;
  };

  WatchedFile ca_;
  const std::string serverName_;
  std::string text_;  ///< what context_ was made of
  kj::Own<Context> context_;
};

}  // namespace vfiogate
