#include "rootless/log_text.h"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <utility>

namespace vfiogate {
namespace {

constexpr std::size_t kLongestValue = 512;

bool isWordCharacter(char c) {
  const bool alphanumeric =
      (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
  return alphanumeric || std::string_view("._:/,+-").find(c) != std::string_view::npos;
}

void appendEscaped(std::string& out, char c) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  const auto byte = static_cast<unsigned char>(c);
  if (c == '"' || c == '\\') {
    out += {'\\', c};
  } else if (byte >= 0x20 && byte < 0x7f) {
    out += c;
  } else {
    out += {'\\', 'x', kDigits[byte >> 4U], kDigits[byte & 0xfU]};
  }
}

std::string quoted(std::string_view text) {
  std::string out = "\"";
  for (const char c : text.substr(0, kLongestValue)) appendEscaped(out, c);
  out += text.size() > kLongestValue ? "...\"" : "\"";
  return out;
}

bool isWord(std::string_view text) {
  return !text.empty() && text.size() <= kLongestValue &&
         std::ranges::all_of(text, isWordCharacter);
}

}  // namespace

LogField::LogField(std::string_view name, std::string_view text)
    : key(name), value(isWord(text) ? std::string(text) : quoted(text)) {}

std::string logText(std::string_view event, LogFields fields) {
  std::string line = "event=" + std::string(event);
  for (const LogField& field : fields) {
    line.append(" ").append(field.key).append("=").append(field.value);
  }
  return line;
}

void startLogAt(std::shared_ptr<spdlog::sinks::sink> sink) {
  auto logger = std::make_shared<spdlog::logger>("", std::move(sink));
  logger->set_pattern("time=%Y-%m-%dT%H:%M:%S.%eZ level=%l %v", spdlog::pattern_time_type::utc);
  spdlog::set_default_logger(std::move(logger));
}

}  // namespace vfiogate
