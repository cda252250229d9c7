#include "formats/parquet/stored_schema.h"

#include <arrow/type.h>
#include <arrow/util/key_value_metadata.h>
#include <parquet/arrow/schema.h>
#include <parquet/properties.h>
#include <parquet/schema.h>

#include "common/error.h"
#include "formats/parquet/parquet_file.h"
#include "storage/storage_error.h"
#include "types/arrow_types.h"

namespace thalweg {
namespace {

std::shared_ptr<arrow::DataType> storedType(const DataType& type);

std::shared_ptr<arrow::Field> storedField(const StructField& field) {
  std::shared_ptr<const arrow::KeyValueMetadata> metadata;
  if (const auto id = parquetFieldId(field)) {
    metadata = arrow::key_value_metadata({"PARQUET:field_id"}, {std::to_string(*id)});
  }
  return arrow::field(field.name, storedType(*field.type), /*nullable=*/true, metadata);
}

std::shared_ptr<arrow::DataType> storedType(const DataType& type) {
  switch (type.id()) {
    case TypeId::Void:
    case TypeId::Variant:
    case TypeId::DayTimeInterval:
    case TypeId::YearMonthInterval:
    case TypeId::CalendarInterval:
      throw unsupported("writing a column of type " + type.simpleString() + " to Parquet");
    case TypeId::Array:
      return arrow::list(arrow::field("element", storedType(*type.element())));
    case TypeId::Map:
      return arrow::map(storedType(*type.key()), arrow::field("value", storedType(*type.value())));
    case TypeId::Struct: {
      arrow::FieldVector fields;
      for (const StructField& field : type.fields()) fields.push_back(storedField(field));
      return arrow::struct_(std::move(fields));
    }
    default:
      return toArrowType(type);
  }
}

}  // namespace

std::shared_ptr<arrow::Schema> storedSchema(const Schema& schema) {
  arrow::FieldVector fields;
  for (const StructField& field : schema.fields()) fields.push_back(storedField(field));
  return arrow::schema(std::move(fields));
}

std::shared_ptr<parquet::schema::GroupNode> sparkRoot(const arrow::Schema& schema,
                                                      const parquet::WriterProperties& properties,
                                                      const std::string& path) {
  std::shared_ptr<parquet::SchemaDescriptor> descriptor;
  const auto arrowProperties = parquet::ArrowWriterProperties::Builder().build();
  throwIfStorageFailed(parquet::arrow::ToParquetSchema(&schema, properties, *arrowProperties, &descriptor),
                       "write", path);
  parquet::schema::NodeVector fields;
  const parquet::schema::GroupNode& root = *descriptor->group_node();
  for (int i = 0; i < root.field_count(); ++i) fields.push_back(root.field(i));
  return std::static_pointer_cast<parquet::schema::GroupNode>(
      parquet::schema::GroupNode::Make("spark_schema", parquet::Repetition::REQUIRED, fields));
}

}  // namespace thalweg
