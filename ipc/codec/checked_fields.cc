#include "ipc/codec/checked_fields.h"

#include "ipc/codec/limits.h"

namespace vfiogate {

void CheckedFields::refuse(std::string_view field, const std::string& what) {
  if (error_) return;
  std::string where;
  for (const auto& [list, index] : path_) {
    where.append(list).append("[").append(std::to_string(index)).append("].");
  }
  error_ = where.append(field).append(" ").append(what);
}

std::string CheckedFields::text(std::string_view field, capnp::Text::Reader value) {
  if (!within(std::string(field) + ".size", value.size(), kMaxText)) return {};
  return {value.begin(), value.size()};
}

Bdf CheckedFields::address(std::string_view field, schema::Address::Reader value) {
  const auto address =
      Bdf::make(value.getSegment(), value.getBus(), value.getDevice(), value.getFunction());
  if (address) return *address;
  refuse(field, "has device " + std::to_string(value.getDevice()) + " and function " +
                    std::to_string(value.getFunction()) + ", at most 31 and 7 exist");
  return Bdf::make(0, 0, 0, 0).value();
}

Uuid CheckedFields::uuid(std::string_view field, capnp::Text::Reader value) {
  const auto uuid = Uuid::parse({value.begin(), value.size()});
  if (uuid) return *uuid;
  refuse(field, "is no UUID in lower case");
  return *Uuid::parse("00000000-0000-0000-0000-000000000000");
}

bool CheckedFields::within(std::string_view field, std::uint64_t value, std::uint64_t max) {
  if (value <= max) return true;
  refuse(field, "is " + std::to_string(value) + ", above " + std::to_string(max));
  return false;
}

}  // namespace vfiogate
