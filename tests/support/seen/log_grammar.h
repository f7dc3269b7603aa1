#pragma once
// The grammar of the programs' logs (docs/log.md), read strictly.

#include <string>
#include <vector>

namespace vfiogate::test {

/// Lines of `output` that are neither a line of a log nor an event of plugind's journal, each with
/// what is wrong with it; empty: all are. A line of a log is
///     time=TIME level=WORD event=NAME{ key=VALUE}
/// where a VALUE is a plain word or quoted printable ASCII, and none is longer than 600 characters
/// of what it quotes.
std::vector<std::string> logFaults(const std::string& output);

/// What a terminal would not simply show: any byte but printable ASCII and the end of a line.
/// Returns the first such line; empty: there is none.
std::string unprintableLine(const std::string& output);

/// What strangers send: ends of lines, escape sequences, quotes, fields, NUL, no UTF-8, 1 MiB.
std::vector<std::string> hostileTexts();

}  // namespace vfiogate::test
