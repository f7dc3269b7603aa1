// sysfs_script [--root DIRECTORY] [--control SOCKET]: carries out lines from standard input and
// prints what came of each. The same lines on a real kernel and on the simulation say whether the
// simulation is right. Paths are below DIRECTORY (default /sys).
//   write PATH TEXT      ok, or the errno         (TEXT "-" is a newline alone)
//   read PATH            the text, or the errno
//   hex PATH COUNT       so many first bytes
//   link PATH            the last part of where it points, or the errno
//   names DIRECTORY      its entries, in order
//   start write|read ... the same in a process of its own: its answer, or "hangs" if there is none
//   finish               the answers of those that hung, in order
//   hold ADDRESS         opens the device as a virtual machine does
//   release ADDRESS      closes it
//   events               kernel events about PCI and VFIO since the last time
//   drop-capabilities    from here on

#include <dirent.h>
#include <fcntl.h>
#include <linux/netlink.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <iostream>
#include <map>
#include <sstream>
#include <vector>

#include "sim/sysfs/control/control_client.h"
#include "tests/machine/guest/no_capabilities.h"
#include "tests/machine/guest/vfio_device.h"

namespace vfiogate::machine {
namespace {

constexpr int kHangsAfterMs = 2000;

std::string named(int error) {
  const char* name = ::strerrorname_np(error);
  return name == nullptr ? std::to_string(error) : name;
}

std::string writeFile(const std::string& path, const std::string& text) {
  const int fd = ::open(path.c_str(), O_WRONLY | O_CLOEXEC);
  if (fd < 0) return named(errno) + " at open";
  const std::string bytes = text == "-" ? "\n" : text;
  const int error = ::write(fd, bytes.data(), bytes.size()) < 0 ? errno : 0;
  ::close(fd);
  return error == 0 ? "ok" : named(error);
}

std::string readFile(const std::string& path) {
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return named(errno) + " at open";
  std::array<char, 4096> buffer{};
  const ssize_t got = ::read(fd, buffer.data(), buffer.size());
  const int error = errno;
  ::close(fd);
  return got < 0 ? named(error) : std::string(buffer.data(), static_cast<std::size_t>(got));
}

std::string oneLine(std::string text) {
  std::replace(text.begin(), text.end(), '\n', ';');
  return text;
}

std::string hexBytes(const std::string& bytes, std::size_t count) {
  constexpr char kDigits[] = "0123456789abcdef";
  std::string text;
  for (std::size_t at = 0; at < std::min(count, bytes.size()); ++at) {
    const auto value = static_cast<unsigned char>(bytes[at]);
    text += kDigits[value >> 4];
    text += kDigits[value & 15];
  }
  return text;
}

std::string linkName(const std::string& path) {
  std::array<char, 4096> buffer{};
  const ssize_t got = ::readlink(path.c_str(), buffer.data(), buffer.size());
  if (got < 0) return named(errno);
  const std::string target(buffer.data(), static_cast<std::size_t>(got));
  return target.substr(target.rfind('/') + 1);
}

std::string namesIn(const std::string& path) {
  DIR* directory = ::opendir(path.c_str());
  if (directory == nullptr) return named(errno);
  std::vector<std::string> names;
  while (const dirent* entry = ::readdir(directory)) {
    if (entry->d_name[0] != '.') names.emplace_back(entry->d_name);
  }
  ::closedir(directory);
  std::sort(names.begin(), names.end());
  std::string text;
  for (const std::string& name : names) text += (text.empty() ? "" : " ") + name;
  return text;
}

class Script {
public:
  Script(std::string root, std::string control)
      : root_(std::move(root) + "/"), control_(std::move(control)) {
    events_ = ::socket(AF_NETLINK, SOCK_DGRAM | SOCK_CLOEXEC, NETLINK_KOBJECT_UEVENT);
    sockaddr_nl address{};
    address.nl_family = AF_NETLINK;
    address.nl_groups = 1;
    if (::bind(events_, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
      std::perror("the kernel's uevents");
    }
  }

  std::string act(const std::string& line) {
    std::istringstream words(line);
    std::string verb;
    std::string rest;
    words >> verb >> std::ws;
    std::getline(words, rest);
    if (verb == "start") return start(rest);
    if (verb == "finish") return finish();
    if (verb == "hold") return hold(rest);
    if (verb == "release") return release(rest);
    if (verb == "events") return takeEvents();
    if (verb == "drop-capabilities") return dropCapabilities().empty() ? "ok" : "no";
    return actOnFile(verb, rest);
  }

private:
  std::string actOnFile(const std::string& verb, const std::string& rest) const {
    const std::size_t space = rest.find(' ');
    const std::string path = root_ + rest.substr(0, space);
    const std::string text = space == std::string::npos ? "" : rest.substr(space + 1);
    if (verb == "write") return writeFile(path, text);
    if (verb == "read") return oneLine(readFile(path));
    if (verb == "hex") return hexBytes(readFile(path), std::stoul(text));
    if (verb == "link") return linkName(path);
    if (verb == "names") return namesIn(path);
    return "no such act";
  }

  std::string start(const std::string& rest) {
    std::array<int, 2> ends{};
    if (::pipe2(ends.data(), O_CLOEXEC) != 0) return named(errno);
    const pid_t pid = ::fork();
    if (pid == 0) {
      // Else this process would be another user of the device, and wait for itself.
      for (auto& [address, device] : held_) closeDevice(device);
      const std::string answer = act(rest);
      (void)!::write(ends[1], answer.data(), answer.size());
      ::_exit(0);
    }
    ::close(ends[1]);
    if (!hangs(ends[0])) return answerOf(ends[0]);
    hung_.push_back(ends[0]);
    return "hangs";
  }

  /// On a real kernel only time can tell; the simulation knows.
  bool hangs(int answerFd) const {
    std::array<pollfd, 2> waits{pollfd{answerFd, POLLIN, 0}, pollfd{-1, POLLIN, 0}};
    if (control_.empty()) return ::poll(waits.data(), 1, kHangsAfterMs) == 0;
    const sim::ControlRequest waiting(control_,
                                      "await-waiting " + std::to_string(hung_.size() + 1));
    waits[1].fd = waiting.fd();
    ::poll(waits.data(), waits.size(), -1);
    return waits[0].revents == 0;
  }

  static std::string answerOf(int pipeFd) {
    std::array<char, 4096> buffer{};
    const ssize_t got = ::read(pipeFd, buffer.data(), buffer.size());
    ::close(pipeFd);
    ::wait(nullptr);
    return got <= 0 ? "died" : std::string(buffer.data(), static_cast<std::size_t>(got));
  }

  std::string finish() {
    std::string answers;
    for (const int fd : hung_) answers += (answers.empty() ? "" : ", ") + answerOf(fd);
    hung_.clear();
    return answers;
  }

  std::string hold(const std::string& address) {
    if (!control_.empty()) return ask("open " + address);
    const std::string group = linkName("/sys/bus/pci/devices/" + address + "/iommu_group");
    std::string why;
    const VfioDevice device = openDevice(group, address, why);
    if (why.empty()) held_[address] = device;
    return why.empty() ? "ok" : "no";
  }

  std::string release(const std::string& address) {
    if (!control_.empty()) return ask("close " + address);
    closeDevice(held_[address]);
    held_.erase(address);
    return "ok";
  }

  std::string ask(const std::string& command) const {
    const auto answer = sim::askControl(control_, command);
    return answer && *answer == "ok\n" ? "ok" : "no";
  }

  std::string takeEvents() const {
    std::string heard;
    std::array<char, 8192> buffer{};
    for (;;) {
      const ssize_t got = ::recv(events_, buffer.data(), buffer.size(), MSG_DONTWAIT);
      if (got <= 0) return heard;
      const std::string text(buffer.data(), static_cast<std::size_t>(got));
      if (text.find("SUBSYSTEM=pci") == std::string::npos &&
          text.find("SUBSYSTEM=vfio") == std::string::npos) {
        continue;
      }
      const std::string head = text.substr(0, text.find('\0'));
      heard += (heard.empty() ? "" : ", ") + head.substr(0, head.find('@')) + " " +
               head.substr(head.rfind('/') + 1);
    }
  }

  std::string root_;
  std::string control_;
  int events_ = -1;
  std::vector<int> hung_;
  std::map<std::string, VfioDevice> held_;
};

}  // namespace
}  // namespace vfiogate::machine

int main(int argc, char** argv) {
  std::string root = "/sys";
  std::string control;
  for (int at = 1; at + 1 < argc; at += 2) {
    const std::string option = argv[at];
    if (option == "--root") root = argv[at + 1];
    if (option == "--control") control = argv[at + 1];
  }
  vfiogate::machine::Script script(root, control);
  for (std::string line; std::getline(std::cin, line);) {
    if (line.empty() || line.front() == '#') continue;
    const std::string answer = script.act(line);
    std::cout << line << " -> " << (answer.empty() ? "nothing" : answer) << std::endl;
  }
  return 0;
}
