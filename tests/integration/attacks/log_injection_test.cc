// Text from outside, by each way that it has into a log: whatever it says, each line of the shipped
// programs' output is one event by the grammar, printable, quoted and cut.

#include "tests/integration/dra/claim_case.h"
#include "tests/integration/netd_case.h"
#include "tests/support/seen/log_grammar.h"

#include <gmock/gmock.h>

#include <unistd.h>

#include <array>
#include <filesystem>
#include <fstream>
#include <sstream>

namespace vfiogate::test {
namespace {

using testing::IsEmpty;
using testing::Not;

/// Of those, what a name in a directory can be.
std::vector<std::string> hostileNames() {
  std::vector<std::string> names;
  for (std::string text : hostileTexts()) {
    std::erase(text, '\0');
    std::ranges::replace(text, '/', '_');
    names.push_back(text.substr(0, 200));
  }
  return names;
}

std::vector<std::string> with(std::vector<std::string> words,
                              const std::vector<std::string>& more) {
  words.insert(words.end(), more.begin(), more.end());
  return words;
}

/// Lines that a reader takes for a start: whose first event is that.
std::size_t starts(const std::string& output) {
  std::size_t found = 0;
  std::istringstream lines(output);
  for (std::string line; std::getline(lines, line);) {
    const std::size_t at = line.find("event=");
    if (at != std::string::npos && line.compare(at, 13, "event=started") == 0) ++found;
  }
  return found;
}

class LogInjection : public NetdCase {
protected:
  void expectSound() {
    for (auto* program : {&node_->privd, &node_->plugind, &node_->netd, &node_->netdDra}) {
      if (!*program) continue;
      EXPECT_THAT(logFaults((*program)->output()), IsEmpty());
      // Of privd: the hardware process, the gate and the daemon.
      const std::size_t expected = program == &node_->privd ? 3 : 1;
      EXPECT_EQ(starts((*program)->output()), expected) << (*program)->output().substr(0, 4000);
    }
  }
  void configure(const std::string& text) {
    const std::string path = node_->directory("posted.yaml");
    std::ofstream(path + ".new") << text;
    std::filesystem::rename(path + ".new", path);
  }
  /// The output of a command of ours.
  std::string outputOf(const std::string& program, const std::vector<std::string>& arguments) {
    std::vector<std::string> words{builtProgram(program)};
    words.insert(words.end(), arguments.begin(), arguments.end());
    return ChildProcess(words, filteredEnvironment()).outputWhole();
  }
};

TEST_F(LogInjection, WhatTheHardwareSays) {
  startAll();
  unsigned group = 20;
  for (const std::string& text : hostileNames()) {
    const std::string address = "0000:04:" + std::to_string(group - 10) + ".0";
    node_->hardware.add({.address = address, .driver = text, .group = group++});
    for (const char* attribute :
         {"numa_node", "resource", "revision", "modalias", "d3cold_allowed", "reset_method"}) {
      node_->hardware.setAttribute(address, attribute, text + "\n");
    }
  }
  for (const std::string& text : hostileTexts()) {
    const std::string address = "0000:05:" + std::to_string(group++ - 20) + ".0";
    node_->hardware.add({.address = address, .group = group});
    for (const char* attribute : {"modalias", "revision"}) {
      node_->hardware.setAttribute(address, attribute, text);
    }
  }
  node_->addMarker();
  ASSERT_TRUE(node_->startPlugind(std::string(kConfig) + "  - select: {vendor: \"1b36\"}\n"));
  ASSERT_TRUE(node_->seen()) << node_->said().substr(0, 4000);
  expectSound();
  const std::string list = outputOf(
      "privd", {"list", "--sysfs", node_->hardware.sysfs(), "--dev", node_->hardware.dev()});
  EXPECT_THAT(list, testing::HasSubstr("0000:01:00.0"));
  EXPECT_EQ(unprintableLine(list), "");
  const std::string status =
      outputOf("plugind", {"status", "--timeout", "10000", "--listen", node_->plugindSocket()});
  EXPECT_THAT(status, testing::HasSubstr("0000:01:00.0"));
  EXPECT_EQ(unprintableLine(status), "");
}

TEST_F(LogInjection, WhatTheConfigurationSays) {
  configure(kConfig);
  node_->kubelet.start();
  ASSERT_TRUE(node_->startPlugind(kConfig)) << node_->said();
  ASSERT_TRUE(node_->startPrivd({"--plugind-config", node_->directory("posted.yaml")}));
  ASSERT_TRUE(node_->kubelet.shows(kGpus, {"0000:01:00.0"})) << node_->said();
  std::size_t refused = 0;
  for (const std::string& text : hostileTexts()) {
    for (const std::string& whole :
         {text, "resources: [{name: \"" + text + "\", select: {vendor: \"10de\"}}]\n",
          "'" + text + "': 1\n", "grace: |\n  " + text + "\n"}) {
      // The number makes each another text: the same is not told twice.
      configure(whole + "\n#" + std::to_string(refused));
      ++refused;
    }
    ASSERT_TRUE(node_->plugind->says("event=config_refused")) << node_->said().substr(0, 4000);
    const std::string file = node_->directory("bad.yaml");
    std::ofstream(file) << "resources: [{name: \"" + text + "\"}]\n";
    EXPECT_EQ(unprintableLine(outputOf("plugind", {"--check-config", "--config", file})), "");
  }
  expectSound();
}

TEST_F(LogInjection, WhatTheKubeletAnswers) {
  std::size_t failed = 0;
  for (const std::string& text : hostileTexts()) {
    node_->kubelet.behave(sim::Manner::kRefuses, text);
    node_->kubelet.start();
    if (!node_->plugind) {
      ASSERT_TRUE(node_->startPlugind(kConfig)) << node_->said();
      ASSERT_TRUE(node_->startPrivd()) << node_->said();
    }
    EXPECT_TRUE(node_->plugind->saysAll({"event=register_failed"}, ++failed)) << node_->said();
    node_->kubelet.stop();
  }
  expectSound();
}

TEST_F(LogInjection, WhatTheCheckpointSays) {
  node_->kubelet.start();
  ASSERT_TRUE(node_->startPrivd());
  for (const std::string& text : hostileTexts()) {
    std::ofstream(node_->directory("kubelet") + "/device-plugins/kubelet_internal_checkpoint")
        << "{\"Data\":{\"PodDeviceEntries\":[{\"PodUID\":\"" << text << "\"}]}}" << text;
    ASSERT_TRUE(node_->startPlugind(kConfig));
    ASSERT_TRUE(node_->plugind->says("checkpoint=")) << node_->said().substr(0, 4000);
    expectSound();
  }
}

TEST_F(LogInjection, WhatClientsOfHttpSend) {
  startAll();
  for (const std::string& text : hostileTexts()) {
    for (const std::string& request :
         {text + "\r\n\r\n", "GET /" + text + " HTTP/1.1\r\n\r\n",
          "GET /metrics HTTP/1.1\r\nHost: " + text + "\r\nContent-Length: " + text + "\r\n\r\n",
          text + " /metrics HTTP/1.1\r\n\r\n"}) {
      HttpConnection client(port());
      client.send(request);
      client.answer(std::chrono::milliseconds(200));
    }
  }
  EXPECT_EQ(getUntil("/healthz", 200).code, 200) << node_->said();
  expectSound();
}

// An operator's own words, or a template's. What a program would open besides is this test's own.
TEST_F(LogInjection, WhatTheArgumentsSay) {
  const std::vector<std::string> privd{"privd",         "serve",
                                       "--plugind",     node_->plugindSocket(),
                                       "--sysfs",       node_->hardware.sysfs(),
                                       "--dev",         node_->hardware.dev(),
                                       "--kubelet-dir", node_->directory("kubelet"),
                                       "--state-dir",   node_->directory("state"),
                                       "--audit-log",   node_->directory("audit.jsonl")};
  const std::vector<std::string> explain{"plugind", "explain", "--listen", node_->plugindSocket()};
  const std::vector<std::string> list{"privd", "list", "--sysfs", node_->hardware.sysfs()};
  for (const std::string& text : hostileNames()) {
    for (const std::vector<std::string>& words : std::vector<std::vector<std::string>>{
             with(privd, {"--sysfs", "/nowhere/" + text}),
             {"privd", text},
             {"privd", "bind", text, "--state-dir", node_->directory("state")},
             with(list, {"-o", text}),
             {"plugind", "--bogus=" + text},
             {"plugind", "--listen", "/nowhere/" + text},
             {"plugind", "--listen", node_->plugindSocket(), "--config", "/nowhere/" + text},
             with(explain, {text}),
             {"netd", "metrics", "--listen", text},
             {"netd", "metrics", "--" + text},
             {"netd", "dra", "--node", text, "--api-server", text},
             {"netd", text}}) {
      const std::string said = outputOf(words[0], {words.begin() + 1, words.end()});
      EXPECT_NE(said, "") << words[0] << " " << words[1];
      EXPECT_EQ(unprintableLine(said), "") << words[0] << " " << words[1];
      EXPECT_THAT("\n" + said, Not(testing::HasSubstr("\nevent=started"))) << words[0];
    }
  }
}

/// Through plugind and `netd dra`.
class LogInjectionDra : public ClaimCase {};

TEST_F(LogInjectionDra, WhatTheApiServerSays) {
  startAll();
  int number = 0;
  for (const std::string& text : hostileTexts()) {
    const std::string claim = "c" + std::to_string(number++);
    const std::string pod = "p" + std::to_string(number);
    const nlohmann::json config = {{{"source", "FromClaim"},
                                    {"requests", nlohmann::json::array()},
                                    {"opaque",
                                     {{"driver", kDriver},
                                      {"parameters",
                                       {{"apiVersion", "vfio.vfiogate.dev/v1alpha1"},
                                        {"kind", "DeviceConfig"},
                                        {text.substr(0, 2000), text.substr(0, 2000)}}}}}}};
    std::string utf8 = config.dump(-1, ' ', true, nlohmann::json::error_handler_t::replace);
    claimFor(claim, pod, {kC}, nlohmann::json::parse(utf8));
    remember(claim);
    const std::string body = nlohmann::json({{"kind", "Status"}, {"message", text}})
                                 .dump(-1, ' ', true, nlohmann::json::error_handler_t::replace);
    api_->control({{"fail",
                    {{{"match", kClaimsRead}, {"status", 403}, {"body", body}},
                     {{"match", kClaimsWrite}, {"status", 422}, {"body", body}}}}});
    run(podWith(pod, claim));
    node_->kubelet.end(pod);
    api_->control({{"clearFaults", true}});
  }
  EXPECT_TRUE(node_->netdDra->says("event=api_refuses")) << node_->said().substr(0, 4000);
  for (auto* program : {&node_->privd, &node_->plugind, &node_->netdDra}) {
    EXPECT_THAT(logFaults((*program)->output()), IsEmpty());
    const std::size_t expected = program == &node_->privd ? 3 : 1;
    EXPECT_EQ(starts((*program)->output()), expected);
  }
}

}  // namespace
}  // namespace vfiogate::test
