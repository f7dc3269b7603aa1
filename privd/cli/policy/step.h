#pragma once
// What both parts of the self-test say, and how they fail.

#include "ipc/base/result.h"
#include "ipc/socket/unix_socket.h"
#include "privd/base/open_file.h"
#include "privd/state/state_directory.h"

#include <kj/debug.h>

#include <unistd.h>

#include <cstring>
#include <string>

namespace vfiogate {

/// One line on stdout, written at once.
inline void say(const std::string& line) {
  const std::string whole = line + "\n";
  [[maybe_unused]] const ssize_t nobodyMinds = write(STDOUT_FILENO, whole.data(), whole.size());
}

/// What the outcome was, or throws with what went wrong.
template <typename T, typename E, typename Words>
T got(Result<T, E> result, Words words) {
  KJ_REQUIRE(result.has_value(), words(result.error()).c_str());
  return kj::mv(result).value();
}

/// The words for got(), by the kind of its error.
inline std::string ofErrno(int error) {
  return strerror(error);
}
inline std::string ofRead(const ReadError& error) {
  return strerror(error.error);
}
inline std::string ofState(const StateFailure& error) {
  return error.str();
}
inline std::string ofText(const std::string& text) {
  return text;
}
inline std::string ofSocket(const SocketError& error) {
  return std::string(error.step) + ": " + strerror(error.error);
}
/// A step begins.
inline void step(const char* name) {
  say(std::string(">") + name);
}

}  // namespace vfiogate
