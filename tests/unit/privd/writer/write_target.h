#pragma once
// An attribute for tests: a pipe takes each write whole, at once or, filled, not at all.

#include "sim/base/process_status.h"

#include <kj/io.h>

#include <fcntl.h>
#include <sched.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <cstdlib>
#include <string>
#include <vector>

namespace vfiogate::test {

class WriteTarget {
public:
  WriteTarget() {
    std::array<int, 2> fds{};
    if (pipe2(fds.data(), O_CLOEXEC) != 0) std::abort();
    reader_ = kj::AutoCloseFd(fds[0]);
    writer_ = kj::AutoCloseFd(fds[1]);
  }

  /// From now on a write does not come back.
  void fill() {
    fcntl(writer_.get(), F_SETFL, O_NONBLOCK);
    const std::vector<char> junk(4096, 'x');
    while (write(writer_.get(), junk.data(), junk.size()) > 0) filled_ += junk.size();
    fcntl(writer_.get(), F_SETFL, 0);
  }

  /// Takes out what fill() put in, so that writes come back.
  void drain() {
    std::vector<char> junk(4096);
    for (; filled_ > 0; filled_ -= junk.size()) {
      if (read(reader_.get(), junk.data(), junk.size()) != 4096) std::abort();
    }
  }

  /// The attribute, open for writing; once.
  kj::AutoCloseFd open() { return kj::mv(writer_); }

  /// Nobody reads it any more: writes fail with EPIPE.
  void close() { reader_ = nullptr; }

  /// What was written, waited for; nothing once all who could write are gone.
  std::string written() {
    std::string text(4096, '\0');
    const ssize_t length = read(reader_.get(), text.data(), text.size());
    text.resize(length > 0 ? static_cast<std::size_t>(length) : 0);
    return text;
  }

private:
  kj::AutoCloseFd reader_;
  kj::AutoCloseFd writer_;
  std::size_t filled_ = 0;
};

/// A card's vital product data for tests: what is said is read whole, and until then a read does
/// not come back.
class ReadSource {
public:
  ReadSource() {
    std::array<int, 2> fds{};
    if (pipe2(fds.data(), O_CLOEXEC) != 0) std::abort();
    reader_ = kj::AutoCloseFd(fds[0]);
    writer_ = kj::AutoCloseFd(fds[1]);
  }

  /// Open for reading; once.
  kj::AutoCloseFd open() { return kj::mv(reader_); }

  void say(const std::string& bytes) const {
    if (write(writer_.get(), bytes.data(), bytes.size()) != static_cast<ssize_t>(bytes.size())) {
      std::abort();
    }
  }
  /// Read-only fields with this serial number.
  void saySerial(const std::string& serial) const {
    const std::string fields = "SN" + std::string(1, static_cast<char>(serial.size())) + serial;
    say('\x90' + std::string(1, static_cast<char>(fields.size())) + '\0' + fields);
  }

private:
  kj::AutoCloseFd reader_;
  kj::AutoCloseFd writer_;
};

/// The children of `pid` as soon as there are `count` of them; what there is after 30 s.
inline std::vector<pid_t> childrenWhen(pid_t pid, std::size_t count) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(30);
  std::vector<pid_t> children = childrenOf(pid);
  while (children.size() != count && std::chrono::steady_clock::now() < end) {
    sched_yield();
    children = childrenOf(pid);
  }
  return children;
}

}  // namespace vfiogate::test
