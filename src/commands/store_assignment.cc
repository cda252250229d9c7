#include "commands/store_assignment.h"

#include <arrow/api.h>

#include <algorithm>
#include <set>

#include "catalog/names.h"
#include "common/error.h"
#include "common/options.h"
#include "delta/snapshot/type_widening.h"
#include "expr/cast/cast.h"
#include "types/arrow_types.h"

namespace thalweg {
namespace {

std::string nameList(const std::vector<StructField>& fields) {
  std::string list;
  for (const StructField& field : fields) list += (list.empty() ? "" : ", ") + quotedName({field.name});
  return list;
}

// The type with the fields of its structs in the order in which `to` names them, others behind. `path` names
// the value in the error for one that is missing.
DataTypePtr orderedLike(const DataTypePtr& from, const DataType& to, const std::string& path) {
  if (from->id() != to.id()) return from;
  switch (to.id()) {
    case TypeId::Array:
      return DataType::array(orderedLike(from->element(), *to.element(), path), from->containsNull());
    case TypeId::Map: {
      DataTypePtr key = orderedLike(from->key(), *to.key(), path);
      return DataType::map(std::move(key), orderedLike(from->value(), *to.value(), path),
                           from->containsNull());
    }
    case TypeId::Struct:
      break;
    default:
      return from;
  }
  std::vector<StructField> fields;
  std::vector<bool> used(from->fields().size());
  for (const StructField& field : to.fields()) {
    const int index = from->fieldIndex(field.name, /*caseSensitive=*/false);
    if (index < 0) {
      throw Error("DELTA_INSERT_COLUMN_ARITY_MISMATCH",
                  fmt::format("The values for {} have no field {}, which the table has: give it, or null.",
                              path, field.name),
                  {{"tableName", ""},
                   {"columnName", "not enough nested fields in " + path},
                   {"numColumns", std::to_string(to.fields().size())},
                   {"insertColumns", std::to_string(from->fields().size())}});
    }
    used[static_cast<size_t>(index)] = true;
    StructField ordered = from->fields()[static_cast<size_t>(index)];
    ordered.type = orderedLike(ordered.type, *field.type, path + "." + field.name);
    fields.push_back(std::move(ordered));
  }
  for (size_t i = 0; i < used.size(); ++i) {
    if (!used[i]) fields.push_back(from->fields()[i]);
  }
  return DataType::structOf(std::move(fields));
}

// The table's type with the data's in its places where these are wider.
DataTypePtr wider(const DataTypePtr& table, const DataTypePtr& data) {
  if (table->id() != data->id() || !table->isNested())
    return delta::widensByItself(*table, *data) ? data : table;
  if (table->id() == TypeId::Array)
    return DataType::array(wider(table->element(), data->element()), table->containsNull());
  if (table->id() == TypeId::Map) {
    DataTypePtr key = wider(table->key(), data->key());
    return DataType::map(std::move(key), wider(table->value(), data->value()), table->containsNull());
  }
  std::vector<StructField> fields = table->fields();
  for (size_t i = 0; i < fields.size() && i < data->fields().size(); ++i)
    fields[i].type = wider(fields[i].type, data->fields()[i].type);
  return DataType::structOf(std::move(fields));
}

// The array's memory with the fields of its structs in the order of `ordered`, which orderedLike made of
// `from`.
std::shared_ptr<arrow::ArrayData> reordered(const std::shared_ptr<arrow::ArrayData>& data,
                                            const DataType& from, const DataType& ordered) {
  auto copy = data->Copy();
  copy->type = toArrowType(ordered);
  if (from.id() == TypeId::Array) {
    copy->child_data[0] = reordered(data->child_data[0], *from.element(), *ordered.element());
  } else if (from.id() == TypeId::Map) {
    const auto entries = [](const DataType& map) {
      return DataType::structOf({{"key", map.key(), false}, {"value", map.value(), map.containsNull()}});
    };
    copy->child_data[0] = reordered(data->child_data[0], *entries(from), *entries(ordered));
    copy->child_data[0]->type = copy->type->field(0)->type();
  } else if (from.id() == TypeId::Struct) {
    for (size_t i = 0; i < ordered.fields().size(); ++i) {
      const auto source = static_cast<size_t>(from.fieldIndex(ordered.fields()[i].name));
      copy->child_data[i] =
          reordered(data->child_data[source], *from.fields()[source].type, *ordered.fields()[i].type);
    }
  }
  return copy;
}

// The same fields inside, whatever their order: Delta then takes them by name.
bool differsInOrderAlone(const DataType& left, const DataType& right) {
  if (left.id() != right.id()) return false;
  switch (left.id()) {
    case TypeId::Array:
      return differsInOrderAlone(*left.element(), *right.element());
    case TypeId::Map:
      return differsInOrderAlone(*left.key(), *right.key()) &&
             differsInOrderAlone(*left.value(), *right.value());
    case TypeId::Struct:
      if (left.fields().size() != right.fields().size()) return false;
      return std::all_of(left.fields().begin(), left.fields().end(), [&](const StructField& field) {
        const int index = right.fieldIndex(field.name, /*caseSensitive=*/false);
        return index >= 0 &&
               differsInOrderAlone(*field.type, *right.fields()[static_cast<size_t>(index)].type);
      });
    default:
      return equals(left, right);
  }
}

bool goesByName(const Schema& columns, const Schema& data) {
  for (size_t i = 0; i < columns.fields().size(); ++i) {
    const StructField& column = columns.fields()[i];
    const StructField& given = data.fields()[i];
    if (column.name != given.name || !differsInOrderAlone(*column.type, *given.type)) return false;
  }
  return true;
}

// One task's rows. The cast's error for a number that is too large gets the words and the condition of an
// INSERT.
class AssignedTask final : public TaskWriter {
 public:
  AssignedTask(std::unique_ptr<TaskWriter> writer, const SchemaPtr& data, const ColumnAssignment& assignment,
               const BatchContext& context)
      : writer_(std::move(writer)), data_(data), assignment_(assignment), context_(context) {}

