// Which columns an expression may name, and how a name finds its column.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "expr/nodes.h"

namespace thalweg {

// The columns of the inputs of one operator. `planOutputs` are the outputs of the subtree's relations by plan id, several
// where a relation stands on both sides of a join: a name with a plan id is looked for there first.
class Scope {
 public:
  using PlanOutputs = std::map<int64_t, std::vector<std::vector<AttributePtr>>>;

  Scope(std::vector<AttributePtr> columns, const PlanOutputs* planOutputs, bool caseSensitive)
      : columns_(std::move(columns)), planOutputs_(planOutputs), caseSensitive_(caseSensitive) {}

  const std::vector<AttributePtr>& columns() const { return columns_; }
  bool caseSensitive() const { return caseSensitive_; }

  // A name's parts, qualifiers and struct fields among them: the column, or a field inside it. Null where there is none;
  // throws Error AMBIGUOUS_REFERENCE where there are several.
  ExpressionPtr find(const std::vector<std::string>& parts) const;
  // As find, or Error UNRESOLVED_COLUMN with the nearest names.
  ExpressionPtr resolve(const std::vector<std::string>& parts) const;
  // A DataFrame's own column: of the relation with this plan id. Throws Error CANNOT_RESOLVE_DATAFRAME_COLUMN, or
  // AMBIGUOUS_COLUMN_REFERENCE where the relation came here on two ways.
  ExpressionPtr resolveInPlan(const std::vector<std::string>& parts, int64_t planId) const;

  // The columns that `target.*` stands for: all of them, those with a qualifier, or a struct's fields (as expressions
  // with their names).
  std::vector<ExpressionPtr> expandStar(const std::vector<std::string>& target) const;

 private:
  bool same(const std::string& left, const std::string& right) const;
  // The expression over this scope's columns of the same ids; null where one of them is not here.
  ExpressionPtr overColumns(const ExpressionPtr& expression) const;
  std::vector<AttributePtr> columns_;
  const PlanOutputs* planOutputs_;
  bool caseSensitive_;
};

// True for the key column that a USING join hides behind the one of its name: its side's name still finds it.
bool isHiddenKey(const Attribute& column, const std::vector<AttributePtr>& columns);

// A field of a struct, an array's structs or a map by name, as `a.b` means it. Throws Error FIELD_NOT_FOUND or
// INVALID_EXTRACT_BASE_FIELD_TYPE.
ExpressionPtr extractField(const ExpressionPtr& base, const std::string& name, bool caseSensitive);

}  // namespace thalweg
