#include "sim/sysfs/control/control_arguments.h"

#include <cerrno>
#include <map>

#include "ipc/base/hex.h"

namespace vfiogate::sim {

Bdf Arguments::address(const std::string& word) {
  const auto parsed = Bdf::parse(word);
  if (parsed) return *parsed;
  refuse("\"" + word + "\" is no PCI address, as 0000:3b:00.0");
  return Bdf::make(0, 0, 0, 0).value();
}

std::uint32_t Arguments::number(const std::string& word) {
  const auto parsed = parseDecimal(word);
  if (!parsed) refuse("\"" + word + "\" is no number");
  return parsed.value_or(0);
}

std::string Arguments::path(SimKernel& kernel, const std::string& word) {
  const std::string whole = word.starts_with("sys/") ? word : "sys/" + word;
  const auto real = resolve(kernel.tree(), whole);
  if (!real) refuse("there is no file " + whole);
  return real.value_or("");
}

int Arguments::errnoValue(const std::string& word) {
  static const std::map<std::string, int> kNames{
      {"EBUSY", EBUSY}, {"EINVAL", EINVAL}, {"EIO", EIO},       {"ENODEV", ENODEV},
      {"EPERM", EPERM}, {"EACCES", EACCES}, {"ENOMEM", ENOMEM}, {"ENOENT", ENOENT},
      {"ENXIO", ENXIO}, {"ENOTTY", ENOTTY}, {"EAGAIN", EAGAIN}, {"ETIMEDOUT", ETIMEDOUT}};
  const auto found = kNames.find(word);
  if (found == kNames.end()) refuse("\"" + word + "\" is no errno this knows, as EBUSY");
  return found == kNames.end() ? 0 : found->second;
}

void Arguments::refuse(const std::string& why) {
  if (why_.empty()) why_ = why;
}

}  // namespace vfiogate::sim
