// A SQL text's arguments (spark.sql(text, args)) as the parser takes them.
#pragma once

#include <string>
#include <vector>

#include "sql/message_ptr.h"
#include "sql/parser.h"

namespace spark::connect {
class SQL;
}

namespace thalweg {

class SqlArguments {
 public:
  // `text` outlives this. The zone is the session's.
  SqlArguments(const spark::connect::SQL& text, const std::string& timeZone);
  SqlArguments(const SqlArguments&) = delete;
  const sql::ParseOptions& options() const { return options_; }

 private:
  sql::ParseOptions options_;
  std::vector<sql::ExpressionPtr> literals_;  // of older clients, whose arguments are literals
};

}  // namespace thalweg
