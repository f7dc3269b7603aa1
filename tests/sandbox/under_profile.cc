// Usage: under_profile PROFILE COMMAND [ARGUMENT...]
// Loads a seccomp profile in the form of the OCI runtime specification and becomes the command, as
// runc does with no_new_privs. Takes what our profiles use of that form and refuses all else.

#include <nlohmann/json.hpp>

#include <seccomp.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <exception>
#include <fstream>
#include <set>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace {

using Json = nlohmann::json;

[[noreturn]] void fail(const std::string& what) {
  throw std::runtime_error(what);
}

void requireKeys(const Json& object, const std::set<std::string>& known) {
  for (const auto& [key, value] : object.items()) {
    if (!known.contains(key)) fail("unknown key " + key + ": " + object.dump());
  }
}

void tried(int negatedErrno, const std::string& what) {
  if (negatedErrno != 0) fail(what + ": " + std::strerror(-negatedErrno));
}

std::uint32_t actionOf(const Json& entry) {
  const std::string action = entry.at("action");
  if (action == "SCMP_ACT_ALLOW") return SCMP_ACT_ALLOW;
  if (action == "SCMP_ACT_ERRNO") return SCMP_ACT_ERRNO(entry.at("errnoRet").get<std::uint16_t>());
  fail("unknown action " + action);
}

std::vector<scmp_arg_cmp> conditionsOf(const Json& entry) {
  std::vector<scmp_arg_cmp> conditions;
  for (const Json& arg : entry.value("args", Json::array())) {
    requireKeys(arg, {"index", "value", "valueTwo", "op"});
    if (arg.at("op") != "SCMP_CMP_MASKED_EQ") fail("unknown operator: " + arg.dump());
    conditions.push_back(
        {arg.at("index"), SCMP_CMP_MASKED_EQ, arg.at("value"), arg.at("valueTwo")});
  }
  return conditions;
}

void addEntry(scmp_filter_ctx context, const Json& entry) {
  requireKeys(entry, {"names", "action", "errnoRet", "args", "comment"});
  const auto conditions = conditionsOf(entry);
  for (const std::string name : entry.at("names")) {
    const int call = seccomp_syscall_resolve_name(name.c_str());
    if (call == __NR_SCMP_ERROR) fail("unknown call " + name);
    tried(seccomp_rule_add_exact_array(context, actionOf(entry), call,
                                       static_cast<unsigned>(conditions.size()), conditions.data()),
          entry.dump());
  }
}

void load(const Json& profile) {
  requireKeys(profile, {"defaultAction", "architectures", "syscalls"});
  if (profile.at("defaultAction") != "SCMP_ACT_ERRNO") fail("unknown default action");
  if (profile.at("architectures") != Json{"SCMP_ARCH_X86_64"}) fail("another architecture");
  const scmp_filter_ctx context = seccomp_init(SCMP_ACT_ERRNO(EPERM));
  if (context == nullptr) fail("seccomp_init");
  for (const Json& entry : profile.at("syscalls")) addEntry(context, entry);
  tried(seccomp_load(context), "loading the profile");  // sets no_new_privs
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3) {
    std::fputs("usage: under_profile PROFILE COMMAND [ARGUMENT...]\n", stderr);
    return 2;
  }
  try {
    load(Json::parse(std::ifstream(argv[1])));
  } catch (const std::exception& failure) {
    std::fprintf(stderr, "under_profile: %s: %s\n", argv[1], failure.what());
    return 1;
  }
  execv(argv[2], argv + 2);
  std::fprintf(stderr, "under_profile: %s: %s\n", argv[2], std::strerror(errno));
  return 1;
}
