#pragma once
// Options of the daemon's tables, for commands that take the same, and the node's file of them,
// which commands read as the daemon does.

#include "privd/options/option_table.h"

#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace vfiogate {

/// Describes them to the parser, which hands each its values.
void addOptions(CLI::App& command, const OptionTable& table);

/// What the Debian package's daemon reads, and privd's container on a cluster.
inline constexpr const char* kNodesOptions = "/etc/vfiogate/privd.conf";

/// `words` (a command and its arguments) with `--options file` behind the command where `file` is
/// not empty; and, of commands that look, with the `--state-dir` of this machine before it. Left as
/// they are: commands that have no use for it, and those that name places of their own, since
/// places belong together: `--options`; `--state-dir` of commands that change something; `--sysfs`
/// and `--dev` of those that look.
std::vector<std::string> withNodesOptions(std::vector<std::string> words, const std::string& file);

/// Replaces `--options FILE` in `words` by those of the file's options (readOptionFile) that
/// `command` of `app` takes: one file serves the daemon and the commands, so what only the daemon
/// knows is passed over. Error: for people, naming the file and its line, such as an option that
/// neither knows.
Result<std::vector<std::string>, std::string> expandOptionFiles(
    const std::vector<std::string>& words, const CLI::App& app, const std::string& command);

/// What is wrong with the first of `words`, `privd serve`'s, or of its files, that looks like an
/// option of the daemon and is none; empty: nothing. The daemon has no such advice: it is root, and
/// small.
std::string mistypedServeOption(const std::vector<std::string>& words);

}  // namespace vfiogate
