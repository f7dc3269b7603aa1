#pragma once
// A command in the making: its words, and how its answer comes about.
// The commands that let writes hang, fail or do nothing, and tell what was written.

#include "sim/sysfs/control/control_arguments.h"
#include "sim/sysfs/control/control_commands.h"

#include <functional>
#include <string>
#include <vector>

namespace vfiogate::sim {

using Words = std::vector<std::string>;

inline constexpr const char* kDefaultHolder = "vm";

inline Reply failure(const std::string& why) {
  return {"error: " + why + "\n", true, 0, "", std::nullopt};
}

inline Reply done() {
  return {"ok\n", false, 0, "", std::nullopt};
}

struct Context {
  SimKernel& kernel;
  Switches& switches;
  Words words;
  Arguments arguments;

  const std::string& word(std::size_t index) const { return words.at(index); }
  std::string holder() const { return words.size() > 2 ? words[2] : kDefaultHolder; }

  std::vector<Bdf> addresses() {
    std::vector<Bdf> all;
    for (std::size_t index = 1; index < words.size(); ++index) {
      all.push_back(arguments.address(words[index]));
    }
    return all;
  }

  Reply change(const std::function<int(World&)>& act) {
    if (!arguments.why().empty()) return failure(arguments.why());
    return finish(words.at(0), kernel.change(act));
  }

  template <typename Start>
  Reply start(Start begin) {
    if (!arguments.why().empty()) return failure(arguments.why());
    return {"", false, begin(), words.at(0), std::nullopt};
  }
};

Reply orderHang(Context& context);
Reply orderFailure(Context& context);
Reply orderSilence(Context& context);
Reply liftOrders(Context& context);
Reply orderNthFailure(Context& context);
Reply orderNthHang(Context& context);
Reply writesSoFar(Context& context);

}  // namespace vfiogate::sim
