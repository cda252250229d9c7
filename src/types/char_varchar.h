// CHAR(n) and VARCHAR(n). Within the engine they are strings; what a column was declared as stands in its
// metadata, where Spark and Delta keep it, as the text of its type:
// {"__CHAR_VARCHAR_TYPE_STRING":"struct<x:varchar(2)>"}.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "types/data_type.h"

namespace thalweg {

inline constexpr std::string_view kCharVarcharKey = "__CHAR_VARCHAR_TYPE_STRING";

// What was declared of one string. Lengths count characters.
struct StringBound {
  enum class Kind { None, Char, Varchar };
  Kind kind = Kind::None;
  int length = 0;
  bool operator==(const StringBound&) const = default;
};

// Of each string in a type, from left to right as the type's text has them.
using StringBounds = std::vector<StringBound>;

bool hasBounds(const StringBounds& bounds);
bool hasChars(const StringBounds& bounds);

// Spark's text of the type with its bounds: "struct<x:varchar(2),y:string>". `bounds` has one for each
// string.
std::string boundedTypeString(const DataType& type, const StringBounds& bounds);
// As error messages have it: "VARCHAR(2)".
std::string boundedSqlString(const DataType& type, const StringBounds& bounds);

// What the column's metadata declares; empty where it declares nothing, or what cannot be read as bounds of
// the column's type.
StringBounds stringBoundsOf(const DataType& type, const std::string& metadata);

// How many strings a type has: the size of its bounds.
size_t numStrings(const DataType& type);

// The metadata with these bounds, and without any where none of them is one.
std::string withStringBounds(const std::string& metadata, const DataType& type, const StringBounds& bounds);

// A table's schema with each field's own bounds in its own metadata, inner fields too, instead of all of them
// in the column's: the form in which fields may come, go and move. gatherStringBounds makes the table's form
// of it.
SchemaPtr spreadStringBounds(const SchemaPtr& schema);
SchemaPtr gatherStringBounds(const SchemaPtr& schema);

// Whether a column of these bounds may become one of others by ALTER TABLE, as Spark has it: no bound may be
// narrowed, added to a plain string, or change between lengths of CHAR.
bool canChangeBounds(const DataType& type, const StringBounds& from, const StringBounds& to);

// The characters of a text as Spark counts them; any bytes are taken.
int64_t numCharacters(std::string_view text);

}  // namespace thalweg
