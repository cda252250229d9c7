#include <arrow/array.h>
#include <arrow/record_batch.h>
#include <arrow/util/bitmap_ops.h>

#include "columnar/list_values.h"
#include "common/error.h"
#include "delta/files/schema_enforcement.h"
#include "types/array_types.h"
#include "types/arrow_result.h"
#include "types/arrow_types.h"

namespace thalweg::delta {
namespace {

Error nullError(const std::string& column) {
  return Error("DELTA_NOT_NULL_CONSTRAINT_VIOLATED",
               "A row to be written has null in column " + column + ", which must not be null.",
               {{"columnName", column}});
}

// Same names in the same order all through, so that the arrays fit as they are.
bool sameShape(const DataType& from, const DataType& to) {
  if (from.id() != to.id()) return false;
  switch (from.id()) {
    case TypeId::Array:
      return sameShape(*from.element(), *to.element());
    case TypeId::Map:
      return sameShape(*from.key(), *to.key()) && sameShape(*from.value(), *to.value());
    case TypeId::Struct:
      if (from.fields().size() != to.fields().size()) return false;
      for (size_t i = 0; i < from.fields().size(); ++i) {
        const StructField& target = to.fields()[i];
        if (!target.nullable || !sameShape(*from.fields()[i].type, *target.type)) return false;
        if (from.fieldIndex(target.name, /*caseSensitive=*/false) != static_cast<int>(i)) return false;
      }
      return true;
    default:
      return equals(from, to);
  }
}

class Adapter {
 public:
  explicit Adapter(const CastFunction& cast) : cast_(cast) {}

  std::shared_ptr<arrow::Array> adapt(const std::shared_ptr<arrow::Array>& array, const DataType& from,
                                      const DataType& to, const std::string& column) const {
    const auto type = toArrowType(to);
    if (sameShape(from, to)) {
      if (const auto same = retype(array->data(), type)) return arrow::MakeArray(same);
    }
    if (from.id() == TypeId::Void) return valueOrThrow(arrow::MakeArrayOfNull(type, array->length()));
    if (from.id() == TypeId::Struct && to.id() == TypeId::Struct)
      return adaptStruct(*array, from, to, column);
    if (from.id() == TypeId::Array && to.id() == TypeId::Array) {
      const auto used = withUsedValuesOnly(array, arrow::default_memory_pool());
      const auto elements = adapt(static_cast<const arrow::ListArray&>(*used).values(), *from.element(),
                                  *to.element(), column + ".element");
      return withChild(*used, type, elements);
    }
    if (from.id() == TypeId::Map && to.id() == TypeId::Map) {
      const auto used = withUsedValuesOnly(array, arrow::default_memory_pool());
      const auto& maps = static_cast<const arrow::MapArray&>(*used);
      const auto keys = adapt(maps.keys(), *from.key(), *to.key(), column + ".key");
      const auto values = adapt(maps.items(), *from.value(), *to.value(), column + ".value");
      const auto entries =
          std::make_shared<arrow::StructArray>(static_cast<const arrow::MapType&>(*type).value_type(),
                                               keys->length(), arrow::ArrayVector{keys, values});
      return withChild(*used, type, entries);
    }
    if (!cast_)
      throw unsupported(
          fmt::format("casting column {} from {} to {}", column, from.simpleString(), to.simpleString()));
    return cast_(*array, from, to);
  }

  std::shared_ptr<arrow::Array> nulls(const DataType& type, int64_t rows) const {
    return valueOrThrow(arrow::MakeArrayOfNull(toArrowType(type), rows));
  }

 private:
  static std::shared_ptr<arrow::Array> withChild(const arrow::Array& array,
                                                 const std::shared_ptr<arrow::DataType>& type,
                                                 const std::shared_ptr<arrow::Array>& child) {
    auto data = array.data()->Copy();
    data->type = type;
    data->child_data = {child->data()};
    return arrow::MakeArray(data);
  }

  std::shared_ptr<arrow::Array> adaptStruct(const arrow::Array& array, const DataType& from,
                                            const DataType& to, const std::string& column) const {
    const auto& rows = static_cast<const arrow::StructArray&>(array);
    arrow::ArrayVector children;
    for (const StructField& field : to.fields()) {
      const int source = from.fieldIndex(field.name, /*caseSensitive=*/false);
      const std::string name = column + "." + field.name;
      if (source < 0) {
        children.push_back(nulls(*field.type, rows.length()));
        continue;
      }
      const auto child = valueOrThrow(rows.GetFlattenedField(source));
      // As Delta has it: a null struct has null fields.
      if (!field.nullable && child->null_count() > 0) throw nullError(name);
      children.push_back(adapt(child, *from.fields()[static_cast<size_t>(source)].type, *field.type, name));
    }
    std::shared_ptr<arrow::Buffer> validity;
    if (rows.null_count() > 0) {
      validity = valueOrThrow(arrow::internal::CopyBitmap(
          arrow::default_memory_pool(), rows.null_bitmap_data(), rows.offset(), rows.length()));
    }
    return std::make_shared<arrow::StructArray>(toArrowType(to), rows.length(), std::move(children),
                                                std::move(validity));
  }

  const CastFunction& cast_;
};

}  // namespace

std::shared_ptr<arrow::RecordBatch> adaptRows(const arrow::RecordBatch& rows, const Schema& data,
                                              const WriteSchemaPlan& plan, const CastFunction& cast) {
  const Adapter adapter(cast);
  arrow::ArrayVector columns;
  for (size_t i = 0; i < plan.dataColumns.size(); ++i) {
    const StructField& field = plan.tableSchema->fields()[i];
    const int source = plan.dataColumns[i];
    if (source < 0) {
      columns.push_back(adapter.nulls(*field.type, rows.num_rows()));
      continue;
    }
    const auto column = adapter.adapt(rows.column(source), *data.fields()[static_cast<size_t>(source)].type,
                                      *field.type, field.name);
    if (!field.nullable && column->null_count() > 0) throw nullError(field.name);
    columns.push_back(column);
  }
  return arrow::RecordBatch::Make(toArrowSchema(*plan.tableSchema), rows.num_rows(), std::move(columns));
}

}  // namespace thalweg::delta
