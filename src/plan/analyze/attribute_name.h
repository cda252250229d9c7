// Names of columns as the DataFrame API writes them.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace thalweg {

// The parts of "a.b.`c.d`": a column, or a field in one, with what qualifies it. Only dots and backticks mean
// something (two of them inside are one of the name), so that "sum(v)" and "two words" are names as they
// stand, unlike in SQL (sql/parser.h's parseMultipartIdentifier). Throws Error INVALID_ATTRIBUTE_NAME_SYNTAX.
std::vector<std::string> parseAttributeName(std::string_view name);

}  // namespace thalweg
