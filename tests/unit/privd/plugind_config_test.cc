// plugind's configuration as privd posts it.

#include "privd/gate/plugind_config.h"

#include "sim/base/temp_dir.h"

#include <gtest/gtest.h>
#include <kj/async-io.h>

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <fstream>

namespace vfiogate {
namespace {

class PlugindConfigTest : public testing::Test {
protected:
  using Opened = Result<RegularFile, ReadError>;

  ~PlugindConfigTest() noexcept override = default;

  void write(const std::string& path, const std::string& text) const {
    std::ofstream(dir_ / path) << text;
  }
  Opened await(kj::Promise<Opened> opened) {
    return io_.provider->getTimer()
        .timeoutAfter(20 * kj::SECONDS, kj::mv(opened))
        .wait(io_.waitScope);
  }
  static std::string textOf(const Opened& opened) {
    std::string text(64, '\0');
    const ssize_t got = pread(opened->fd.get(), text.data(), text.size(), 0);
    text.resize(got < 0 ? 0 : static_cast<std::size_t>(got));
    return text;
  }

  TempDir dir_;
  kj::AsyncIoContext io_ = kj::setupAsyncIo();
  PlugindConfig config_{io_.unixEventPort, io_.provider->getTimer(),
                        kj::str((dir_ / "config.yaml").c_str())};
};

TEST_F(PlugindConfigTest, IsThereAtOnceAndAgainWhenItIsEdited) {
  write("config.yaml", "one");
  const auto first = await(config_.other(std::nullopt));
  EXPECT_EQ(textOf(first), "one");
  auto next = config_.other(identityOf(first->status));
  EXPECT_FALSE(next.poll(io_.waitScope)) << "it is the known one";
  write("other.yaml", "not meant");
  EXPECT_FALSE(next.poll(io_.waitScope));
  write("config.yaml", "edited in place");
  EXPECT_EQ(textOf(await(kj::mv(next))), "edited in place");
}

TEST_F(PlugindConfigTest, IsSeenWhenARenameReplacesItOrItAppears) {
  auto next = config_.other(std::nullopt);
  EXPECT_FALSE(next.poll(io_.waitScope)) << "missing is no error: it may be written yet";
  write("new", "two");
  std::filesystem::rename(dir_ / "new", dir_ / "config.yaml");
  EXPECT_EQ(textOf(await(kj::mv(next))), "two");
}

// As the kubelet does: a directory of data, `..data` that points to it, the file a link through it.
TEST_F(PlugindConfigTest, IsSeenWhenAConfigMapSwapsItsLinks) {
  namespace fs = std::filesystem;
  fs::create_directory(dir_ / "..1");
  write("..1/config.yaml", "before");
  fs::create_symlink("..1", dir_ / "..data");
  fs::create_symlink("..data/config.yaml", dir_ / "config.yaml");
  const auto first = await(config_.other(std::nullopt));
  EXPECT_EQ(textOf(first), "before");
  auto next = config_.other(identityOf(first->status));
  fs::create_directory(dir_ / "..2");
  write("..2/config.yaml", "after");
  fs::create_symlink("..2", dir_ / "..data_tmp");
  EXPECT_FALSE(next.poll(io_.waitScope));
  fs::rename(dir_ / "..data_tmp", dir_ / "..data");
  EXPECT_EQ(textOf(await(kj::mv(next))), "after");
}

TEST_F(PlugindConfigTest, WhatIsNoFileOrTooLargeIsAnError) {
  ASSERT_EQ(mkfifo((dir_ / "config.yaml").c_str(), 0600), 0);
  EXPECT_EQ(await(config_.other(std::nullopt)).error().error, EINVAL) << "and nobody waits for it";
  std::filesystem::remove(dir_ / "config.yaml");
  write("config.yaml", std::string((1 << 20) + 1, 'x'));
  EXPECT_EQ(await(config_.other(std::nullopt)).error().error, EFBIG);
}

}  // namespace
}  // namespace vfiogate
