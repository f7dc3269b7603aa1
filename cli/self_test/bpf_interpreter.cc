#include "cli/self_test/bpf_interpreter.h"

#include "seccomp/load_filter.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <stdexcept>

namespace vfiogate {
namespace {

std::uint32_t loadWord(const seccomp_data& call, std::uint32_t offset) {
  if (offset % 4 != 0 || offset + 4 > sizeof(call)) throw std::runtime_error("bad BPF offset");
  std::uint32_t word = 0;
  std::memcpy(&word, reinterpret_cast<const char*>(&call) + offset, sizeof(word));
  return word;
}

bool holds(std::uint16_t code, std::uint32_t accumulator, std::uint32_t operand) {
  switch (BPF_OP(code)) {
    case BPF_JEQ:
      return accumulator == operand;
    case BPF_JGT:
      return accumulator > operand;
    case BPF_JGE:
      return accumulator >= operand;
    case BPF_JSET:
      return (accumulator & operand) != 0;
    default:
      throw std::runtime_error("unknown BPF jump");
  }
}

}  // namespace

std::vector<sock_filter> exportedFilter(std::span<const Rule> table) {
  const int fd = memfd_create("filter", MFD_CLOEXEC);
  if (auto failed = exportFilter(table, fd)) throw std::runtime_error(failed->str());
  std::vector<sock_filter> program(static_cast<std::size_t>(lseek(fd, 0, SEEK_END)) /
                                   sizeof(sock_filter));
  const std::size_t bytes = program.size() * sizeof(sock_filter);
  const bool whole = pread(fd, program.data(), bytes, 0) == static_cast<ssize_t>(bytes);
  close(fd);
  if (!whole || program.empty()) throw std::runtime_error("exported filter: short read");
  return program;
}

std::uint32_t evaluate(std::span<const sock_filter> program, const seccomp_data& call) {
  std::uint32_t accumulator = 0;
  // Jumps only go forward, so this ends.
  for (std::size_t at = 0; at < program.size(); ++at) {
    const sock_filter& step = program[at];
    switch (step.code) {
      case BPF_LD | BPF_W | BPF_ABS:
        accumulator = loadWord(call, step.k);
        break;
      case BPF_ALU | BPF_AND | BPF_K:
        accumulator &= step.k;
        break;
      case BPF_JMP | BPF_JA:
        at += step.k;
        break;
      case BPF_RET | BPF_K:
        return step.k;
      default:
        if (BPF_CLASS(step.code) != BPF_JMP) throw std::runtime_error("unknown BPF instruction");
        at += holds(step.code, accumulator, step.k) ? step.jt : step.jf;
    }
  }
  throw std::runtime_error("BPF program without an end");
}

seccomp_data nativeCall(int number, std::span<const std::uint64_t> args) {
  seccomp_data call{.nr = number, .arch = kNativeArch, .instruction_pointer = 0, .args = {}};
  std::copy_n(args.begin(), std::min<std::size_t>(args.size(), 6), call.args);
  return call;
}

}  // namespace vfiogate
