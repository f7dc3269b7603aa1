#include "seccomp/load_filter.h"

#include "seccomp/sanitizer_rules.h"

#include <seccomp.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

namespace vfiogate {
namespace {

struct ReleaseContext {
  void operator()(scmp_filter_ctx context) const { seccomp_release(context); }
};
using Context = std::unique_ptr<std::remove_pointer_t<scmp_filter_ctx>, ReleaseContext>;

std::optional<StepFailure> tried(int negatedErrno, std::string_view step) {
  if (negatedErrno == 0) return std::nullopt;
  return StepFailure{std::string(step), -negatedErrno};
}

std::optional<StepFailure> setAttributes(scmp_filter_ctx context) {
  const std::array<std::pair<scmp_filter_attr, std::uint32_t>, 3> attributes{{
      // libseccomp's own default kills only the thread.
      {SCMP_FLTATR_ACT_BADARCH, SCMP_ACT_KILL_PROCESS},
      {SCMP_FLTATR_CTL_NNP, 1},
      {SCMP_FLTATR_CTL_TSYNC, 1},
  }};
  for (const auto& [attribute, value] : attributes) {
    if (auto failed = tried(seccomp_attr_set(context, attribute, value), "seccomp attributes")) {
      return failed;
    }
  }
  return std::nullopt;
}

std::optional<StepFailure> addRule(scmp_filter_ctx context, const Rule& rule) {
  std::array<scmp_arg_cmp, ArgChecks::kMost> compare{};
  unsigned count = 0;
  for (const ArgCheck& arg : rule.args()) {
    const auto value = arg.ownPid ? static_cast<std::uint64_t>(getpid()) : arg.value;
    compare.at(count++) = {arg.index, SCMP_CMP_MASKED_EQ, arg.mask, value};
  }
  const std::uint32_t action =
      rule.error() == 0 ? SCMP_ACT_ALLOW : SCMP_ACT_ERRNO(static_cast<std::uint16_t>(rule.error()));
  // _exact: on an architecture where a row would mean something else, refuse rather than guess.
  for (const SystemCall& call : rule.calls()) {
    if (auto failed =
            tried(seccomp_rule_add_exact_array(context, action, call.number, count, compare.data()),
                  "seccomp row: " + std::string(rule.reason()))) {
      return failed;
    }
  }
  return std::nullopt;
}

std::optional<StepFailure> withFilter(std::span<const Rule> table,
                                      const std::function<int(scmp_filter_ctx)>& use,
                                      std::string_view step) {
  const Context context(seccomp_init(SCMP_ACT_KILL_PROCESS));
  // It asks the kernel by seccomp() first, which a runtime's profile may refuse, then for memory.
  if (!context) return StepFailure{"seccomp_init", errno};
  if (auto failed = setAttributes(context.get())) return failed;
  for (const Rule& rule : table) {
    if (auto failed = addRule(context.get(), rule)) return failed;
  }
  for (const Rule& rule : kSanitizerRules) {
    const int number = rule.calls().front().number;
    if (std::ranges::any_of(table, [=](const Rule& row) { return row.isFor(number); })) continue;
    if (auto failed = addRule(context.get(), rule)) return failed;
  }
  return tried(use(context.get()), step);
}

}  // namespace

std::optional<StepFailure> loadFilter(std::span<const Rule> table) {
  prepareSanitizers();
  return withFilter(table, seccomp_load, "loading the seccomp filter");
}

std::optional<StepFailure> exportFilter(std::span<const Rule> table, int fd) {
  return withFilter(
      table, [fd](scmp_filter_ctx context) { return seccomp_export_bpf(context, fd); },
      "exporting the seccomp filter");
}

}  // namespace vfiogate
