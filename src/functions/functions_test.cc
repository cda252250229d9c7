// Functions of constants, by name, as Spark answers them.
#include <cmath>
#include <limits>

#include <arrow/scalar.h>
#include <gtest/gtest.h>

#include "common/error.h"
#include "expr/cast/cast.h"
#include "functions/registry.h"

namespace thalweg {
namespace {

using Arguments = std::vector<ExpressionPtr>;
ExpressionPtr text(const char* value) { return Literal::of(std::string(value)); }
ExpressionPtr whole(int32_t value) { return Literal::of(value); }
ExpressionPtr null() { return Literal::null(stringType()); }
ExpressionPtr cast(const char* value, const DataTypePtr& type) { return castTo(text(value), type, CastMode::Ansi); }

// The value as CAST(… AS STRING) prints it, NULL, or the condition that was raised.
std::string valueOf(const std::string& name, const Arguments& arguments, bool ansi = true) {
  FunctionContext context;
  context.ansi = ansi;
  const BatchContext batch;
  try {
    const ExpressionPtr call = resolveFunction({name, arguments}, context);
    const auto value = evaluateConstant(*castTo(call, stringType(), CastMode::Ansi), EvaluationContext{&batch});
    return value->is_valid ? static_cast<const arrow::StringScalar&>(*value).value->ToString() : "NULL";
  } catch (const Error& error) {
    return error.condition();
  }
}

TEST(Texts, areCutAndPut) {
  EXPECT_EQ(valueOf("concat", {text("a"), whole(1), Literal::of(true)}), "a1true");
  EXPECT_EQ(valueOf("concat_ws", {text(","), text("a"), null(), text("b")}), "a,b");
  EXPECT_EQ(valueOf("upper", {text("straße")}), "STRASSE");
  EXPECT_EQ(valueOf("initcap", {text("hello wORLD-foo bar_baz")}), "Hello World-foo Bar_baz");
  EXPECT_EQ(valueOf("substring", {text("hello"), whole(0), whole(2)}), "he");
  EXPECT_EQ(valueOf("substring_index", {text("a.b.c"), text("."), whole(2)}), "a.b");
  EXPECT_EQ(valueOf("rpad", {text("5"), whole(3), text("ab")}), "5ab");
  EXPECT_EQ(valueOf("split_part", {text("a,b,c"), text(","), whole(-1)}), "c");
  EXPECT_EQ(valueOf("split", {text("a,b,,c,,"), text(",")}), "[a, b, , c, , ]");
  EXPECT_EQ(valueOf("like", {text("a_b"), text("a\\_b")}), "true");
  EXPECT_EQ(valueOf("like", {text("abc"), text("abc\\")}), "INVALID_FORMAT.ESC_AT_THE_END");
  EXPECT_EQ(valueOf("regexp_extract", {text("100-200"), text("(\\d+)-(\\d+)"), whole(2)}), "200");
  EXPECT_EQ(valueOf("regexp_replace", {text("abc"), text("(?<n>b)"), text("[${n}]")}), "a[b]c");
  EXPECT_EQ(valueOf("rlike", {text("x"), text("(")}), "INVALID_PARAMETER_VALUE.PATTERN");
  EXPECT_EQ(valueOf("format_string", {text("%05d|%-5s|%x"), whole(42), text("ab"), whole(255)}), "00042|ab   |ff");
}

TEST(Texts, invalidBytesCountAsCharacters) {
  EXPECT_EQ(valueOf("length", {text("a\xFF\xC3")}), "3");
  EXPECT_EQ(valueOf("rlike", {text("a\xFFz"), text("z$")}), "true");
}

TEST(Digests, areThoseOfTheirStandards) {
  EXPECT_EQ(valueOf("md5", {text("")}), "d41d8cd98f00b204e9800998ecf8427e");
  EXPECT_EQ(valueOf("crc32", {text("123456789")}), "3421780262");
  EXPECT_EQ(valueOf("hex", {whole(255)}), "FF");
}

TEST(Numbers, roundAwayFromZeroAtTheHalf) {
  EXPECT_EQ(valueOf("round", {Literal::of(2.5)}), "3.0");
  EXPECT_EQ(valueOf("round", {Literal::of(1.005), whole(2)}), "1.01");
  EXPECT_EQ(valueOf("bround", {whole(25), whole(-1)}), "20");
  EXPECT_EQ(valueOf("floor", {Literal::of(-1.5)}), "-2");
  EXPECT_EQ(valueOf("pmod", {whole(-7), whole(3)}), "2");
  EXPECT_EQ(valueOf("%", {whole(5), whole(0)}), "REMAINDER_BY_ZERO");
  EXPECT_EQ(valueOf("%", {whole(5), whole(0)}, false), "NULL");
  EXPECT_EQ(valueOf("try_add", {whole(std::numeric_limits<int32_t>::max()), whole(1)}), "NULL");
  EXPECT_EQ(valueOf("abs", {whole(std::numeric_limits<int32_t>::min())}), "ARITHMETIC_OVERFLOW");
  EXPECT_EQ(valueOf("least", {Literal::of(std::nan("")), Literal::of(1.0)}), "1.0");
  EXPECT_EQ(valueOf("shiftleft", {whole(1), whole(33)}), "2");
}

TEST(Dates, moveByTheCalendar) {
  const auto date = [](const char* value) { return cast(value, dateType()); };
  const auto time = [](const char* value) { return cast(value, timestampType()); };
  EXPECT_EQ(valueOf("add_months", {date("2024-01-31"), whole(1)}), "2024-02-29");
  EXPECT_EQ(valueOf("date_add", {date("2024-02-28"), whole(2)}), "2024-03-01");
  EXPECT_EQ(valueOf("weekofyear", {date("2024-12-30")}), "1");
  EXPECT_EQ(valueOf("date_trunc", {text("mon"), time("2024-05-17 10:11:12.131415")}), "2024-05-01 00:00:00");
  EXPECT_EQ(valueOf("date_format", {time("2024-05-17 10:11:12"), text("yyyy/MM/dd HH")}), "2024/05/17 10");
  EXPECT_EQ(valueOf("to_date", {text("17.05.2024"), text("dd.MM.yyyy")}), "2024-05-17");
  EXPECT_EQ(valueOf("to_timestamp", {text("x"), text("yyyy")}), "CANNOT_PARSE_TIMESTAMP");
  EXPECT_EQ(valueOf("try_to_timestamp", {text("x"), text("yyyy")}), "NULL");
  EXPECT_EQ(valueOf("from_unixtime", {whole(0)}), "1970-01-01 00:00:00");
  EXPECT_EQ(valueOf("make_date", {whole(2024), whole(2), whole(30)}, false), "NULL");
}

TEST(Collections, areMadeAndTakenApart) {
  FunctionContext context;
  const ExpressionPtr list = resolveFunction({"array", {whole(3), whole(1), whole(2)}}, context);
  const ExpressionPtr map = resolveFunction({"map", {text("a"), whole(1)}}, context);
  EXPECT_EQ(valueOf("sort_array", {list}), "[1, 2, 3]");
  EXPECT_EQ(valueOf("getItem", {list, whole(0)}), "3");
  EXPECT_EQ(valueOf("getItem", {list, whole(-1)}), "INVALID_ARRAY_INDEX");
  EXPECT_EQ(valueOf("getItem", {list, whole(9)}, false), "NULL");
  EXPECT_EQ(valueOf("element_at", {list, whole(-1)}), "2");
  EXPECT_EQ(valueOf("array_contains", {list, whole(2)}), "true");
  EXPECT_EQ(valueOf("getItem", {map, text("z")}), "NULL");
  EXPECT_EQ(valueOf("map", {text("a"), whole(1), text("a"), whole(2)}), "DUPLICATED_MAP_KEY");
  EXPECT_EQ(valueOf("named_struct", {text("a"), whole(1), text("b"), text("x")}), "{1, x}");
}

TEST(Hashes, areSparks) {
  EXPECT_EQ(valueOf("xxhash64", {whole(1)}), "-6698625589789238999");
  EXPECT_EQ(valueOf("hash", {whole(1), text("a"), null()}), "-936062819");
  EXPECT_EQ(valueOf("hash", {whole(1)}), "-559580957");
}

}  // namespace
}  // namespace thalweg
