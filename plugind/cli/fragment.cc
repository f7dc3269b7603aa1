#include "plugind/cli/ask.h"

#include "cli/table.h"

#include <algorithm>
#include <set>

namespace vfiogate {
namespace {

using nlohmann::json;

std::string nameOf(const json& resource) {
  return resource.at("name").get<std::string>();
}

bool isForClaims(const json& resource) {
  return resource.value("serve", "plugin") == "dra";
}

/// Its id is a UUID, and its model a type's name.
bool isMediated(const json& device) {
  return device.at("address").get<std::string>().find(':') == std::string::npos;
}

std::set<std::string> typesOf(const json& resource) {
  std::set<std::string> types;
  for (const json& device : resource.at("devices")) {
    if (isMediated(device)) types.insert(device.at("model"));
  }
  return types;
}

/// The resource whose further devices this one counts; itself: none.
const json& mainOf(const json& resources, const json& resource) {
  const auto more = resource.find("moreOf");
  if (more == resource.end()) return resource;
  // As a string: later releases of the library compare none with a document.
  const auto name = more->at("resource").get<std::string>();
  const auto main =
      std::ranges::find_if(resources, [&name](const json& one) { return nameOf(one) == name; });
  return main == resources.end() ? resource : *main;
}

/// How many of the resource a machine asks for, where it has one device of each.
std::size_t entriesOf(const json& resources, const json& resource) {
  const json& main = mainOf(resources, resource);
  const auto more = main.find("more");
  return &main == &resource || more == main.end() ? 1 : more->at("count").get<std::size_t>();
}

/// What every resource for KubeVirt has of mediated devices.
std::string mediatedRows(const json& resources) {
  std::string rows;
  for (const json& resource : resources) {
    if (isForClaims(resource) || !resource.at("kubevirt")) continue;
    for (const std::string& type : typesOf(mainOf(resources, resource))) {
      rows += "    - mdevNameSelector: \"" + type + "\"\n" +
              "      resourceName: " + nameOf(resource) + "\n" +
              "      externalResourceProvider: true\n";
    }
  }
  return rows.empty() ? rows : "  mediatedDevices:\n" + rows;
}

/// As KubeVirt's own documents write it; it compares without regard to case.
std::string modelOf(const json& device) {
  std::string model = device.at("model");
  std::ranges::transform(model, model.begin(), [](char c) {
    return c >= 'a' && c <= 'f' ? static_cast<char>(c - 'a' + 'A') : c;
  });
  return model;
}

std::set<std::string> modelsOf(const json& resource) {
  std::set<std::string> models;
  for (const json& device : resource.at("devices")) {
    if (!isMediated(device)) models.insert(modelOf(device));
  }
  for (const json& ticket : resource.value("tickets", json::array()))
    models.insert(modelOf(ticket));
  return models;
}

std::string withoutResources(const json& status) {
  std::string text = "# plugind serves no resource now";
  const std::size_t leftOut = status.at("leftOut").size();
  if (leftOut > 0) {
    text += ", and leaves " + counted(leftOut, "device") + " out; `plugind explain` says why";
  }
  return text + ".\n";
}

std::string kataWords(const json& resource) {
  if (isForClaims(resource)) return "#   " + nameOf(resource) + "   is for claims only\n";
  const bool kata = resource.at("kata");
  return "#   " + nameOf(resource) +
         (kata ? "\n" : "   not found by Kata: set `kata: true` in its entry of `resources`\n");
}

}  // namespace

std::string kubevirtFragment(const json& status) {
  const json& resources = status.at("resources");
  if (resources.empty()) return withoutResources(status);
  std::string text =
      "# In the KubeVirt resource below spec.configuration. Once any device is listed, unlisted\n"
      "# ones are refused. externalResourceProvider: KubeVirt starts no plugin for it.\n"
      "permittedHostDevices:\n"
      "  pciHostDevices:\n";
  for (const json& resource : resources) {
    if (isForClaims(resource)) {
      text += "    # " + nameOf(resource) + " is for claims only: it is named by a DeviceClass\n";
      continue;
    }
    if (!resource.at("kubevirt")) {
      text += "    # " + nameOf(resource) + " is not for KubeVirt: its `env` says none\n";
      continue;
    }
    for (const std::string& model : modelsOf(mainOf(resources, resource))) {
      text += "    - pciVendorSelector: \"" + model + "\"\n" +
              "      resourceName: " + nameOf(resource) + "\n" +
              "      externalResourceProvider: true\n";
    }
  }
  text += mediatedRows(resources);
  text +=
      "# In a VirtualMachine below spec.template.spec.domain.devices; `gpus` instead of\n"
      "# `hostDevices` for a GPU:\n"
      "#   hostDevices:\n";
  unsigned number = 0;
  for (const json& resource : resources) {
    if (isForClaims(resource) || !resource.at("kubevirt")) continue;
    for (std::size_t entries = entriesOf(resources, resource); entries > 0; --entries) {
      text += "#     - {name: device" + std::to_string(++number) +
              ", deviceName: " + nameOf(resource) + "}\n";
    }
  }
  return text;
}

std::string kataFragment(const json& status) {
  const json& resources = status.at("resources");
  if (resources.empty()) return withoutResources(status);
  std::string text =
      "# In the Kata runtime's configuration on the node, with the table of your hypervisor. "
      "Devices\n"
      "# are plugged before the guest starts; the runtime asks the kubelet which.\n"
      "[hypervisor.qemu]\n"
      "cold_plug_vfio = \"root-port\"\n"
      "\n"
      "[runtime]\n"
      "pod_resource_api_sock = \"/var/lib/kubelet/pod-resources/kubelet.sock\"\n"
      "vfio_mode = \"guest-kernel\"   # or \"vfio\": the guest's programs drive the device "
      "themselves\n"
      "\n"
      "# A pod asks for them below resources.limits of a container:\n";
  for (const json& resource : resources) text += kataWords(resource);
  return text;
}

}  // namespace vfiogate
