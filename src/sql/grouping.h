// A parsed GROUP BY.
#pragma once

#include <vector>

#include "sql/sql_parser.h"

namespace thalweg::sql {

struct SqlParser::Grouping {
  int type = 0;  // a spark::connect::Aggregate::GroupType; 0: there is none
  Nodes keys = {};
  std::vector<Nodes> sets = {};  // of GROUPING SETS
  bool all = false;              // GROUP BY ALL
};

}  // namespace thalweg::sql
