#include <CLI/CLI.hpp>

#include <kj/async-io.h>

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <ctime>
#include <iostream>

#include "cli/common_options.h"
#include "cli/table.h"
#include "privd/base/open_file.h"
#include "privd/cli/base/node_view.h"
#include "privd/cli/commands.h"
#include "privd/cli/top/group_rows.h"
#include "privd/cli/top/live_terminal.h"
#include "privd/scan/snapshot_source.h"
#include "privd/scan/uevent_socket.h"

namespace vfiogate {
namespace {

struct TopOptions {
  ViewOptions view;
  std::string auditLog = "/var/log/vfiogate/audit.jsonl";
  std::uint32_t rescanSeconds = 10;
  bool once = false;
};

constexpr off_t kTail = 65'536;
/// How often holders and refusals, which nothing announces, are read again.
constexpr kj::Duration kReread = 1 * kj::SECONDS;

/// The lines at the end of an audit log, without one whose beginning was cut off. Error: errno.
Result<std::vector<std::string>, int> lastLines(const std::string& path) {
  const auto file = openRegular(AT_FDCWD, path.c_str(), O_RDONLY | O_NOFOLLOW, 0);
  if (!file) return Failure{file.error().error};
  const off_t begin = std::max<off_t>(0, file->status.st_size - kTail);
  std::string text(static_cast<std::size_t>(kTail), '\0');
  const ssize_t size = ::pread(file->fd, text.data(), text.size(), begin);
  if (size < 0) return Failure{errno};
  text.resize(static_cast<std::size_t>(size));
  std::size_t at = begin == 0 ? 0 : text.find('\n') + 1;  // npos + 1 is 0
  std::vector<std::string> lines;
  for (std::size_t end = text.find('\n', at); end != std::string::npos; end = text.find('\n', at)) {
    lines.push_back(text.substr(at, end - at));
    at = end + 1;
  }
  return lines;
}

/// What is true now, of the hardware as `snapshot` has it.
TopPicture pictureOf(const TopOptions& options, NodeView& view, const Snapshot& snapshot) {
  TopPicture picture;
  picture.now = std::time(nullptr);
  const RecordedHolders holders = readRecordedHolders(options.view.recordDir);
  if (!holders.problem.empty()) {
    picture.remarks.push_back("holders are not known: " + holders.problem);
  }
  const auto lines = lastLines(options.auditLog);
  if (lines) {
    picture.refusals = refusalsIn(*lines);
  } else if (lines.error() != ENOENT) {
    picture.remarks.push_back("refusals are not known: " + options.auditLog + ": " +
                              strerror(lines.error()));
  }
  view.snapshot = snapshot;
  // What keeps changes from being known is told of the holders above.
  const UnknownStates unknown =
      markStates(view.snapshot, options.view.stateDir, options.view.recordDir);
  if (!unknown.excluded.empty()) {
    picture.remarks.push_back("what is excluded is not known: " + unknown.excluded);
  }
  picture.rows = rowsOf(view, holders);
  return picture;
}

/// The hardware, and what happens to it.
struct Watched {
  Watched(const TopOptions& options, const SysfsRoot& sysfs, const DevRoot& dev,
          kj::AsyncIoContext& io)
      : source(io.provider->getTimer(), 0, Rescan::onlySweeps(options.rescanSeconds * kj::SECONDS),
               scanDeps(sysfs, dev), counts),
        timer(io.provider->getTimer()) {
    auto socket = openUevents();
    if (socket == nullptr) return;
    KJ_IF_MAYBE (fd, socket) {
      uevents.emplace(
          io.unixEventPort, kj::mv(*fd), [this](const Places& where) { source.hint(where); },
          counts);
    }
  }

  static kj::Maybe<kj::AutoCloseFd> openUevents() {
    auto socket = openUeventSocket();
    if (!socket) return nullptr;  // a rescan finds it a little later
    return kj::mv(socket).value();
  }

