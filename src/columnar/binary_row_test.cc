#include "columnar/binary_row.h"

#include <fstream>
#include <limits>

#include <arrow/api.h>
#include <arrow/json/from_string.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "columnar/binary_row_fields.h"
#include "columnar/row_hash.h"
#include "common/error.h"
#include "types/arrow_result.h"
#include "types/arrow_types.h"
#include "types/ddl.h"
#include "types/schema_json.h"

namespace thalweg {
namespace {

using Arrays = std::vector<std::shared_ptr<arrow::Array>>;

// What Spark 4.2 made of these queries' one row: recorded with executeCollect and UnsafeRow.getBytes.
nlohmann::json recorded() {
  std::ifstream file(THALWEG_TEST_DATA_DIR "/unsafe_rows.json");
  return nlohmann::json::parse(file);
}

std::string fromHex(const std::string& hex) {
  std::string bytes;
  for (size_t i = 0; i < hex.size(); i += 2)
    bytes.push_back(static_cast<char>(std::stoi(hex.substr(i, 2), nullptr, 16)));
  return bytes;
}

std::string toHex(std::string_view bytes) {
  std::string hex;
  for (const unsigned char byte : bytes) hex += fmt::format("{:02x}", byte);
  return hex;
}

std::vector<DataTypePtr> typesOf(const char* ddl) {
  return fieldTypes(*parseSchemaDdl(ddl));
}

Arrays decode(const std::vector<DataTypePtr>& types, const std::vector<std::string_view>& rows,
              BinaryRowDecoder::Role role = BinaryRowDecoder::Role::Value) {
  BinaryRowDecoder decoder(types, role, arrow::default_memory_pool());
  decoder.append(rows);
  return decoder.finish();
}

BinaryRows encode(const std::vector<DataTypePtr>& types, const Arrays& columns,
                  BinaryRowEncoder::Floats floats = BinaryRowEncoder::Floats::Keep) {
  BinaryRows rows;
  BinaryRowEncoder(types, floats).encode(columns, 0, columns[0]->length(), &rows);
  return rows;
}

Arrays columnsOf(const std::vector<DataTypePtr>& types, const std::vector<std::string>& json) {
  Arrays columns;
  for (size_t i = 0; i < types.size(); ++i) {
    columns.push_back(valueOrThrow(arrow::json::ArrayFromJSONString(toArrowType(*types[i]), json[i])));
  }
  return columns;
}

TEST(BinaryRow, SparksRowsAreReadAndWrittenToTheByte) {
  int cases = 0;
  const nlohmann::json all = recorded();
  for (const auto& [name, one] : all.items()) {
    const auto types = fieldTypes(*parseSchemaJson(one.at("schema").dump()));
    const std::string row = fromHex(one.at("row"));
    const Arrays columns = decode(types, {row, row});
    for (const auto& column : columns) ASSERT_TRUE(column->ValidateFull().ok()) << name;
    const BinaryRows again = encode(types, columns);
    ASSERT_EQ(again.size(), 2u);
    EXPECT_EQ(toHex(again[0]), toHex(row)) << name;
    EXPECT_EQ(toHex(again[1]), toHex(row)) << name << ", the second row";
    // A slice, as operators hand it on.
    Arrays sliced;
    for (const auto& column : columns) sliced.push_back(column->Slice(1));
    EXPECT_EQ(toHex(encode(types, sliced)[0]), toHex(row)) << name << ", sliced";
    ++cases;
  }
  EXPECT_GE(cases, 14);
}

TEST(BinaryRow, SparksRowsHaveSparksValues) {
  nlohmann::json all = recorded();
  // JSON cannot spell the byte FF of the binary value.
  std::string strings = all.at("strings").at("row");
  strings.replace(strings.find("00ff0000"), 4, "007f");
  all.at("strings").at("row") = strings;
  const auto valuesOf = [&](const char* name, const std::vector<std::string>& json) {
    const auto types = fieldTypes(*parseSchemaJson(all.at(name).at("schema").dump()));
    const std::string row = fromHex(all.at(name).at("row"));
    const Arrays columns = decode(types, {row}), expected = columnsOf(types, json);
    ASSERT_EQ(columns.size(), expected.size());
    for (size_t i = 0; i < types.size(); ++i) {
      EXPECT_TRUE(columns[i]->Equals(*expected[i])) << name << " " << i << ": " << columns[i]->ToString();
    }
  };
  valuesOf("primitives", {"[true]", "[1]", "[-2]", "[3]", "[-4]", "[1.5]", "[-2.25]"});
  valuesOf("strings",
           {"[\"\"]", "[\"a\"]", "[\"12345678\"]", "[\"Grüße an alle\"]", "[\"\\u0000\\u007F\"]", "[\"\"]"});
  valuesOf("decimals", {"[\"123.45\"]", "[\"-123.45\"]", "[\"123456789012345678901.23\"]", "[\"-1\"]",
                        "[\"0\"]", "[null]", "[\"x\"]"});
  valuesOf("struct", {R"([{"x": 1, "y": "abc", "z": null}])",
                      R"([{"w": {"s": "2026-01-01 00:00:00", "e": "2026-01-01 00:01:00"}}])"});
  valuesOf("arrays", {"[[1, null, 3]]", R"([["a", null, "longer than eight"]])", "[[true, false, null]]",
                      "[[]]", "[[1, 2, 3]]", "[[1.5, null]]", "[[1]]"});
  valuesOf("maps",
           {R"([[["a", 1], ["b", null]]])", R"([[[1, ["x"]]]])", "[[]]", R"([{"m": [["k", {"v": 1}]]}])"});
  // 1 year 2 months, 3 days, 4 h 5 min 6.5 s.
  valuesOf("calendar", {"[[14, 3, 14706500000000]]", "[null]", "[\"x\"]"});
}

TEST(BinaryRow, HashAndPartitionAreSparks) {
  int cases = 0;
  const nlohmann::json all = recorded();
  for (const auto& [name, one] : all.items()) {
    if (one.at("hash").is_null() || name == "calendar") continue;
    const auto types = fieldTypes(*parseSchemaJson(one.at("schema").dump()));
    const std::string row = fromHex(one.at("row"));
    const Arrays columns = decode(types, {row, row});
    std::vector<uint32_t> hashes(2, kRowHashSeed);
    for (size_t i = 0; i < types.size(); ++i) foldMurmur3(*types[i], *columns[i], hashes);
    EXPECT_EQ(static_cast<int32_t>(hashes[1]), one.at("hash").get<int32_t>()) << name;
    EXPECT_EQ(partitionIds(types, columns, 2, 200)[1], one.at("partition200").get<int32_t>()) << name;
    ++cases;
  }
  EXPECT_GE(cases, 10);
}

TEST(BinaryRow, KeysHaveOneZeroAndOneNaN) {
  const auto types = typesOf("d DOUBLE, f FLOAT, s STRUCT<x: DOUBLE>, a ARRAY<FLOAT>");
  const Arrays zeros = columnsOf(types, {"[0.0, -0.0]", "[0.0, -0.0]", "[[0.0], [-0.0]]", "[[0.0], [-0.0]]"});
  const BinaryRows keys = encode(types, zeros, BinaryRowEncoder::Floats::Normalize);
  EXPECT_EQ(toHex(keys[0]), toHex(keys[1]));
  const BinaryRows values = encode(types, zeros);
  EXPECT_NE(toHex(values[0]), toHex(values[1])) << "values keep the sign of a zero";

  const double otherNaN = std::bit_cast<double>(0xFFF8000000000001ULL);
  arrow::DoubleBuilder builder;
  throwIfFailed(builder.AppendValues({otherNaN, std::numeric_limits<double>::quiet_NaN()}));
  const Arrays nans = {valueOrThrow(builder.Finish())};
  const BinaryRows nanKeys = encode({types[0]}, nans, BinaryRowEncoder::Floats::Normalize);
  EXPECT_EQ(toHex(nanKeys[0]), "0000000000000000000000000000f87f");
  EXPECT_EQ(toHex(nanKeys[1]), toHex(nanKeys[0]));
}

// Columns without nulls have ways of their own; a null elsewhere in the column, and a part of it, change no row's bytes.
TEST(BinaryRow, ARowIsTheSameWhateverTheOthersAre) {
  const auto types = typesOf("n STRING, w STRUCT<start: TIMESTAMP, end: TIMESTAMP>, l BIGINT, z STRUCT<l: BIGINT, s: STRING>");
  const Arrays without = columnsOf(types, {R"(["x", "a longer text", "y"])", "[[1, 2], [3, 4], [5, 6]]", "[7, 8, 9]",
                                           R"([[1, "p"], [2, "q"], [3, "r"]])"});
  const Arrays with = columnsOf(types, {R"(["x", "a longer text", "y", null])", "[[1, 2], [3, 4], [5, 6], null]",
                                        "[7, 8, 9, null]", R"([[1, "p"], [2, "q"], [3, "r"], null])"});
  const BinaryRows rows = encode(types, without);
  const BinaryRows same = encode(types, with);
  for (size_t row = 0; row < 3; ++row) EXPECT_EQ(toHex(rows[row]), toHex(same[row])) << row;

  Arrays sliced;
  for (const auto& column : without) sliced.push_back(column->Slice(1, 2));
  BinaryRows last;
  BinaryRowEncoder(types).encode(sliced, 1, 2, &last);
  EXPECT_EQ(toHex(last[0]), toHex(rows[2]));

  std::vector<uint32_t> hashes(3, kRowHashSeed), hashesBesideNulls(4, kRowHashSeed), slicedHashes(2, kRowHashSeed);
  for (size_t c = 0; c < types.size(); ++c) {
    foldMurmur3(*types[c], *without[c], hashes);
    foldMurmur3(*types[c], *with[c], hashesBesideNulls);
    foldMurmur3(*types[c], *sliced[c], slicedHashes);
  }
  EXPECT_EQ(hashes, (std::vector<uint32_t>(hashesBesideNulls.begin(), hashesBesideNulls.begin() + 3)));
  EXPECT_EQ(slicedHashes, (std::vector<uint32_t>(hashes.begin() + 1, hashes.end())));
  std::vector<uint32_t> ofLast(2, kRowHashSeed);
  for (size_t c = 0; c < types.size(); ++c) foldMurmur3OfRow(*types[c], *without[c], 2, ofLast);
  EXPECT_EQ(ofLast, (std::vector<uint32_t>(2, hashes[2])));
}

TEST(BinaryRow, EachRowHasItsOwnSizeAndRowsAreAppended) {
  const auto types = typesOf("s STRING, l BIGINT");
  BinaryRows rows;
  const BinaryRowEncoder encoder(types);
  const Arrays columns = columnsOf(types, {R"(["", null, "123456789"])", "[1, 2, null]"});
  encoder.encode(columns, 1, 3, &rows);
  encoder.encode(columns, 0, 1, &rows);
  ASSERT_EQ(rows.size(), 3u);
  EXPECT_EQ(toHex(rows[0]),
            "0100000000000000"
            "0000000000000000"
            "0200000000000000");
  EXPECT_EQ(toHex(rows[1]),
            "0200000000000000"
            "0900000018000000"
            "0000000000000000"
            "3132333435363738"
            "3900000000000000");
  EXPECT_EQ(toHex(rows[2]),
            "0000000000000000"
            "0000000018000000"
            "0100000000000000");
}

TEST(BinaryRow, MalformedRowsAreRefusedByName) {
  const auto types = typesOf("s STRING, a ARRAY<STRING>, m MAP<STRING, INT>, d DECIMAL(38, 0)");
  const BinaryRows good =
      encode(types, columnsOf(types, {R"(["abc"])", R"([["x", "y"]])", R"([[["k", 1]]])", R"(["5"])"}));
  const std::string row(good[0]);
  const auto refused = [&](std::string bad, BinaryRowDecoder::Role role, const char* condition) {
    try {
      decode(types, {bad}, role);
      return false;
    } catch (const Error& error) {
      return error.condition() == condition;
    }
  };
  const char* kValue = "STATE_STORE_VALUE_ROW_FORMAT_VALIDATION_FAILURE";
  EXPECT_FALSE(refused(row, BinaryRowDecoder::Role::Value, kValue));
  EXPECT_TRUE(refused(row.substr(0, 32), BinaryRowDecoder::Role::Value, kValue)) << "cut";
  EXPECT_TRUE(refused(row.substr(0, 39), BinaryRowDecoder::Role::Key,
                      "STATE_STORE_KEY_ROW_FORMAT_VALIDATION_FAILURE"));
  for (size_t slot = 8; slot < 40; slot += 8) {
    std::string outside = row;
    outside[slot + 6] = 1;  // the offset becomes 65536 and more
    EXPECT_TRUE(refused(outside, BinaryRowDecoder::Role::Value, kValue)) << slot;
  }
}

TEST(BinaryRow, ARowCannotAskForMoreWorkThanItsSizeAllows) {
  // Three levels of arrays whose elements all point to the same inner array: 2,000³ values from 50 kB.
  const size_t count = 2000;
  std::string inner(8 + 8 * ((count + 63) / 64) + 8 * count, '\0');
  const uint64_t n = count;
  std::memcpy(inner.data(), &n, 8);
  const auto wrap = [&](const std::string& content) {
    std::string outer = inner;
    const size_t slots = 8 + 8 * ((count + 63) / 64);
    for (size_t i = 0; i < count; ++i) {
      const uint64_t word = uint64_t{outer.size()} << 32 | content.size();
      std::memcpy(outer.data() + slots + 8 * i, &word, 8);
    }
    return outer + content;
  };
  const std::string array = wrap(wrap(inner));
  std::string row(16, '\0');
  const uint64_t word = uint64_t{16} << 32 | array.size();
  std::memcpy(row.data() + 8, &word, 8);
  row += array;
  EXPECT_THROW(decode(typesOf("a ARRAY<ARRAY<ARRAY<BIGINT>>>"), {row}), Error);
}

TEST(BinaryRowFields, ARowIsItsPartsJoined) {
  const auto types = typesOf("a STRING, b BIGINT, c DECIMAL(30, 2), d STRUCT<x: INT, y: STRING>");
  const Arrays columns = columnsOf(types, {R"(["abc", null])", "[1, 2]", R"([null, "-12.50"])",
                                           R"([{"x": 1, "y": "longer than eight"}, null])"});
  const BinaryRows whole = encode(types, columns);
  for (size_t cut = 0; cut <= types.size(); ++cut) {
    const BinaryRowSplitter splitter(types, cut);
    for (size_t row = 0; row < whole.size(); ++row) {
      std::string prefix, rest, joined;
      splitter.appendPrefix(whole[row], &prefix);
      splitter.appendRest(whole[row], &rest);
      splitter.appendJoined(prefix, rest, &joined);
      EXPECT_EQ(toHex(joined), toHex(whole[row])) << cut;
      if (cut == 0 || cut == types.size()) continue;
      const std::vector<DataTypePtr> first(types.begin(), types.begin() + static_cast<ptrdiff_t>(cut));
      const Arrays firstColumns(columns.begin(), columns.begin() + static_cast<ptrdiff_t>(cut));
      EXPECT_EQ(toHex(prefix), toHex(encode(first, firstColumns)[row])) << "a part is a row of its own";
    }
  }
}

}  // namespace
}  // namespace thalweg
