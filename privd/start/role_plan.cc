#include "privd/start/role_plan.h"

#include "privd/base/open_file.h"
#include "privd/options/shared_options.h"
#include "privd/start/role_options.h"

#include <fcntl.h>

#include <algorithm>
#include <cerrno>
#include <utility>

namespace vfiogate {
namespace {

std::uint8_t bitOf(PrivdRole role) {
  switch (role) {
    case PrivdRole::kHardware:
      return kOfHardware;
    case PrivdRole::kGate:
      return kOfGate;
    case PrivdRole::kBinder:
      return kOfBinder;
  }
  return 0;
}

RolePlan planFor(PrivdRole role, const std::vector<GivenOption>& given) {
  RolePlan plan{.role = role, .arguments = {}};
  for (const auto& [name, value] : given) {
    const RoleOption* option = roleOption(name);
    if (option == nullptr || (option->roles & bitOf(role)) == 0) continue;
    plan.arguments.push_back(name + "=" + value);
  }
  return plan;
}

}  // namespace

OptionTable noting(OptionTable table, std::vector<GivenOption>& given) {
  for (Option& option : table) {
    option.take = [name = option.name, take = std::move(option.take),
                   &given](const std::string& text) {
      std::string problem = take(text);
      if (problem.empty()) given.push_back({name, text});
      return problem;
    };
  }
  return table;
}

std::vector<RolePlan> rolesToStart(const std::vector<GivenOption>& given, OnFile onFile) {
  const auto isGiven = [&given](std::string_view name) {
    return std::ranges::find(given, name, &GivenOption::name) != given.end();
  };
  const auto rights = std::find_if(given.rbegin(), given.rend(), [](const GivenOption& one) {
    return one.name == "--plugind-rights";
  });
  const bool plugind = rights != given.rend() || isGiven("--plugind");
  const auto has = [&](const char* right) {
    return rights != given.rend() && hasRight(rights->value, right);
  };
  const bool binds = !plugind || isGiven("--declare") || isGiven("--vfs") ||
                     onFile == OnFile::kDeclared || has("bind") || has("probe") || has("serial");
  std::vector<RolePlan> plans;
  if (plugind) {
    plans.push_back(planFor(PrivdRole::kHardware, given));
    plans.push_back(planFor(PrivdRole::kGate, given));
  }
  if (binds) plans.push_back(planFor(PrivdRole::kBinder, given));
  return plans;
}

OnFile declaredIn(const std::string& stateDir) {
  auto directory = openAt(AT_FDCWD, (stateDir + "/declared").c_str(), O_RDONLY | O_DIRECTORY, 0);
  if (!directory && directory.error().error == ENOENT) return OnFile::kNothing;
  if (!directory) return OnFile::kDeclared;
  const auto names = directoryNames(kj::mv(directory).value());
  return names && names->empty() ? OnFile::kNothing : OnFile::kDeclared;
}

std::string programOf(PrivdRole role) {
  return std::string("privd-") + nameOf(role);
}

}  // namespace vfiogate
