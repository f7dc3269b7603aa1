#pragma once
// The fixture of tests through netd: the three real programs on one node.

#include "sim/base/http_client.h"
#include "tests/integration/split_case.h"

#include <poll.h>

#include <chrono>
#include <functional>

namespace vfiogate::test {

class NetdCase : public SplitCase {
protected:
  inline static const std::string kGpus = "vfiogate.dev/10de_2684";
  static constexpr const char* kConfig = "resources:\n  - select: {vendor: \"10de\"}\n";

  void layOut(FakeSysfs& hardware) override { hardware.add({.address = "0000:01:00.0"}); }

  void startNetd() { ASSERT_TRUE(node_->startNetd()) << node_->said(); }

  /// Everything runs, and the kubelet has seen the device.
  void startAll() {
    node_->kubelet.start();
    ASSERT_TRUE(node_->startPlugind(kConfig)) << node_->said();
    ASSERT_TRUE(node_->startPrivd()) << node_->said();
    startNetd();
    ASSERT_TRUE(node_->kubelet.shows(kGpus, {"0000:01:00.0"})) << node_->said();
  }

  std::uint16_t port() { return node_->netdPort(); }

  HttpAnswer get(std::string_view path) {
    return httpGet(port(), path, kPatience).value_or(HttpAnswer{});
  }

  /// Asks until the answer is as wanted, a few times a second (netd's own news are a second old);
  /// the last answer if it never is.
  HttpAnswer getUntil(std::string_view path, const std::function<bool(const HttpAnswer&)>& wanted) {
    const auto end = std::chrono::steady_clock::now() + kPatience;
    HttpAnswer answer = get(path);
    while (!wanted(answer) && std::chrono::steady_clock::now() < end) {
      poll(nullptr, 0, 100);
      answer = get(path);
    }
    return answer;
  }
  HttpAnswer getUntil(std::string_view path, int code) {
    return getUntil(path, [code](const HttpAnswer& answer) { return answer.code == code; });
  }

  /// The value of a sample line of a scrape; -1: there is none.
  static double sampleIn(const std::string& text, const std::string& series) {
    const std::size_t at = ("\n" + text).find("\n" + series + " ");
    return at == std::string::npos ? -1 : std::stod(text.substr(at + series.size() + 1));
  }
};

}  // namespace vfiogate::test
