#include "delta/scan/row_count.h"

#include <nlohmann/json.hpp>

namespace thalweg::delta {

std::optional<int64_t> rowCount(const Snapshot& snapshot) {
  std::optional<int64_t> rows = 0;
  snapshot.files().forEachLive([&](const FileRecord& record) {
    if (!rows) return;
    const AddFile file = record.toAdd(Statistics::IfKnown);
    const auto statistics =
        nlohmann::json::parse(file.stats.value_or(""), nullptr, /*allow_exceptions=*/false);
    const auto it = statistics.is_object() ? statistics.find("numRecords") : statistics.end();
    if (!statistics.is_object() || it == statistics.end() || !it->is_number_integer()) {
      rows.reset();
      return;
    }
    *rows += it->get<int64_t>() - (file.deletionVector ? file.deletionVector->cardinality : 0);
  });
  return rows;
}

}  // namespace thalweg::delta
