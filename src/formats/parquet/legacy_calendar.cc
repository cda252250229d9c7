#include "formats/parquet/legacy_calendar.h"

#include <algorithm>
#include <limits>

#include <arrow/array.h>
#include <arrow/buffer.h>
#include <arrow/util/bitmap_ops.h>
#include <arrow/util/key_value_metadata.h>
#include <parquet/arrow/schema.h>
#include <parquet/metadata.h>
#include <parquet/schema.h>

#include "common/error.h"
#include "formats/parquet/parquet_error.h"
#include "types/text/calendar.h"

namespace thalweg {
namespace {

constexpr int64_t kFirstGregorianDay = -141'427;  // 1582-10-15
constexpr int64_t kFirstSafeDay = -25'567;        // 1900-01-01: zones of regions have one meaning from here
constexpr int64_t kSecondsPerDay = 86'400;

std::optional<std::string> valueOf(const parquet::FileMetaData& footer, const char* key) {
  if (!footer.key_value_metadata()) return std::nullopt;
  auto value = footer.key_value_metadata()->Get(key);
  if (!value.ok()) return std::nullopt;
  return std::move(value).ValueUnsafe();
}

AncientTimes modeOf(const parquet::FileMetaData& footer, const char* firstGregorianVersion,
                    const char* legacyKey, AncientTimes otherwise) {
  const auto version = valueOf(footer, "org.apache.spark.version");
  if (!version) return otherwise;
  // Versions are compared as texts, as Spark does.
  if (*version < firstGregorianVersion || valueOf(footer, legacyKey)) return AncientTimes::Legacy;
  return AncientTimes::Corrected;
}

// Java's older calendar knows offsets by the name GMT+h:mm only, and takes others for Greenwich.
bool isCountedInUtc(std::string_view zone) {
  for (const std::string_view name : {"UTC", "GMT", "UT", "Z", "Etc/UTC", "Etc/GMT"}) {
    if (zone == name) return true;
  }
  for (const std::string_view offset : {"+", "-", "UTC+", "UTC-", "UT+", "UT-"}) {
    if (zone.starts_with(offset)) return true;
  }
  return false;
}

bool isInstant(const parquet::ColumnDescriptor& leaf) {
  const auto& logical = leaf.logical_type();
  return logical && logical->is_timestamp() &&
         static_cast<const parquet::TimestampLogicalType&>(*logical).is_adjusted_to_utc();
}

// The date of a day in the Julian calendar, counted in rounds of four years from 1 March of the year 0.
CivilDate julianDate(int64_t day) {
  const int64_t days = day + 719'470;
  const int64_t round = floorDivide(days, 1461);
  const int64_t dayOfRound = days - round * 1461;
  const int64_t yearOfRound = std::min<int64_t>(dayOfRound / 365, 3);
  const int64_t dayOfYear = dayOfRound - yearOfRound * 365;
  const int64_t shifted = (5 * dayOfYear + 2) / 153;
  const int month = static_cast<int>(shifted < 10 ? shifted + 3 : shifted - 9);
  return {round * 4 + yearOfRound + (month <= 2 ? 1 : 0), month,
          static_cast<int>(dayOfYear - (153 * shifted + 2) / 5 + 1)};
}

}  // namespace

int64_t gregorianDay(int64_t hybridDay) {
  if (hybridDay >= kFirstGregorianDay) return hybridDay;
  const CivilDate date = julianDate(hybridDay);
  return daysFromCivil(date.year, date.month, 1) + date.day - 1;
}

LegacyCalendar::LegacyCalendar(AncientTimes datetimes, AncientTimes int96, std::string zone, std::string path)
    : datetimes_(datetimes), int96_(int96), zone_(std::move(zone)), path_(std::move(path)) {}

std::optional<LegacyCalendar> LegacyCalendar::of(const parquet::FileMetaData& footer, AncientTimes datetimes,
                                                 AncientTimes int96, const std::string& path) {
  datetimes = thalweg::modeOf(footer, "3.0.0", "org.apache.spark.legacyDateTime", datetimes);
  int96 = thalweg::modeOf(footer, "3.1.0", "org.apache.spark.legacyINT96", int96);
  if (datetimes == AncientTimes::Corrected && int96 == AncientTimes::Corrected) return std::nullopt;
  return LegacyCalendar(datetimes, int96, valueOf(footer, "org.apache.spark.timeZone").value_or(""), path);
}

AncientTimes LegacyCalendar::modeOf(const parquet::ColumnDescriptor& leaf) const {
  if (leaf.physical_type() == parquet::Type::INT96) return int96_;
  const auto& logical = leaf.logical_type();
  const bool counts = isInstant(leaf) || (logical && logical->is_date());
  return counts ? datetimes_ : AncientTimes::Corrected;
}

bool LegacyCalendar::changes(const parquet::ColumnDescriptor& leaf) const {
  return modeOf(leaf) == AncientTimes::Legacy;
}

std::shared_ptr<arrow::Array> LegacyCalendar::rebase(const std::shared_ptr<arrow::Array>& column,
                                                     const parquet::arrow::SchemaField& field,
                                                     const parquet::SchemaDescriptor& schema,
                                                     arrow::MemoryPool* pool) const {
  if (field.is_leaf()) return rebaseLeaf(column, *schema.Column(field.column_index), pool);
  auto data = column->data()->Copy();
  if (data->child_data.size() != field.children.size())
    throw parquetReadError(path_, "the column " + field.field->name() + " does not have its members");
  for (size_t i = 0; i < field.children.size(); ++i)
    data->child_data[i] =
        rebase(arrow::MakeArray(data->child_data[i]), field.children[i], schema, pool)->data();
  return arrow::MakeArray(data);
}

std::shared_ptr<arrow::Array> LegacyCalendar::rebaseLeaf(const std::shared_ptr<arrow::Array>& column,
                                                         const parquet::ColumnDescriptor& leaf,
                                                         arrow::MemoryPool* pool) const {
  if (modeOf(leaf) == AncientTimes::Corrected) return column;
  if (column->type_id() == arrow::Type::DATE32) return rebaseValues<int32_t>(*column, 1, leaf, pool);
  if (column->type_id() != arrow::Type::TIMESTAMP) return column;
  int64_t unitsPerDay = kSecondsPerDay;
  switch (static_cast<const arrow::TimestampType&>(*column->type()).unit()) {
    case arrow::TimeUnit::NANO:
      unitsPerDay *= 1000;
      [[fallthrough]];
    case arrow::TimeUnit::MICRO:
      unitsPerDay *= 1000;
      [[fallthrough]];
    case arrow::TimeUnit::MILLI:
      unitsPerDay *= 1000;
      [[fallthrough]];
    case arrow::TimeUnit::SECOND:
      break;
  }
  return rebaseValues<int64_t>(*column, unitsPerDay, leaf, pool);
}

template <typename Value>
std::shared_ptr<arrow::Array> LegacyCalendar::rebaseValues(const arrow::Array& column, Value unitsPerDay,
                                                           const parquet::ColumnDescriptor& leaf,
                                                           arrow::MemoryPool* pool) const {
  const bool isDate = column.type_id() == arrow::Type::DATE32;
  const bool shiftsDays = modeOf(leaf) == AncientTimes::Legacy && (isDate || isCountedInUtc(zone_));
  // No instant in nanoseconds is before 1582.
  Value first = std::numeric_limits<Value>::min();
  const int64_t firstDay = shiftsDays || isDate ? kFirstGregorianDay : kFirstSafeDay;
  if (__builtin_mul_overflow(firstDay, unitsPerDay, &first)) first = std::numeric_limits<Value>::min();
  const Value* values = column.data()->GetValues<Value>(1);
  const int64_t rows = column.length();
  const auto isAncient = [&](int64_t row) { return values[row] < first && column.IsValid(row); };
  int64_t row = 0;
  while (row < rows && !isAncient(row)) ++row;
  if (row == rows) return arrow::MakeArray(column.data());
  if (!shiftsDays) refuse(leaf);

  auto buffer = checkRead(arrow::AllocateBuffer(rows * static_cast<int64_t>(sizeof(Value)), pool), path_);
  auto* rebased = reinterpret_cast<Value*>(buffer->mutable_data());
  std::copy(values, values + rows, rebased);
  for (; row < rows; ++row) {
    if (!isAncient(row)) continue;
    const int64_t day = floorDivide(values[row], unitsPerDay);
    const int64_t shift = (gregorianDay(day) - day) * unitsPerDay;
    if (__builtin_add_overflow(values[row], shift, &rebased[row]))
      throw parquetReadError(path_, "a day of column " + leaf.path()->ToDotString() + " is out of range");
  }
  auto data = column.data()->Copy();
  const int64_t offset = data->offset;
  if (data->buffers[0] && offset != 0)
    data->buffers[0] =
        checkRead(arrow::internal::CopyBitmap(pool, data->buffers[0]->data(), offset, rows), path_);
  data->offset = 0;
  data->buffers[1] = std::move(buffer);
  return arrow::MakeArray(data);
}

void LegacyCalendar::refuse(const parquet::ColumnDescriptor& leaf) const {
  const bool isInt96 = leaf.physical_type() == parquet::Type::INT96;
  const std::string option = isInt96 ? "int96RebaseMode" : "datetimeRebaseMode";
  const std::string setting = "spark.sql.parquet." + option + "InRead";
  const std::string where = "column " + leaf.path()->ToDotString() + " of the Parquet file " + path_;
  if (modeOf(leaf) == AncientTimes::Exception) {
    throw Error("INCONSISTENT_BEHAVIOR_CROSS_VERSION.READ_ANCIENT_DATETIME",
                "The " + where +
                    " has dates before 1582-10-15 or timestamps before 1900, and the file does not say in "
                    "which calendar. Set the option '" +
                    option + "' or " + setting +
                    " to LEGACY where Spark 2 or Hive wrote it, else to CORRECTED.",
                {{"format", isInt96 ? "Parquet INT96" : "Parquet"}, {"config", setting}, {"option", option}});
  }
  throw unsupported(
      "Reading timestamps before 1900 of the legacy calendar that were counted in the local time of " +
      (zone_.empty() ? "a zone that is not named" : zone_) + ", as those of " + where +
      " (by its footer, or '" + option + "' and " + setting +
      "; let Spark write it anew with spark.sql.parquet." + option + "InWrite=CORRECTED)");
}

}  // namespace thalweg
