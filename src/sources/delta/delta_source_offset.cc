#include "sources/delta/delta_source_offset.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "common/error.h"

namespace thalweg {
namespace {

using Json = nlohmann::json;

// The versions of the form that Delta has: 2 was never used, 3 marks changes of schema.
constexpr int64_t kFirstForm = 1;
constexpr int64_t kReservedForm = 2;
constexpr int64_t kNewestForm = 3;
// What stands for kBeforeFirst in a log.
constexpr int64_t kLoggedBeforeFirst = -1;

[[noreturn]] void throwNoOffset(std::string_view text) {
  throw Error("DELTA_INVALID_SOURCE_OFFSET_FORMAT",
              "'" + std::string(text) +
                  "' is no offset of a Delta source: does the checkpoint belong to another query?");
}

int64_t number(const Json& json, const char* name, std::string_view text) {
  const auto it = json.find(name);
  if (it == json.end() || !it->is_number_integer()) throwNoOffset(text);
  if (it->is_number_unsigned() && it->get<uint64_t>() > INT64_MAX) throwNoOffset(text);
  return it->get<int64_t>();
}

}  // namespace

std::string DeltaSourceOffset::toJson() const {
  return fmt::format(
      R"({{"sourceVersion":{},"reservoirId":{},"reservoirVersion":{},"index":{},"isStartingVersion":{}}})",
      isAtMetadataChange() ? kNewestForm : kFirstForm,
      Json(tableId).dump(-1, ' ', false, Json::error_handler_t::replace), version,
      index == kBeforeFirst ? kLoggedBeforeFirst : index, isInitialSnapshot);
}

DeltaSourceOffset DeltaSourceOffset::parse(std::string_view text) {
  const Json json = Json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (!json.is_object()) throwNoOffset(text);
  const int64_t form = number(json, "sourceVersion", text);
  if (form > kNewestForm) {
    throw Error(
        "DELTA_INVALID_FORMAT_FROM_SOURCE_VERSION",
        fmt::format("The offset is of form {}; forms up to {} are understood: a newer Delta wrote it.", form,
                    kNewestForm),
        {{"expectedVersion", std::to_string(kNewestForm)}, {"realVersion", std::to_string(form)}});
  }
  if (form < kFirstForm || form == kReservedForm) {
    throw Error("DELTA_INVALID_SOURCE_VERSION", fmt::format("An offset cannot be of form {}.", form),
                {{"version", std::to_string(form)}});
  }
  DeltaSourceOffset offset;
  const auto id = json.find("reservoirId");
  const auto starting = json.find("isStartingVersion");
  if (id == json.end() || !id->is_string() || starting == json.end() || !starting->is_boolean())
    throwNoOffset(text);
  offset.tableId = id->get<std::string>();
  offset.isInitialSnapshot = starting->get<bool>();
  offset.version = number(json, "reservoirVersion", text);
  offset.index = number(json, "index", text);
  constexpr int64_t kMaxVersion = INT64_MAX - 2;
  if (offset.version < 0 || offset.version > kMaxVersion || offset.index > kMaxVersion) throwNoOffset(text);
  if (offset.index == kLoggedBeforeFirst && form == kFirstForm) offset.index = kBeforeFirst;
  const bool isPlace = offset.index >= 0 || offset.index == kBeforeFirst || offset.isAtMetadataChange();
  if (!isPlace) throwNoOffset(text);
  return offset;
}

}  // namespace thalweg
