#include "plan/analyze/scope.h"

#include <algorithm>

#include "common/error.h"
#include "common/options.h"
#include "functions/registry.h"

namespace thalweg {
namespace {

std::string quoted(const std::vector<std::string>& parts) {
  std::string text;
  for (const std::string& part : parts) text += (text.empty() ? "`" : ".`") + part + "`";
  return text;
}

std::string fullName(const Attribute& column) {
  std::vector<std::string> parts = column.qualifier();
  parts.push_back(column.name());
  return quoted(parts);
}

// A hidden column that is named is shown from there on.
AttributePtr shown(const AttributePtr& column) {
  if (!column->hidden()) return column;
  return std::make_shared<Attribute>(column->name(), column->type(), column->nullable(), column->id(), column->qualifier(), column->metadata());
}

size_t editDistance(const std::string& left, const std::string& right) {
  std::vector<size_t> row(right.size() + 1);
  for (size_t j = 0; j <= right.size(); ++j) row[j] = j;
  for (size_t i = 1; i <= left.size(); ++i) {
    size_t diagonal = row[0];
    row[0] = i;
    for (size_t j = 1; j <= right.size(); ++j) {
      const size_t above = row[j];
      row[j] = std::min({row[j] + 1, row[j - 1] + 1, diagonal + (left[i - 1] != right[j - 1])});
      diagonal = above;
    }
  }
  return row[right.size()];
}

Error unresolvedColumn(const std::vector<std::string>& parts, const std::vector<AttributePtr>& columns) {
  const std::string name = quoted(parts);
  if (columns.empty()) {
    return Error("UNRESOLVED_COLUMN.WITHOUT_SUGGESTION", "There is no column " + name + ", and no column to take instead.",
                 {{"objectName", name}});
  }
  std::vector<std::string> names;
  for (const AttributePtr& column : columns) names.push_back(column->name());
  std::stable_sort(names.begin(), names.end(), [&](const std::string& a, const std::string& b) {
    return editDistance(a, parts.back()) < editDistance(b, parts.back());
  });
  std::string proposal;
  for (size_t i = 0; i < std::min<size_t>(names.size(), 5); ++i) proposal += (i ? ", `" : "`") + names[i] + "`";
  return Error("UNRESOLVED_COLUMN.WITH_SUGGESTION", "There is no column " + name + ". Did you mean one of " + proposal + "?",
               {{"objectName", name}, {"proposal", proposal}});
}

}  // namespace

bool Scope::same(const std::string& left, const std::string& right) const {
  return caseSensitive_ ? left == right : equalsIgnoreCase(left, right);
}

ExpressionPtr Scope::find(const std::vector<std::string>& parts) const {
  // The longest qualifier that fits wins: `t.a` is column a of t before it is field a of column t.
  const size_t longest = std::min<size_t>(parts.size() - 1, 3);
  for (size_t qualifierLength = longest + 1; qualifierLength-- > 0;) {
    std::vector<AttributePtr> matches;
    for (const AttributePtr& column : columns_) {
      const auto& qualifier = column->qualifier();
      if (qualifier.size() < qualifierLength || !same(column->name(), parts[qualifierLength])) continue;
      bool fits = true;
      for (size_t i = 0; i < qualifierLength; ++i) {
        fits = fits && same(qualifier[qualifier.size() - qualifierLength + i], parts[i]);
      }
      if (fits) matches.push_back(column);
    }
    // A visible column hides a hidden one of its name.
    if (matches.size() > 1) std::erase_if(matches, [](const AttributePtr& column) { return column->hidden(); });
    if (matches.empty()) continue;
    if (matches.size() > 1) {
      std::string names;
      for (const AttributePtr& column : matches) names += (names.empty() ? "" : ", ") + fullName(*column);
      throw Error("AMBIGUOUS_REFERENCE", "The name " + quoted(parts) + " fits " + std::to_string(matches.size()) +
                                             " columns; qualify it, or rename one of them.",
                  {{"name", quoted(parts)}, {"referenceNames", "[" + names + "]"}});
    }
    ExpressionPtr result = shown(matches[0]);
    for (size_t i = qualifierLength + 1; i < parts.size(); ++i) result = extractField(result, parts[i], caseSensitive_);
    return result;
  }
  return nullptr;
}

ExpressionPtr Scope::resolve(const std::vector<std::string>& parts) const {
  if (ExpressionPtr found = find(parts)) return found;
  throw unresolvedColumn(parts, columns_);
}

ExpressionPtr Scope::overColumns(const ExpressionPtr& expression) const {
  bool complete = true;
  ExpressionPtr result = transformUp(expression, [&](const ExpressionPtr& e) -> ExpressionPtr {
    if (e->kind() != ExpressionKind::Attribute) return e;
    for (const AttributePtr& column : columns_) {
      if (column->id() == static_cast<const Attribute&>(*e).id()) return shown(column);
    }
    complete = false;
    return e;
  });
  return complete ? result : nullptr;
}

ExpressionPtr Scope::resolveInPlan(const std::vector<std::string>& parts, int64_t planId) const {
  ExpressionPtr result;
  if (planOutputs_ && planOutputs_->contains(planId)) {
    for (const std::vector<AttributePtr>& output : planOutputs_->at(planId)) {
      ExpressionPtr found = Scope(output, nullptr, caseSensitive_).find(parts);
      if (!found) throw unresolvedColumn(parts, output);
      found = overColumns(found);
      if (!found) continue;
      if (result) {
        throw Error("AMBIGUOUS_COLUMN_REFERENCE",
                    "The column " + quoted(parts) + " is of a DataFrame that is on both sides of a join; give the two sides aliases, "
                    "and name it by them.",
                    {{"name", quoted(parts)}});
      }
      result = std::move(found);
    }
  }
  if (result) return result;
  // The relation's column was renamed or computed anew on its way here: its name may still be found.
  if (ExpressionPtr found = find(parts)) return found;
  throw Error("CANNOT_RESOLVE_DATAFRAME_COLUMN",
              "The column " + quoted(parts) + " belongs to a DataFrame that is no part of this one's inputs.",
              {{"name", quoted(parts)}});
}

std::vector<ExpressionPtr> Scope::expandStar(const std::vector<std::string>& target) const {
  std::vector<ExpressionPtr> result;
  if (target.empty()) {
    for (const AttributePtr& column : columns_) {
      if (!column->hidden()) result.push_back(column);
    }
    return result;
  }
  for (const AttributePtr& column : columns_) {
    const auto& qualifier = column->qualifier();
    if (qualifier.size() < target.size() || (column->hidden() && !isHiddenKey(*column, columns_))) continue;
    bool fits = true;
    for (size_t i = 0; i < target.size(); ++i) fits = fits && same(qualifier[qualifier.size() - target.size() + i], target[i]);
    if (fits) result.push_back(shown(column));
  }
  if (!result.empty()) return result;
  const ExpressionPtr base = find(target);
  if (!base) {
    throw Error("CANNOT_RESOLVE_STAR_EXPAND", "There is nothing that " + quoted(target) + ".* could stand for.",
                {{"targetString", quoted(target)}, {"columns", ""}});
  }
  if (base->type()->id() != TypeId::Struct) {
    throw Error("INVALID_EXTRACT_BASE_FIELD_TYPE", quoted(target) + " is no struct: it has no fields to expand.",
                {{"base", "\"" + base->toString() + "\""}, {"other", "\"" + base->type()->sqlString() + "\""}});
  }
  for (size_t i = 0; i < base->type()->fields().size(); ++i) {
    result.push_back(std::make_shared<Alias>(std::make_shared<FieldAccess>(base, static_cast<int>(i)),
                                             base->type()->fields()[i].name));
  }
  return result;
}

bool isHiddenKey(const Attribute& column, const std::vector<AttributePtr>& columns) {
  return column.hidden() && std::any_of(columns.begin(), columns.end(), [&](const AttributePtr& other) {
           return !other->hidden() && equalsIgnoreCase(other->name(), column.name());
         });
}

ExpressionPtr extractField(const ExpressionPtr& base, const std::string& name, bool caseSensitive) {
  const DataType& type = *base->type();
  if (type.id() == TypeId::Struct) {
    const int index = type.fieldIndex(name, caseSensitive);
    if (index >= 0) return std::make_shared<FieldAccess>(base, index);
    std::string names;
    for (const StructField& field : type.fields()) names += (names.empty() ? "`" : ", `") + field.name + "`";
    throw Error("FIELD_NOT_FOUND", "The struct '" + base->toString() + "' has no field `" + name + "`; it has " + names + ".",
                {{"fieldName", "`" + name + "`"}, {"fields", names}});
  }
  if (type.id() == TypeId::Map && type.key()->id() == TypeId::String)
    return resolveFunction({"getItem", {base, Literal::of(name)}}, FunctionContext{});
  if (type.id() == TypeId::Map || type.id() == TypeId::Array) {
    throw unsupported("Taking '" + name + "' out of a " + type.typeName() + " by a dot");
  }
  throw Error("INVALID_EXTRACT_BASE_FIELD_TYPE",
              "'" + base->toString() + "' is " + type.sqlString() + ": nothing named '" + name + "' can be taken out of it.",
              {{"base", "\"" + base->toString() + "\""}, {"other", "\"" + type.sqlString() + "\""}});
}

}  // namespace thalweg
