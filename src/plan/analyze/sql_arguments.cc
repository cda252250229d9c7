#include "plan/analyze/sql_arguments.h"

#include <spark/connect/expressions.pb.h>
#include <spark/connect/relations.pb.h>

// Fields that Spark has given up: clients of 4.0 and 4.1 still send them.
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"

namespace thalweg {

SqlArguments::SqlArguments(const spark::connect::SQL& text, const std::string& timeZone) {
  options_.timeZone = TimeZone::parse(timeZone);
  const auto keep = [this](const spark::connect::Expression_Literal& literal) {
    sql::ExpressionPtr& kept = literals_.emplace_back(new spark::connect::Expression);
    *kept->mutable_literal() = literal;
    return kept.get();
  };
  for (const auto& [name, argument] : text.named_arguments()) options_.namedArguments[name] = &argument;
  for (const auto& argument : text.pos_arguments()) options_.positionalArguments.push_back(&argument);
  for (const auto& [name, literal] : text.args()) options_.namedArguments[name] = keep(literal);
  for (const auto& literal : text.pos_args()) options_.positionalArguments.push_back(keep(literal));
}

}  // namespace thalweg
