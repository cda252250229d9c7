// A compact text form of messages, for the tests' expectations alone.
#pragma once

#include <string>

#include "sql/message_ptr.h"

namespace thalweg::sql {

// f(a, 1L, 'x'), a[0], x AS y, CAST(a AS int), (x) -> $x, sum(v) OVER (PARTITION k ORDER v DESC NULLS LAST ROW -1..CURRENT).
std::string printed(const spark::connect::Expression& expression);
std::string printed(const spark::connect::Expression_SortOrder& order);
// Project[a, b](Filter[p](Read t)), With(root; #0=reference, name=reference) …: plan ids count from 0.
std::string printed(const spark::connect::Relation& relation);

// The parsed text, printed; of an error its condition.
std::string printedExpression(const std::string& text);
std::string printedQuery(const std::string& text);

}  // namespace thalweg::sql