  void write(const std::shared_ptr<arrow::RecordBatch>& batch) override {
    arrow::ArrayVector columns;
    for (size_t i = 0; i < assignment_.source.size(); ++i) {
      const int source = assignment_.source[i];
      StructField from = data_->fields()[static_cast<size_t>(source)];
      const StructField& to = assignment_.written->fields()[i];
      std::shared_ptr<arrow::Array> column = batch->column(source);
      if (assignment_.nestedByName && from.type->isNested()) {
        const DataTypePtr ordered = orderedLike(from.type, *to.type, from.name);
        column = arrow::MakeArray(reordered(column->data(), *from.type, *ordered));
        from.type = ordered;
      }
      columns.push_back(castColumn(column, from, to));
    }
    writer_->write(
        arrow::RecordBatch::Make(toArrowSchema(*assignment_.written), batch->num_rows(), std::move(columns)));
  }
  void close() override { writer_->close(); }

 private:
  std::shared_ptr<arrow::Array> castColumn(const std::shared_ptr<arrow::Array>& array,
                                           const StructField& from, const StructField& to) const {
    if (equals(*from.type, *to.type)) return array;
    try {
      return castArray(array, *from.type, *to.type, CastMode::Ansi, EvaluationContext{&context_});
    } catch (const Error& error) {
      const bool overflow =
          error.condition() == "CAST_OVERFLOW" || error.condition().starts_with("NUMERIC_VALUE_OUT_OF_RANGE");
      if (!overflow || !from.type->isNumeric() || !to.type->isNumeric()) throw;
      throw Error("CAST_OVERFLOW_IN_TABLE_INSERT",
                  "A value of type " + from.type->sqlString() + " is too large for the column " +
                      quotedName({to.name}) + " of type " + to.type->sqlString() +
                      "; use try_cast to get NULL for such values.",
                  {{"sourceType", "\"" + from.type->sqlString() + "\""},
                   {"targetType", "\"" + to.type->sqlString() + "\""},
                   {"columnName", quotedName({to.name})}});
    }
  }

  std::unique_ptr<TaskWriter> writer_;
  const SchemaPtr& data_;
  const ColumnAssignment& assignment_;
  const BatchContext& context_;
};

class AssignedWrite final : public BatchWrite {
 public:
  AssignedWrite(std::unique_ptr<BatchWrite> write, SchemaPtr data, ColumnAssignment assignment,
                BatchContext context)
      : write_(std::move(write)),
        data_(std::move(data)),
        assignment_(std::move(assignment)),
        context_(std::move(context)) {}
  std::unique_ptr<TaskWriter> openTask(int taskId) override {
    return std::make_unique<AssignedTask>(write_->openTask(taskId), data_, assignment_, context_);
  }
  void commit() override { write_->commit(); }
  void abort() noexcept override { write_->abort(); }
  int64_t numOutputRows() const override { return write_->numOutputRows(); }
  std::optional<Gathering> gathering() const override {
    auto wanted = write_->gathering();
    if (!wanted) return wanted;
    for (int& column : wanted->columns) column = assignment_.source[static_cast<size_t>(column)];
    return wanted;
  }

