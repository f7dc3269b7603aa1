#include "netd/dra/api/api_client.h"

#include "netd/dra/api/json_text.h"

namespace vfiogate {

std::string statusMessage(std::string_view body) {
  constexpr std::size_t kMostMessage = 256;
  const auto status = readJsonObject(body);
  if (!status) return {};
  const auto message = status->find("message");
  if (message == status->end() || !message->is_string()) return {};
  return message->get_ref<const std::string&>().substr(0, kMostMessage);
}

std::string wordsOf(const ApiAnswer& answer) {
  const std::string message = statusMessage(answer.body);
  const std::string words = "the API server answers " + std::to_string(answer.status);
  return message.empty() ? words : words + ": " + message;
}

}  // namespace vfiogate
