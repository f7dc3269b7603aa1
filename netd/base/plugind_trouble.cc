#include "netd/base/plugind_trouble.h"

#include "ipc/socket/unix_socket.h"

#include <cerrno>
#include <cstring>

namespace vfiogate {

std::string whyNotDialled(const std::string& socket, int error) {
  const std::string text = "cannot reach plugind at " + socket + ": " + strerrordesc_np(error);
  if (!meansNotYet(error)) return text;
  if (error == EACCES) return text + "; netd's user may not reach it";
  if (error == EAGAIN) return text + "; too many wait to be let in";
  return text + "; it does not run, or was started with another --listen";
}

std::string whyNoAnswer(const kj::Exception& failure, const QuestionWords& words) {
  switch (failure.getType()) {
    case kj::Exception::Type::OVERLOADED:
      return "plugind does not answer within 2 s: it hangs, is stopped, or the node is overloaded";
    case kj::Exception::Type::DISCONNECTED:
      return std::string("plugind hung up: ") + words.hungUp;
    case kj::Exception::Type::UNIMPLEMENTED:
      return std::string("plugind does not know ") + words.question + ": it is older than netd";
    default:
      return "plugind's answer cannot be read";
  }
}

}  // namespace vfiogate
