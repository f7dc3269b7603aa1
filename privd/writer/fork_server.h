#pragma once
// The process whose children write into sysfs, and read what may take a while. It is forked while
// privd has nothing open, and so can reach nothing but what a request hands to it.
//
// One request is one message: the text, with the descriptors of the attribute, of where the answer
// goes and, where one is held, of a lock, which the child has for as long as it lives. The child
// that is made for it writes the text once, answers with an int, and ends. Without a text it reads
// the attribute once as a card's vital product data, and answers with an int and, after a 0, the
// serial number that it finds there (ipc/types/vital_data.h), or nothing:
//   0            written, or read
//   above 0      errno of the write or read
//   below 0      errno, negated, of the attempt to make the child: nothing was tried
// No answer before the end of the file: the child died. No child is ever signalled or waited for:
// the kernel may keep one for ever.

#include "ipc/base/result.h"

#include <kj/io.h>

#include <cstddef>
#include <string>
#include <string_view>

namespace vfiogate {

/// privd's end. The server ends when this is closed, thus with privd, however privd ends.
class ForkServer {
public:
  static constexpr std::size_t kLongestText = 256;

  /// Forks the server and waits until it is locked down: every descriptor closed but its socket and
  /// stderr, every signal blocked that can be, its filter (seccomp/fork_server_rules.h) in force.
  /// To be called with power dropped and one thread. Error: in words, for people.
  static Result<ForkServer, std::string> start();

  /// Of a server that runs already: the other end of its socket.
  explicit ForkServer(kj::AutoCloseFd socket) : socket_(kj::mv(socket)) {}

  /// Hands over one write. `text` has 1 to kLongestText bytes; the descriptors are borrowed; no
  /// lock: -1. Never waits. Returns 0, or the errno for which nothing was handed over: EMSGSIZE for
  /// another length, EPIPE or ECONNRESET if the server is gone.
  int ask(std::string_view text, int attributeFd, int answerFd, int lockFd) const;

  /// Hands over one read of vital product data. The rest as of ask().
  int askSerial(int attributeFd, int answerFd) const;

  /// Borrowed. The server says nothing after its start: readable means that it is gone.
  int socketFd() const { return socket_.get(); }

private:
  int send(std::string_view text, int attributeFd, int answerFd, int lockFd) const;

  kj::AutoCloseFd socket_;
};

/// What the server does once it is locked down: takes requests from `socketFd` until the other end
/// is closed. Messages of another form are dropped with what they carry. (An empty one without
/// descriptors looks like that end.)
[[noreturn]] void serveWrites(int socketFd);

}  // namespace vfiogate
