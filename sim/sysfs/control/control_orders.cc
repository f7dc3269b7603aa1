#include "sim/sysfs/control/control_context.h"

#include <cerrno>

#include "sim/sysfs/kernel/obstructions.h"

namespace vfiogate::sim {
namespace {

bool namesDevice(const Context& context) {
  return context.words.size() > 1 && Bdf::parse(context.word(1)).has_value();
}

/// For the writes to one file.
Reply obstructFile(Context& context, int error, std::size_t textAt) {
  Obstruction order;
  order.path = context.arguments.path(context.kernel, context.word(1));
  if (context.words.size() > textAt) order.text = context.word(textAt);
  order.error = error;
  return context.change([&](World& world) {
    world.obstructions.push_back(order);
    return 0;
  });
}

Reply obstructOne(Context& context, Obstruction order) {
  const Bdf address = context.arguments.address(context.word(1));
  return context.change([&](World& world) {
    return obstructDevice(world, address, context.word(2), std::move(order));
  });
}

Reply misused(const std::string& use) {
  return failure("say " + use);
}

Reply orderNth(Context& context, int error) {
  const std::uint32_t count = context.arguments.number(context.word(1));
  if (context.arguments.why().empty() && count == 0) return failure("the first write is number 1");
  return context.change([&](World& world) {
    world.nth = NthWrite{count, error};
    return 0;
  });
}

}  // namespace

Reply orderHang(Context& context) {
  if (!namesDevice(context)) return obstructFile(context, kHang, 2);
  if (context.words.size() != 3) return misused("hang ADDRESS ATTRIBUTE");
  return obstructOne(context, Obstruction{});
}

Reply orderFailure(Context& context) {
  if (!namesDevice(context)) {
    if (context.words.size() > 4) return misused("fail PATH ERRNO [TEXT]");
    return obstructFile(context, context.arguments.errnoValue(context.word(2)), 3);
  }
  if (context.words.size() < 4) return misused("fail ADDRESS ATTRIBUTE ERRNO [TIMES]");
  Obstruction order;
  order.error = context.arguments.errnoValue(context.word(3));
  if (context.words.size() > 4) order.times = context.arguments.number(context.word(4));
  return obstructOne(context, std::move(order));
}

Reply orderSilence(Context& context) {
  const Bdf address = context.arguments.address(context.word(1));
  return context.change([&](World& world) { return silence(world, address); });
}

Reply liftOrders(Context& context) {
  if (context.words.size() == 1) {
    return context.change([](World& world) {
      world.obstructions.clear();
      world.nth.reset();
      return 0;
    });
  }
  if (namesDevice(context)) {
    const Bdf address = context.arguments.address(context.word(1));
    const std::string attribute = context.words.size() > 2 ? context.word(2) : "";
    return context.change([&](World& world) { return liftDevice(world, address, attribute); });
  }
  if (context.words.size() > 2) return misused("unhang PATH");
  const std::string path = context.arguments.path(context.kernel, context.word(1));
  return context.change([&](World& world) {
    const auto lifted = std::erase_if(world.obstructions,
                                      [&](const Obstruction& each) { return each.path == path; });
    return lifted > 0 ? 0 : ENOENT;
  });
}

Reply orderNthFailure(Context& context) {
  return orderNth(context, context.arguments.errnoValue(context.word(2)));
}

Reply orderNthHang(Context& context) {
  return orderNth(context, kHang);
}

Reply writesSoFar(Context& context) {
  const std::string what = context.words.size() == 1 ? "" : context.word(1);
  if (!what.empty() && what != "clear" && what != "take") {
    return misused("writes, writes clear, or writes take");
  }
  const std::string text = what == "clear" ? "" : writesText(context.kernel.world());
  if (what.empty()) return {text + "ok\n", false, 0, "", std::nullopt};
  Reply reply = context.change([](World& world) {
    world.writes.clear();
    world.writesBeyond = 0;
    return 0;
  });
  reply.text = text + reply.text;
  return reply;
}

}  // namespace vfiogate::sim
