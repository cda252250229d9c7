// ../testdata/legacy_calendar has files of Spark 4.2 with datetimeRebaseModeInWrite and
// int96RebaseModeInWrite LEGACY, in the session's zone UTC and (micros_la) America/Los_Angeles;
// no_version*.parquet have the days of kPlainDays and instants, and no key of Spark's. Expected are
// Spark 4.2's answers to the same files.
#include "formats/parquet/legacy_calendar.h"

#include <arrow/api.h>
#include <arrow/io/interfaces.h>
#include <gtest/gtest.h>

#include "common/testing/condition_of.h"
#include "types/arrow_types.h"
#include "types/ddl.h"
#include "types/text/time_text.h"

namespace thalweg {
namespace {

using Texts = std::vector<std::string>;

// Texts of dates and timestamps, of all values below a column in order.
void appendTexts(const arrow::Array& array, Texts* texts) {
  if (array.type_id() == arrow::Type::STRUCT) {
    for (const auto& child : static_cast<const arrow::StructArray&>(array).fields())
      appendTexts(*child, texts);
  } else if (array.type_id() == arrow::Type::LIST) {
    appendTexts(*static_cast<const arrow::ListArray&>(array).values(), texts);
  } else if (array.type_id() == arrow::Type::MAP) {
    appendTexts(*static_cast<const arrow::MapArray&>(array).keys(), texts);
    appendTexts(*static_cast<const arrow::MapArray&>(array).items(), texts);
  } else {
    for (int64_t row = 0; row < array.length(); ++row) {
      std::string text = array.IsNull(row) ? "null" : "";
      if (array.IsValid(row) && array.type_id() == arrow::Type::DATE32)
        appendDate(static_cast<const arrow::Date32Array&>(array).Value(row), &text);
      if (array.IsValid(row) && array.type_id() == arrow::Type::TIMESTAMP)
        appendTimestamp(static_cast<const arrow::TimestampArray&>(array).Value(row), &text);
      texts->push_back(text);
    }
  }
}

Texts valuesOf(const std::string& file, const std::string& columns, ParquetReadOptions options = {}) {
  const auto store = makeLocalFileSystem();
  const std::string path = std::string(THALWEG_TEST_DATA_DIR "/legacy_calendar/") + file;
  ParquetFileReader reader(*store, path, parseSchemaDdl(columns), options);
  Texts texts;
  while (const auto batch = reader.next().rows) {
    EXPECT_TRUE(batch->ValidateFull().ok());
    for (const auto& column : batch->columns()) appendTexts(*column, &texts);
  }
  return texts;
}

ParquetReadOptions reading(AncientTimes datetimes, AncientTimes int96 = AncientTimes::Corrected) {
  ParquetReadOptions options;
  options.datetimes = datetimes;
  options.int96 = int96;
  return options;
}

const Texts kInstants = {"0001-01-01 00:00:00", "1000-02-28 23:59:59.999999", "1500-03-01 12:00:00",
                         "1582-10-04 23:59:59", "1582-10-15 00:00:00",        "1899-12-31 23:59:59.5",
                         "1900-01-01 00:00:00", "1969-12-31 23:59:59.999999", "2024-02-29 12:34:56.789012"};

// Pairs of Spark 4.2's RebaseDateTime.rebaseJulianToGregorianDays.
TEST(LegacyCalendar, DaysKeepTheirDate) {
  const std::vector<std::pair<int64_t, int64_t>> pairs = {{0, 0},
                                                          {-141427, -141427},
                                                          {-141428, -141438},
                                                          {-171598, -171607},
                                                          {-171599, -171608},
                                                          {-171600, -171609},
                                                          {-354285, -354290},
                                                          {-719162, -719160},
                                                          {-719163, -719161},
                                                          {-719164, -719162},
                                                          {-719165, -719163},
                                                          {-800000, -799996},
                                                          {-1000000, -999992},
                                                          {-2000000, -1999971}};
  for (const auto& [hybrid, gregorian] : pairs) EXPECT_EQ(gregorianDay(hybrid), gregorian) << hybrid;
}

// Dates follow each other in both calendars, but for 29 February of years that are leap years of the Julian
// one alone, which is 1 March as the next day is.
TEST(LegacyCalendar, DaysStayInOrder) {
  int same = 0;
  for (int64_t day = -1'200'000; day < -141'428; ++day) {
    const int64_t step = gregorianDay(day + 1) - gregorianDay(day);
    ASSERT_GE(step, 0) << day;
    ASSERT_LE(step, 1) << day;
    same += step == 0 ? 1 : 0;
  }
  // From the year -1315 on: twelve from 100 to 1500, and ten from -100 to -1300.
  EXPECT_EQ(same, 22);
}

TEST(LegacyCalendar, FilesThatSaySoAreReadAsWritten) {
  EXPECT_EQ(
      valuesOf("dates.parquet", "d DATE"),
      (Texts{"0001-01-01", "0099-12-31", "1000-02-28", "1000-03-01", "1200-01-01", "1500-02-28", "1500-03-01",
             "1582-10-03", "1582-10-04", "1582-10-15", "1899-12-31", "2024-02-29", "9999-12-31"}));
  EXPECT_EQ(valuesOf("micros.parquet", "t TIMESTAMP"), kInstants);
  EXPECT_EQ(valuesOf("int96.parquet", "t TIMESTAMP"), kInstants);
  Texts millis = kInstants;
  millis[1] = "1000-02-28 23:59:59.999";
  millis[7] = "1969-12-31 23:59:59.999";
  millis[8] = "2024-02-29 12:34:56.789";
  EXPECT_EQ(valuesOf("millis.parquet", "t TIMESTAMP"), millis);
}

// What a file says of itself counts before what the reader is told.
TEST(LegacyCalendar, FootersCountBeforeModes) {
  for (const AncientTimes mode : {AncientTimes::Exception, AncientTimes::Legacy, AncientTimes::Corrected}) {
    EXPECT_EQ(valuesOf("micros.parquet", "t TIMESTAMP", reading(mode, mode)), kInstants);
    EXPECT_EQ(valuesOf("int96.parquet", "t TIMESTAMP", reading(mode, mode)), kInstants);
  }
}

TEST(LegacyCalendar, NestedValuesAndThoseWithoutAZone) {
  EXPECT_EQ(valuesOf("nested.parquet",
                     "s STRUCT<d: DATE, a: ARRAY<TIMESTAMP>>, m MAP<DATE, DATE>, n TIMESTAMP_NTZ"),
            (Texts{"1000-03-01", "1500-03-01 12:00:00", "1500-03-01", "null", "1500-03-01 12:00:00"}));
  EXPECT_EQ(valuesOf("dates.parquet", "d TIMESTAMP_NTZ")[5], "1500-02-28 00:00:00");
}

TEST(LegacyCalendar, FilesOfNoVersionAreReadAsTold) {
  const Texts days = {"0001-01-01", "1000-01-01", "1500-03-03", "1582-10-05",
                      "1582-10-14", "1582-10-15", "1970-01-01"};
  EXPECT_EQ(valuesOf("no_version.parquet", "d DATE"), days);
  EXPECT_EQ(valuesOf("no_version.parquet", "d DATE", reading(AncientTimes::Legacy)),
            (Texts{"0001-01-03", "0999-12-27", "1500-02-22", "1582-09-25", "1582-10-04", "1582-10-15",
                   "1970-01-01"}));
  EXPECT_EQ(
      valuesOf("no_version.parquet", "d DATE", reading(AncientTimes::Corrected, AncientTimes::Exception)),
      days)
      << "the mode of INT96 is of others";
  const std::string ancient = "INCONSISTENT_BEHAVIOR_CROSS_VERSION.READ_ANCIENT_DATETIME";
  for (const char* column : {"d DATE", "t TIMESTAMP"}) {
    EXPECT_EQ(conditionOf([&] { valuesOf("no_version.parquet", column, reading(AncientTimes::Exception)); }),
              ancient);
  }
  EXPECT_EQ(valuesOf("no_version_int96.parquet", "t TIMESTAMP", reading(AncientTimes::Exception)),
            (Texts{"1899-12-31 23:59:59.999999", "1970-01-01 00:00:00"}));
  EXPECT_EQ(conditionOf([&] {
              valuesOf("no_version_int96.parquet", "t TIMESTAMP",
                       reading(AncientTimes::Corrected, AncientTimes::Exception));
            }),
            ancient);
}

// Spark's rule by the version that wrote a file.
TEST(LegacyCalendar, VersionsBeforeThreeAreLegacy) {
  const auto store = makeMemoryFileSystem();
  const SchemaPtr schema = parseSchemaDdl("d DATE");
  const auto dayOf = [&](const std::map<std::string, std::string>& footer) {
    arrow::Date32Builder builder;
    EXPECT_TRUE(builder.AppendValues({0, -141428}).ok());
    EXPECT_TRUE(builder.AppendNull().ok());
    ParquetWriteOptions options;
    options.keyValues = footer;
    ParquetFileWriter writer(store->openOutput("/f"), "/f", schema, options);
    writer.write(*arrow::RecordBatch::Make(toArrowSchema(*schema), 3, {*builder.Finish()}));
    writer.close();
    const auto read = ParquetFileReader(*store, "/f", schema).next().rows->column(0);
    EXPECT_TRUE(read->IsNull(2));
    return static_cast<const arrow::Date32Array&>(*read).Value(1);
  };
  EXPECT_EQ(dayOf({}), -141428);
  EXPECT_EQ(dayOf({{"org.apache.spark.version", "2.4.8"}}), -141438);
  EXPECT_EQ(dayOf({{"org.apache.spark.version", "3.0.0"}}), -141428);
  EXPECT_EQ(dayOf({{"org.apache.spark.version", "3.5.1"}, {"org.apache.spark.legacyDateTime", ""}}), -141438);
  EXPECT_EQ(dayOf({{"org.apache.spark.version", "3.5.1"}, {"org.apache.spark.legacyINT96", ""}}), -141428);
  EXPECT_EQ(dayOf({{"org.apache.spark.legacyDateTime", ""}}), -141428) << "without a version it says nothing";
}

// Spark has the offsets of Java's older calendar; the zone's own before 1900 are others.
TEST(LegacyCalendar, TimesOfARegionBefore1900AreRefused) {
  EXPECT_EQ(conditionOf([&] { valuesOf("micros_la.parquet", "t TIMESTAMP"); }),
            "UNSUPPORTED_FEATURE.THALWEG");
  EXPECT_EQ(
      conditionOf([&] { valuesOf("no_version.parquet", "t TIMESTAMP", reading(AncientTimes::Legacy)); }),
      "UNSUPPORTED_FEATURE.THALWEG")
      << "a file without a zone is in that of Spark's machine";
}

// The footer's bounds are of the days as stored.
TEST(LegacyCalendar, BoundsOfLegacyDaysAreNotUsed) {
  ParquetReadOptions options;
  options.keepRowGroup = [](const ParquetRowGroup& group) {
    EXPECT_FALSE(group.columns.contains("d"));
    EXPECT_TRUE(group.columns.contains("i"));
    return true;
  };
  EXPECT_EQ(valuesOf("dates.parquet", "d DATE, i INT", options).size(), 26U);
}

}  // namespace
}  // namespace thalweg
