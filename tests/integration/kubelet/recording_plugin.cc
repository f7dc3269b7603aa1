// recording-plugin: a device plugin that writes down what a kubelet asks it, for a kubelet of any
// kind. Commands come line by line, answers and calls leave as lines of JSON.

#include "proto/podresources.grpc.pb.h"
#include "tests/integration/kubelet/tiny_plugin.h"
#include "tests/integration/kubelet/tiny_registration.h"

#include <grpcpp/grpcpp.h>
#include <nlohmann/json.hpp>

#include <filesystem>
#include <iostream>
#include <memory>
#include <mutex>
#include <sstream>
#include <string>
#include <vector>

namespace vfiogate::sim {
namespace {

using Json = nlohmann::ordered_json;
using Words = std::vector<std::string>;
constexpr const char* kEndpoint = "recorder.sock";

/// Lines of several threads.
class Journal {
public:
  void write(const Json& line) {
    const std::lock_guard lock(mutex_);
    std::cout << line.dump() << std::endl;
  }

private:
  std::mutex mutex_;
};

/// What the kubelet's PodResources says, as a value.
class PodResources {
public:
  explicit PodResources(const std::string& kubeletDir) {
    grpc::ChannelArguments arguments;
    arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
    stub_ = v1::PodResourcesLister::NewStub(
        grpc::CreateCustomChannel("unix:" + kubeletDir + "/pod-resources/kubelet.sock",
                                  grpc::InsecureChannelCredentials(), arguments));
  }

  Json list() {
    grpc::ClientContext context;
    v1::ListPodResourcesResponse response;
    const auto status = stub_->List(&context, {}, &response);
    if (!status.ok()) return status.error_message();
    Json pods = Json::object();
    for (const auto& pod : response.pod_resources()) {
      Json containers = Json::object();
      for (const auto& container : pod.containers()) {
        containers[container.name()] = idsOf(container.devices());
      }
      pods[pod.namespace_() + "/" + pod.name()] = containers;
    }
    return pods;
  }

  Json allocatable() {
    grpc::ClientContext context;
    v1::AllocatableResourcesResponse response;
    const auto status = stub_->GetAllocatableResources(&context, {}, &response);
    if (!status.ok()) return status.error_message();
    return idsOf(response.devices());
  }

private:
  static Json idsOf(const google::protobuf::RepeatedPtrField<v1::ContainerDevices>& all) {
    Json list = Json::array();
    for (const auto& devices : all) {
      for (const auto& id : devices.device_ids()) {
        list.push_back({devices.resource_name(), id});
      }
    }
    return list;
  }

  std::unique_ptr<v1::PodResourcesLister::Stub> stub_;
};

class Recorder {
public:
  Recorder(std::string kubeletDir, std::string resource)
      : kubeletDir_(std::move(kubeletDir)), resource_(std::move(resource)) {}

  void obey(const std::string& line) {
    std::istringstream text(line);
    std::string verb;
    text >> verb;
    Words words;
    for (std::string word; text >> word;) words.push_back(word);
    journal_.write({{"answer", answer(verb, words)}});
  }

private:
  Json answer(const std::string& verb, const Words& words) {
    if (verb == "listen") return listen();
    if (verb == "register") return registers(words);
    if (verb == "list") return PodResources(kubeletDir_).list();
    if (verb == "allocatable") return PodResources(kubeletDir_).allocatable();
    if (verb == "notices") return notices();
    if (verb == "withdraw") return withdraw();
    if (plugin_ == nullptr) return "listen first";
    if (verb == "announce") return announce();
    if (verb == "show") return show(words);
    if (verb == "end-streams") plugin_->endStreams();
    if (verb == "leave") plugin_.reset();
    if (verb == "options") options(words);
    if (verb == "refuse") refuse(words);
    return "";
  }

  /// Anew, also where a kubelet has removed the socket.
  Json listen() {
    plugin_.reset();
    plugin_ = std::make_unique<TinyPlugin>(devicePlugins() + "/" + kEndpoint);
    plugin_->onCall([this](const std::string& call, const Words& ids) {
      journal_.write({{"call", call}, {"ids", ids}});
    });
    plugin_->show(shown_);
    return "";
  }

  /// With other words than ours where they are given: endpoint, version, resource.
  Json registers(const Words& words) {
    const auto word = [&](std::size_t at, const std::string& usual) {
      return words.size() > at ? words[at] : usual;
    };
    return askToRegister(devicePlugins(), word(0, kEndpoint), word(2, resource_),
                         word(1, "v1beta1"));
  }

  /// `!a` is a sick one.
  Json show(const Words& words) {
    shown_.clear();
    for (const std::string& word : words) {
      const bool sick = word.starts_with("!");
      shown_.push_back({.id = word.substr(sick ? 1 : 0), .health = sick ? "Unhealthy" : "Healthy"});
    }
    plugin_->show(shown_);
    return "";
  }

  void options(const Words& words) {
    TinyPlugin::Options options;
    for (const std::string& word : words) {
      if (word == "prestart") options.preStart = true;
      if (word == "preferred") options.preferred = true;
    }
    plugin_->can(options);
  }

  /// `allocate N TEXT`: after N good ones; `prestart N TEXT`; without words nothing any more.
  void refuse(const Words& words) {
    plugin_->onAllocate(nullptr);
    plugin_->onPreStart(nullptr);
    if (words.size() < 3) return;
    std::string text;
    for (std::size_t i = 2; i < words.size(); ++i) text += (i > 2 ? " " : "") + words[i];
    const auto good = std::make_shared<int>(std::stoi(words[1]));
    if (words[0] == "allocate") {
      plugin_->onAllocate([good, text](const Words& /*ids*/) {
        return TinyPlugin::Reply{.error = (*good)-- > 0 ? "" : text};
      });
    } else {
      plugin_->onPreStart([good, text](const Words& /*ids*/) { return (*good)-- > 0 ? "" : text; });
    }
  }

  /// By the plugin watcher, without Register.
  Json announce() {
    registration_ = std::make_unique<TinyRegistration>(announcement(), "DevicePlugin", resource_,
                                                       std::vector<std::string>{"v1beta1"},
                                                       devicePlugins() + "/" + kEndpoint);
    return "";
  }

  Json notices() {
    Json told = Json::array();
    if (registration_ == nullptr) return told;
    for (const auto& notice : registration_->notices()) {
      told.push_back({notice.registered, notice.error});
    }
    return told;
  }

  Json withdraw() {
    std::filesystem::remove(announcement());
    return "";
  }

  std::string announcement() const { return kubeletDir_ + "/plugins_registry/recorder-reg.sock"; }
  std::string devicePlugins() const { return kubeletDir_ + "/device-plugins"; }

  const std::string kubeletDir_;
  const std::string resource_;
  Journal journal_;
  std::vector<TinyPlugin::Device> shown_;
  std::unique_ptr<TinyPlugin> plugin_;
  std::unique_ptr<TinyRegistration> registration_;
};

}  // namespace
}  // namespace vfiogate::sim

int main(int argc, char** argv) {
  if (argc != 3) {
    std::cerr << "usage: recording-plugin KUBELET-DIRECTORY RESOURCE\n";
    return 2;
  }
  vfiogate::sim::Recorder recorder(argv[1], argv[2]);
  for (std::string line; std::getline(std::cin, line);) recorder.obey(line);
  return 0;
}
