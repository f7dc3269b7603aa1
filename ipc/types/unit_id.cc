#include "ipc/types/unit_id.h"

#include "ipc/base/kube_names.h"

namespace vfiogate {

Result<Uuid, ParseError> Uuid::parse(std::string_view text) {
  if (!isUid(text)) return Failure{ParseError::kWrongShape};
  return Uuid(text);
}

Result<UnitId, ParseError> UnitId::parse(std::string_view text) {
  if (const auto uuid = Uuid::parse(text)) return UnitId(*uuid);
  const auto address = Bdf::parse(text);
  if (!address) return Failure{address.error()};
  return UnitId(*address);
}

std::string UnitId::str() const {
  return std::visit([](const auto& id) { return id.str(); }, id_);
}

}  // namespace vfiogate
