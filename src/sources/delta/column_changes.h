// What a change of a table's schema does to columns that a query may use: renamed, dropped, or given a wider
// type.
#pragma once

#include <string>
#include <vector>

#include "delta/actions/actions.h"

namespace thalweg {

struct ColumnChanges {
  struct Renamed {
    std::string from, to;
  };
  struct Widened {
    std::string column, from, to;  // the types as SQL has them
  };
  // Columns at every depth, "a.b.element.c"; in the order of where they are stored.
  std::vector<Renamed> renamed = {};
  std::vector<std::string> dropped = {};
  std::vector<Widened> widened = {};

  // "RENAME COLUMN", "DROP AND TYPE WIDENING": Delta's name for the kinds that there are.
  std::string kind() const;
  // A line a kind and its columns.
  std::string details() const;
};

// Columns are told apart by where they are stored; without column mapping that is their name.
ColumnChanges columnChanges(const delta::Metadata& older, const delta::Metadata& newer);

// Whether columns that both have kept their types, or got wider ones, and may not be null where they were not
// before: what no user can let through.
bool keepsOrWidensTypes(const delta::Metadata& older, const delta::Metadata& newer);

}  // namespace thalweg
