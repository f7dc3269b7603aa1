#include "cli/usage.h"

#include <gtest/gtest.h>
#include <CLI/CLI.hpp>

#include <algorithm>

namespace vfiogate {
namespace {

/// What `tool` answers to these words.
std::string answerTo(std::vector<std::string> words) {
  CLI::App app("", "tool");
  app.require_subcommand(1);
  std::string text;
  bool all = false;
  CLI::App* list = app.add_subcommand("list", "");
  list->add_flag("--all", all);
  list->add_option("-o,--output", text);
  CLI::App* audit = app.add_subcommand("audit", "");
  audit->require_subcommand(1);
  audit->add_subcommand("show", "")->add_option("--since", text);
  CLI::App* hold = app.add_subcommand("hold", "");
  hold->add_option("ADDRESS", text)->required();
  std::ranges::reverse(words);
  try {
    app.parse(words);
  } catch (const CLI::ParseError& error) {
    return usageError(app, error);
  }
  return "";
}

struct Row {
  std::vector<std::string> words;
  const char* answer;
};

TEST(UsageError, NamesTheWordAndWhatWasMeant) {
  for (const Row& row : std::initializer_list<Row>{
           {{},
            "tool: a command is missing: give one of list, audit, hold\n"
            "Run 'tool --help' for what there is.\n"},
           {{"lst"},
            "tool: 'lst' is no command of tool: did you mean 'list'?\n"
            "Run 'tool --help' for what there is.\n"},
           {{"frobnicate"},
            "tool: 'frobnicate' is no command of tool\n"
            "Run 'tool --help' for what there is.\n"},
           {{"--vresion"},
            "tool: '--vresion' is no option of tool\n"
            "Run 'tool --help' for what there is.\n"},
           {{"list", "--al"},
            "tool list: '--al' is no option of tool list: did you mean '--all'?\n"
            "Run 'tool list --help' for what there is.\n"},
           {{"list", "--outptu=json"},
            "tool list: '--outptu' is no option of tool list: did you mean '--output'?\n"
            "Run 'tool list --help' for what there is.\n"},
           {{"list", "extra"},
            "tool list: 'extra' is one word too many for tool list\n"
            "Run 'tool list --help' for what there is.\n"},
           {{"audit"},
            "tool audit: a command is missing: give one of show\n"
            "Run 'tool audit --help' for what there is.\n"},
           {{"audit", "shwo"},
            "tool audit: 'shwo' is no command of tool audit: did you mean "
            "'show'?\nRun 'tool audit --help' for what there is.\n"},
           {{"audit", "show", "--sinse", "1h"},
            "tool audit show: '--sinse' is no option of tool audit show: did you mean '--since'?\n"
            "Run 'tool audit show --help' for what there is.\n"},
           {{"list", "-o"},
            "tool list: --output: a value is missing: TEXT\n"
            "Run 'tool list --help' for what there is.\n"},
           {{"hold"},
            "tool hold: ADDRESS is required\nRun 'tool hold --help' for what there is.\n"},
       }) {
    EXPECT_EQ(answerTo(row.words), row.answer) << testing::PrintToString(row.words);
  }
}

}  // namespace
}  // namespace vfiogate