 private:
  std::unique_ptr<BatchWrite> write_;
  SchemaPtr data_;
  ColumnAssignment assignment_;
  BatchContext context_;
};

}  // namespace

ColumnAssignment assignByPosition(const Schema& columns, const Schema& data, const std::string& table,
                                  bool addsColumns) {
  const size_t wanted = columns.fields().size();
  const size_t given = data.fields().size();
  if (given < wanted) {
    throw Error("DELTA_INSERT_COLUMN_ARITY_MISMATCH",
                fmt::format("The table {} has {} columns, and the rows to insert have {}. Name the columns "
                            "that they are for.",
                            table, wanted, given),
                {{"tableName", table},
                 {"columnName", "not enough data columns"},
                 {"numColumns", std::to_string(wanted)},
                 {"insertColumns", std::to_string(given)}});
  }
  if (given > wanted && !addsColumns) {
    throw Error(
        "DELTA_METADATA_MISMATCH",
        fmt::format("The table {} has {} columns, and the rows to insert have {}.", table, wanted, given));
  }
  ColumnAssignment assignment;
  for (size_t i = 0; i < given; ++i) assignment.source.push_back(static_cast<int>(i));
  std::vector<StructField> written = columns.fields();
  written.insert(written.end(), data.fields().begin() + static_cast<std::ptrdiff_t>(wanted),
                 data.fields().end());
  assignment.written = DataType::structOf(std::move(written));
  assignment.nestedByName = goesByName(columns, data);
  return assignment;
}

ColumnAssignment assignByName(const Schema& columns, const Schema& data) {
  ColumnAssignment assignment;
  assignment.nestedByName = true;
  std::vector<StructField> written;
  std::vector<bool> used(data.fields().size());
  for (const StructField& column : columns.fields()) {
    const int source = data.fieldIndex(column.name, /*caseSensitive=*/false);
    if (source < 0) continue;
    used[static_cast<size_t>(source)] = true;
    assignment.source.push_back(source);
    written.push_back(column);
  }
  for (size_t i = 0; i < used.size(); ++i) {
    if (used[i]) continue;
    assignment.source.push_back(static_cast<int>(i));
    written.push_back(data.fields()[i]);
  }
  assignment.written = DataType::structOf(std::move(written));
  return assignment;
}

ColumnAssignment assignToList(const Schema& columns, const Schema& data, const std::vector<std::string>& list,
                              const std::string& table) {
  std::vector<StructField> written;
  std::set<int> seen;
  for (const std::string& name : list) {
    const int index = columns.fieldIndex(name, /*caseSensitive=*/false);
    if (index < 0) {
      throw Error(
          "UNRESOLVED_COLUMN.WITH_SUGGESTION",
          "The table has no column " + quotedName({name}) + "; it has " + nameList(columns.fields()) + ".",
          {{"objectName", quotedName({name})}, {"proposal", nameList(columns.fields())}});
    }
    if (!seen.insert(index).second) {
      throw Error("COLUMN_ALREADY_EXISTS", "The column " + quotedName({name}) + " is named twice.",
                  {{"columnName", quotedName({toLowerAscii(name)})}});
    }
    written.push_back(columns.fields()[static_cast<size_t>(index)]);
  }
  if (data.fields().size() != written.size()) {
    const bool few = data.fields().size() < written.size();
    throw Error(few ? "INSERT_COLUMN_ARITY_MISMATCH.NOT_ENOUGH_DATA_COLUMNS"
                    : "INSERT_COLUMN_ARITY_MISMATCH.TOO_MANY_DATA_COLUMNS",
                fmt::format("The list names {} columns, and the rows to insert have {}.", written.size(),
                            data.fields().size()),
                {{"tableName", table},
                 {"tableColumns", nameList(written)},
                 {"dataColumns", nameList(data.fields())}});
  }
  ColumnAssignment assignment;
  for (size_t i = 0; i < written.size(); ++i) assignment.source.push_back(static_cast<int>(i));
  assignment.written = DataType::structOf(std::move(written));
  return assignment;
}

void takeWiderTypes(const Schema& data, ColumnAssignment* assignment) {
  std::vector<StructField> fields = assignment->written->fields();
  for (size_t i = 0; i < fields.size(); ++i) {
    const StructField& from = data.fields()[static_cast<size_t>(assignment->source[i])];
    const bool byName = assignment->nestedByName;
    fields[i].type =
        wider(fields[i].type, byName ? orderedLike(from.type, *fields[i].type, from.name) : from.type);
  }
  assignment->written = DataType::structOf(std::move(fields));
}

std::unique_ptr<BatchWrite> withStoreAssignment(std::unique_ptr<BatchWrite> write, SchemaPtr data,
                                                ColumnAssignment assignment, BatchContext context) {
  for (size_t i = 0; i < assignment.source.size(); ++i) {
    StructField from = data->fields()[static_cast<size_t>(assignment.source[i])];
    const StructField& to = assignment.written->fields()[i];
    if (assignment.nestedByName) from.type = orderedLike(from.type, *to.type, from.name);
    if (equals(*from.type, *to.type) || canCast(*from.type, *to.type, CastMode::Ansi)) continue;
    throw Error("DATATYPE_MISMATCH.CAST_WITHOUT_SUGGESTION",
                "Values of type " + from.type->sqlString() + " cannot be stored in the column " +
                    quotedName({to.name}) + " of type " + to.type->sqlString() + ".",
                {{"sqlExpr", "\"" + from.name + "\""},
                 {"srcType", "\"" + from.type->sqlString() + "\""},
                 {"targetType", "\"" + to.type->sqlString() + "\""}});
  }
  return std::make_unique<AssignedWrite>(std::move(write), std::move(data), std::move(assignment),
                                         std::move(context));
}

}  // namespace thalweg
