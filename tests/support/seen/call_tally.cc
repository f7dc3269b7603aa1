#include "tests/support/seen/call_tally.h"

#include "cli/self_test/bpf_interpreter.h"
#include "seccomp/print_policy.h"
#include "seccomp/sanitizer_rules.h"
#include "tests/support/seen/reduced_table.h"

#include <linux/seccomp.h>
#include <seccomp.h>

#include <algorithm>
#include <cstdlib>
#include <iomanip>
#include <memory>
#include <sstream>

namespace vfiogate::test {
namespace {

std::string nameOf(std::int64_t number) {
  const std::unique_ptr<char, decltype(&std::free)> name(
      seccomp_syscall_resolve_num_arch(SCMP_ARCH_NATIVE, static_cast<int>(number)), &std::free);
  return name ? name.get() : std::to_string(number);
}

/// A sanitizer's heap is its own, and what it asks for itself is allowed without a row.
bool isSanitizers(const Rule& row) {
  if (kSanitizerRules.empty()) return false;
  return row.isFor(SCMP_SYS(brk)) || row.isFor(SCMP_SYS(mremap)) ||
         std::ranges::any_of(kSanitizerRules, [&row](const Rule& rule) {
           return row.isFor(rule.calls().front().number);
         });
}

std::string remark(const CallTally& tally, std::span<const Rule> table, std::size_t row) {
  if (isSanitizers(table[row])) return "  (in a build with sanitizers not judged)";
  if (tally.rowUses[row].count == 0) {
    if (table[row].isDefensive()) return "  (defensive)";
    // Alternatives are not for all versions, but one of them is for each.
    if (table[row].calls().size() == 1 && table[row].isOfSomeVersions()) return "  (other version)";
    return "  UNUSED";
  }
  return isNeededWhereUsed(tally, table, row) ? "" : "  NEEDLESS";
}

}  // namespace

bool isNeededWhereUsed(const CallTally& tally, std::span<const Rule> table, std::size_t row) {
  const CallCount& use = tally.rowUses[row];
  // The filter is exported for this process, not for the one that has the row.
  const bool ownPid = std::ranges::any_of(table[row].args(), &ArgCheck::ownPid);
  if (use.count == 0 || ownPid) return true;
  const seccomp_data call = nativeCall(static_cast<int>(use.firstNumber), use.firstArgs);
  const std::uint32_t answer =
      table[row].error() == 0 ? SECCOMP_RET_ALLOW
                              : SECCOMP_RET_ERRNO | static_cast<std::uint32_t>(table[row].error());
  return evaluate(exportedFilter(table), call) == answer &&
         evaluate(exportedFilter(withoutRow(table, row)), call) == SECCOMP_RET_KILL_PROCESS;
}

std::string str(const CallTally& tally, std::span<const Rule> table) {
  std::ostringstream out;
  if (!tally.filterLoaded) out << "no filter was loaded\n";
  for (std::size_t row = 0; row < table.size(); ++row) {
    out << std::setw(8) << tally.rowUses[row].count << "  " << callNames(table[row]);
    for (const ArgCheck& arg : table[row].args()) out << ", " << arg.text;
    out << remark(tally, table, row) << "\n";
  }
  for (const auto& [number, call] : tally.unlisted) {
    out << std::setw(8) << call.count << "  " << nameOf(number) << "  NO ROW, first with"
        << std::hex;
    for (const std::uint64_t arg : call.firstArgs) out << " 0x" << arg;
    out << std::dec << "\n";
  }
  return out.str();
}

}  // namespace vfiogate::test
