#include "privd/cli/doctor/tree.h"

#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/stat.h>

namespace vfiogate {
namespace {

constexpr mode_t kPermissions = 07777;

template <typename T>
Seen<T> seenAs(std::string path, Result<T, ReadError> read) {
  if (!read) return {std::move(path), std::nullopt, read.error().error};
  return {std::move(path), std::move(read).value(), 0};
}

}  // namespace

Tree::Tree(std::string name) : name_(std::move(name)), root_(SysfsRoot::open(name_)) {}

std::string Tree::nameOf(const std::string& path) const {
  return path.empty() ? name_ : name_ + "/" + path;
}

SeenText Tree::text(const std::string& path, std::size_t bytes) const {
  if (!root_) return {nameOf(path), std::nullopt, root_.error().error};
  SeenText seen = seenAs(nameOf(path), root_->readBytes(path, bytes));
  while (seen && !seen->empty() && (seen->back() == '\n' || seen->back() == ' ')) {
    seen.value->pop_back();
  }
  return seen;
}

SeenText Tree::whole(const std::string& path, std::size_t bytes) const {
  SeenText seen = text(path, bytes + 1);
  if (seen && seen->size() > bytes) return {seen.path, std::nullopt, EFBIG};
  return seen;
}

SeenNames Tree::names(const std::string& path) const {
  if (!root_) return {nameOf(path), std::nullopt, root_.error().error};
  return seenAs(nameOf(path), root_->names(path.empty() ? "." : path));
}

SeenPlace Tree::place(const std::string& path) const {
  if (!root_) return {nameOf(path), std::nullopt, root_.error().error};
  const auto opened =
      openAt(root_->fd(), path.empty() ? "." : path.c_str(), O_PATH, RESOLVE_BENEATH);
  if (!opened) return {nameOf(path), std::nullopt, opened.error().error};
  struct stat status = {};
  if (fstat(opened->get(), &status) != 0) return {nameOf(path), std::nullopt, errno};
  return {nameOf(path),
          Ownership{status.st_uid, status.st_mode & kPermissions, S_ISDIR(status.st_mode)}, 0};
}

}  // namespace vfiogate