  /// Resolves when the hardware changed, or it is time to read the rest again.
  kj::Promise<void> next(std::uint64_t generation) {
    return source.next(generation).ignoreResult().exclusiveJoin(timer.afterDelay(kReread));
  }

  DiscoveryCounts counts;
  SnapshotSource source;
  kj::Timer& timer;
  kj::Maybe<UeventListener> uevents;
};

void showLive(const TopOptions& options, NodeView& view, Watched& watched, kj::AsyncIoContext& io) {
  LiveTerminal terminal(io.unixEventPort);
  std::size_t first = 0;
  while (terminal.isWanted()) {
    const auto now = watched.source.current();
    const TopPicture picture = pictureOf(options, view, *now.snapshot);
    const std::size_t height = terminal.height();
    const auto wanted = static_cast<std::int64_t>(first) + terminal.takeScroll();
    first = std::min(static_cast<std::size_t>(std::max<std::int64_t>(wanted, 0)),
                     lastFirst(picture, height));
    terminal.draw(linesOf(picture, {terminal.width(), height, first, wantsColours()}));
    watched.next(now.generation).exclusiveJoin(terminal.next()).wait(io.waitScope);
  }
}

/// False: what stdout led to was closed at its other end.
bool hasReader() {
  pollfd end{.fd = STDOUT_FILENO, .events = 0, .revents = 0};
  return ::poll(&end, 1, 0) <= 0;
}

/// Returns when nobody reads it any more.
void showLines(const TopOptions& options, NodeView& view, Watched& watched,
               kj::AsyncIoContext& io) {
  TopPicture before;
  while (std::cout && hasReader()) {
    const auto now = watched.source.current();
    TopPicture picture = pictureOf(options, view, *now.snapshot);
    std::cout << changesText(before, picture) << std::flush;
    before = std::move(picture);
    watched.next(now.generation).wait(io.waitScope);
  }
}

/// Returns why it cannot, in words; empty: it ended as it should.
std::string top(const TopOptions& options) {
  auto taken = NodeView::take(options.view);
  if (!taken) return taken.error();
  NodeView view = std::move(taken).value();
  if (options.once) {
    const Snapshot snapshot = view.snapshot;
    const TopPicture picture = pictureOf(options, view, snapshot);
    for (const std::string& line : linesOf(picture, {.width = terminalWidth()})) {
      std::cout << line << "\n";
    }
    return {};
  }
  const auto sysfs = SysfsRoot::open(options.view.sysfs);
  const auto dev = DevRoot::open(options.view.dev);
  if (!sysfs || !dev) return options.view.sysfs + " or " + options.view.dev + " is gone";
  const bool isLive = isLiveTerminal();
  if (isLive) LiveTerminal::captureSignals();
  auto io = kj::setupAsyncIo();
  Watched watched(options, *sysfs, *dev, io);
  if (watched.source.current().generation == 0)
    return "--sysfs " + options.view.sysfs + ": is gone";
  if (isLive) {
    showLive(options, view, watched, io);
  } else {
    showLines(options, view, watched, io);
  }
  return {};
}

}  // namespace

void addTopCommand(CLI::App& app, int& exitCode) {
  CLI::App* command = app.add_subcommand(
      "top", "groups, drivers, holders and refusals, as they are and as they change");
  auto options = std::make_shared<TopOptions>();
  addViewOptions(*command, options->view);
  addRecordOption(*command, options->view);
  addPathOption(*command, "--audit-log", options->auditLog, "the audit log, for the refusals");
  addRescanOption(*command, options->rescanSeconds);
  command->add_flag("--once", options->once, "print the table once, and end");
  command->callback([options, &exitCode]() {
    const std::string why = top(*options);
    if (why.empty()) return;
    std::cerr << "privd top: " << why << "\n";
    exitCode = 1;
  });
}

}  // namespace vfiogate
