#include "sim/sysfs/kernel/obstructions.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>

namespace vfiogate::sim {
namespace {

constexpr const char* kAnyDriver = "sys/bus/pci/drivers/*/";

/// `pattern` is a path, or of any driver's file.
bool isMeant(const std::string& pattern, const std::string& path) {
  const std::string any = kAnyDriver;
  if (!pattern.starts_with(any)) return pattern == path;
  return path.starts_with("sys/bus/pci/drivers/") &&
         path.ends_with("/" + pattern.substr(any.size()));
}

Obstruction* orderFor(World& world, const std::string& path, const std::string& text) {
  const auto found = std::find_if(
      world.obstructions.begin(), world.obstructions.end(), [&](const Obstruction& each) {
        const bool meant = each.text.empty() || each.text == withoutNewline(text);
        return meant && isMeant(each.path, path);
      });
  return found == world.obstructions.end() ? nullptr : &*found;
}

/// The name by which programs open it: below the root of sysfs, a device by its address.
std::string nameOf(const World& world, const std::string& path) {
  for (const auto& [address, device] : world.devices) {
    const std::string above = "sys/" + devicePath(world, device.hardware) + "/";
    if (!path.starts_with(above) || path.find('/', above.size()) != std::string::npos) continue;
    return "bus/pci/devices/" + address.str() + "/" + path.substr(above.size());
  }
  return path.substr(std::string("sys/").size());
}

std::string quotedText(const std::string& text) {
  std::string quoted = "\"";
  for (const char letter : text) {
    const auto code = static_cast<unsigned char>(letter);
    if (letter == '\n') {
      quoted += "\\n";
    } else if (letter == '"' || letter == '\\') {
      quoted += std::string("\\") + letter;
    } else if (code < 0x20 || code > 0x7e) {
      std::array<char, 8> escape{};
      std::snprintf(escape.data(), escape.size(), "\\u%04x", code);
      quoted += escape.data();
    } else {
      quoted += letter;
    }
  }
  return quoted + "\"";
}

}  // namespace

Step obeyObstructions(const std::string& path, const std::string& text) {
  return [path, text](World& world, Task& task) {
    Obstruction* order = orderFor(world, path, text);
    if (order == nullptr) return kNext;
    if (order->silent) {
      task.steps.clear();
      return kNext;
    }
    if (order->error == kHang) return kWaits;
    const int error = order->error;
    if (order->times > 0 && --order->times == 0) {
      world.obstructions.erase(world.obstructions.begin() + (order - world.obstructions.data()));
    }
    return refused(error);
  };
}

int obstructDevice(World& world, const Bdf& address, const std::string& attribute,
                   Obstruction order) {
  const auto found = world.devices.find(address);
  if (found == world.devices.end()) return ENODEV;
  const bool ofDriver = attribute == "bind" || attribute == "unbind";
  order.path = "sys/" + devicePath(world, found->second.hardware) + "/" + attribute;
  if (ofDriver) order.path = kAnyDriver + attribute;
  if (attribute == "drivers_probe") order.path = "sys/bus/pci/drivers_probe";
  if (ofDriver || attribute == "drivers_probe") order.text = address.str();
  world.obstructions.push_back(std::move(order));
  return 0;
}

int liftDevice(World& world, const Bdf& address, const std::string& attribute) {
  const auto lifted = std::erase_if(world.obstructions, [&](const Obstruction& each) {
    const bool own = each.path.substr(0, each.path.rfind('/')).ends_with("/" + address.str());
    const bool its = own || each.text == address.str();
    return its && (attribute.empty() || each.path.ends_with("/" + attribute));
  });
  return lifted > 0 ? 0 : ENOENT;
}

int silence(World& world, const Bdf& address) {
  Obstruction order;
  order.silent = true;
  const int error = obstructDevice(world, address, "bind", order);
  return error != 0 ? error : obstructDevice(world, address, "drivers_probe", order);
}

int noteWrite(World& world, TaskId task, const std::string& path, const std::string& text) {
  if (world.writes.size() < World::kMostWrites) {
    world.writes.push_back(NotedWrite{task, nameOf(world, path), text, std::nullopt});
  } else {
    ++world.writesBeyond;
  }
  if (!world.nth || --world.nth->left > 0) return 0;
  const int error = world.nth->error;
  world.nth.reset();
  if (error != kHang) return error;
  Obstruction order;
  order.path = path;
  order.text = withoutNewline(text);
  world.obstructions.insert(world.obstructions.begin(), std::move(order));
  return 0;
}

void noteEnd(World& world, TaskId task, int error) {
  for (NotedWrite& each : world.writes) {
    if (each.task == task) each.error = error;
  }
}

std::string writesText(const World& world) {
  std::string text;
  for (const NotedWrite& each : world.writes) {
    text += "{\"attribute\":" + quotedText(each.attribute) + ",\"text\":" + quotedText(each.text) +
            ",\"error\":" + (each.error ? std::to_string(*each.error) : "null") + "}\n";
  }
  if (world.writesBeyond > 0) {
    text += "{\"beyond\":" + std::to_string(world.writesBeyond) + "}\n";
  }
  return text;
}

}  // namespace vfiogate::sim
