#include "delta/scan/row_count.h"

#include "delta/scan/value_bounds.h"

namespace thalweg::delta {
namespace {

// Nothing where the log does not say it, or says what no file can have.
std::optional<int64_t> liveRows(const AddFile& file) {
  const auto rows = StatisticsView(file.stats.value_or("")).numRecords();
  const int64_t deleted = file.deletionVector ? file.deletionVector->cardinality : 0;
  if (!rows || deleted < 0 || *rows < deleted) return std::nullopt;
  return *rows - deleted;
}

}  // namespace

std::optional<int64_t> rowCount(const Snapshot& snapshot) {
  std::optional<int64_t> sum = 0;
  snapshot.files().forEachLive([&](const FileRecord& record) {
    if (!sum) return;
    const auto rows = liveRows(record.toAdd(Statistics::IfKnown));
    if (!rows || __builtin_add_overflow(*sum, *rows, &*sum)) sum.reset();
  });
  return sum;
}

}  // namespace thalweg::delta
