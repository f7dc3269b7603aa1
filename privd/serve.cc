#include "privd/serve.h"

#include "ipc/socket/unix_socket.h"
#include "privd/command_socket.h"
#include "privd/helper_server.h"
#include "privd/log_line.h"
#include "privd/plugind_link.h"
#include "privd/snapshot_source.h"
#include "privd/uevent_socket.h"
#include "seccomp/drop_privileges.h"
#include "seccomp/load_filter.h"
#include "seccomp/privd_rules.h"

#include <kj/async-io.h>

#include <unistd.h>
#include <csignal>
#include <cstring>
#include <iostream>
#include <random>

namespace vfiogate {
namespace {

constexpr std::uint64_t kDescriptors = 4096;

/// A path's directory and last part.
struct SplitPath {
  std::string directory;
  std::string name;
};

SplitPath split(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  if (slash == std::string::npos) return {".", path};
  return {slash == 0 ? "/" : path.substr(0, slash), path.substr(slash + 1)};
}

int fail(const std::string& what) {
  std::cerr << "privd: " << what << "\n";
  return 1;
}

RolePolicy policyOf(const ServeOptions& options) {
  const std::string rights = "," + options.plugindRights + ",";
  const auto has = [&rights](const char* right) { return rights.find(right) != std::string::npos; };
  return {options.plugindUid, Rights{.watch = has(",watch,"), .kubelet = has(",kubelet,")}};
}

kj::Vector<kj::String> prefixesOf(const ServeOptions& options) {
  kj::Vector<kj::String> prefixes;
  for (const std::string& prefix : options.resourcePrefixes) prefixes.add(kj::str(prefix.c_str()));
  return prefixes;
}

kj::Promise<void> onEnd(kj::UnixEventPort& port) {
  return port.onSignal(SIGTERM).exclusiveJoin(port.onSignal(SIGINT)).ignoreResult();
}

/// What was opened while it was still allowed.
struct Opened {
  SysfsRoot sysfs;
  DevRoot dev;
  kj::AutoCloseFd commands;
  kj::Maybe<UeventSocket> uevents;
};

void runLoop(const ServeOptions& options, Opened& opened, kj::AsyncIoContext& io,
             kj::Promise<void> ended) {
  kj::Timer& timer = io.provider->getTimer();
  SnapshotSource source(...);
}

}  // namespace
}  // namespace vfiogate
