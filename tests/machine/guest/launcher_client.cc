// launcher_client SOCKET [NODE]: does with privd-iommufd's socket what KubeVirt's launcher does,
// and says what the descriptor is good for: how it counts memory, that it makes an address space,
// that the device of NODE below /dev/vfio (devices/vfio3) is bound to it. launcher_client --unread
// COUNT SOCKET: connects as often, reads nothing, and stays.

#include <fcntl.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

namespace {

// As in linux/iommufd.h and linux/vfio.h, which are older here than the kernel.
struct AllocateSpace {
  std::uint32_t size = sizeof(AllocateSpace);
  std::uint32_t flags = 0;
  std::uint32_t space = 0;
};
constexpr unsigned long kAllocateSpace = _IO(';', 0x81);

struct Option {
  std::uint32_t size = sizeof(Option);
  std::uint32_t option = 0;     // how memory is counted
  std::uint16_t operation = 1;  // to read
  std::uint16_t reserved = 0;
  std::uint32_t object = 0;
  std::uint64_t value = 0;
};
constexpr unsigned long kOption = _IO(';', 0x87);

struct BindIommufd {
  std::uint32_t size = sizeof(BindIommufd);
  std::uint32_t flags = 0;
  std::int32_t iommufd = -1;
  std::uint32_t device = 0;
};
constexpr unsigned long kBindIommufd = _IO(';', 100 + 18);

[[noreturn]] void fail(const std::string& what) {
  std::fprintf(stderr, "launcher_client: %s: %s\n", what.c_str(), std::strerror(errno));
  std::exit(1);
}

int dial(const std::string& path) {
  const int connection = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_un address = {};
  address.sun_family = AF_UNIX;
  path.copy(address.sun_path, sizeof(address.sun_path) - 1);
  if (::connect(connection, reinterpret_cast<const sockaddr*>(&address), sizeof(address)) != 0) {
    fail(path);
  }
  return connection;
}

int receive(int connection) {
  char byte = 0;
  iovec part = {&byte, 1};
  alignas(cmsghdr) char room[CMSG_SPACE(sizeof(int))] = {};
  msghdr message = {};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = room;
  message.msg_controllen = sizeof(room);
  errno = 0;
  const bool came = ::recvmsg(connection, &message, MSG_CMSG_CLOEXEC) == 1;
  const cmsghdr* first = came ? CMSG_FIRSTHDR(&message) : nullptr;
  if (first == nullptr || first->cmsg_type != SCM_RIGHTS) fail("no descriptor came");
  int descriptor = -1;
  std::memcpy(&descriptor, CMSG_DATA(first), sizeof(descriptor));
  return descriptor;
}

/// "by process, ioas, bound".
std::string uses(int iommufd, const char* node) {
  Option option;
  if (::ioctl(iommufd, kOption, &option) != 0) fail("how it counts memory");
  std::string text = option.value == 1 ? "by process" : "by user";
  AllocateSpace space;
  if (::ioctl(iommufd, kAllocateSpace, &space) != 0) fail("an address space");
  text += ", ioas";
  if (node == nullptr) return text;
  const int device = ::open((std::string("/dev/vfio/") + node).c_str(), O_RDWR | O_CLOEXEC);
  if (device < 0) fail(node);
  BindIommufd bind;
  bind.iommufd = iommufd;
  if (::ioctl(device, kBindIommufd, &bind) != 0) fail("binding");
  return text + ", bound";
}

[[noreturn]] void leaveUnread(long count, const std::string& path) {
  for (long connected = 0; connected < count; ++connected) dial(path);
  for (;;) ::pause();
}

}  // namespace

int main(int argc, char** argv) {
  if (argc == 4 && std::string(argv[1]) == "--unread") {
    leaveUnread(std::strtol(argv[2], nullptr, 10), argv[3]);
  }
  if (argc < 2 || argc > 3) {
    std::fprintf(stderr, "usage: launcher_client SOCKET [NODE]\n");
    return 2;
  }
  const int connection = dial(argv[1]);
  const int iommufd = receive(connection);
  if (::write(connection, "1", 1) != 1) fail("the reply");
  std::printf("%s\n", uses(iommufd, argc > 2 ? argv[2] : nullptr).c_str());
  return 0;
}
