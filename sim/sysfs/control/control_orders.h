#pragma once
// The commands that let writes hang, fail or do nothing, and tell what was written.

#include "sim/sysfs/control/control_context.h"

namespace vfiogate::sim {

Reply orderHang(Context& context);
Reply orderFailure(Context& context);
Reply orderSilence(Context& context);
Reply liftOrders(Context& context);
Reply orderNthFailure(Context& context);
Reply orderNthHang(Context& context);
Reply writesSoFar(Context& context);

}  // namespace vfiogate::sim
