#pragma once
// What a program answers to a command line: how its help is ordered, what it ends with, and what
// somebody probably meant who mistyped a word.

#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace CLI {
class App;
class ParseError;
}  // namespace CLI

namespace vfiogate {

enum ExitCode : int {
  kExitDone = 0,     ///< done, or so already; a check found nothing
  kExitRefused = 1,  ///< refused or failed, and nothing is left changed; a check found something
  kExitUsage = 2,    ///< the command line is wrong: nothing was tried
  kExitChanged = 3,  ///< something is left changed, or nobody knows: only `privd bind` and `unbind`
};

/// The table for the end of --help; `changes`: with the code of what is left changed.
std::string exitStatusText(bool changes);

/// The candidate that `word` is most likely a slip of: letters missing, added, exchanged or
/// swapped, in either case, dashes apart; or one that begins with it. Null: none is near enough.
std::optional<std::string> nearest(std::string_view word,
                                   const std::vector<std::string>& candidates);

/// ": did you mean 'list'?", or nothing where none is near.
std::string didYouMean(std::string_view word, const std::vector<std::string>& candidates);

/// "'jsn' is no form of output: did you mean 'json'? There are table, json": `word` is none of
/// `names`, which are all of their `kind`.
std::string noneOf(std::string_view word, const std::string& kind,
                   const std::vector<std::string>& names);

/// "'lst' is no command of privd: did you mean 'list'?", and where to read on, in two lines.
/// `error` is what parsing with `app` threw.
std::string usageError(const CLI::App& app, const CLI::ParseError& error);

/// "'--plugnid' is no option of privd serve: did you mean '--plugind'?"
std::string unknownOption(const std::string& word, const std::string& command,
                          const std::vector<std::string>& known);

/// Lists these subcommands and options of `app`, and such options of its subcommands, behind the
/// others, under "Advanced". Options by their long names with dashes.
void putBehind(CLI::App& app, const std::set<std::string>& names);

}  // namespace vfiogate
