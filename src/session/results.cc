#include "session/results.h"

#include <arrow/api.h>
#include <arrow/io/memory.h>
#include <arrow/ipc/api.h>
#include <arrow/util/byte_size.h>
#include <spark/connect/base.pb.h>

#include "plan/analyze/proto_types.h"
#include "types/arrow_result.h"
#include "types/arrow_types.h"

namespace thalweg {
namespace {

namespace proto = spark::connect;

// A message holds at most so many rows, and about so many bytes: clients refuse messages above 128 MB.
constexpr int64_t kMaxRows = 65536;
constexpr int64_t kMaxBytes = 4 << 20;

// The client's types: as ours, but timestamps name the session's zone.
std::shared_ptr<arrow::DataType> clientType(const DataType& type, const std::string& zone) {
  switch (type.id()) {
    case TypeId::Timestamp: return arrow::timestamp(arrow::TimeUnit::MICRO, zone);
    case TypeId::Array: return arrow::list(arrow::field("element", clientType(*type.element(), zone), type.containsNull()));
    case TypeId::Map:
      return arrow::map(clientType(*type.key(), zone), arrow::field("value", clientType(*type.value(), zone), type.containsNull()));
    case TypeId::Struct: {
      arrow::FieldVector fields;
      for (const StructField& field : type.fields()) {
        fields.push_back(arrow::field(field.name, clientType(*field.type, zone), field.nullable));
      }
      return arrow::struct_(std::move(fields));
    }
    default: return toArrowType(type);
  }
}

std::shared_ptr<arrow::Schema> clientSchema(const Schema& schema, const std::string& zone) {
  return arrow::schema(clientType(schema, zone)->fields());
}

// The same buffers under another type: only names of zones and fields differ.
std::shared_ptr<arrow::ArrayData> relabel(const std::shared_ptr<arrow::ArrayData>& data, const std::shared_ptr<arrow::DataType>& type) {
  auto copy = data->Copy();
  copy->type = type;
  for (size_t i = 0; i < copy->child_data.size() && i < static_cast<size_t>(type->num_fields()); ++i) {
    copy->child_data[i] = relabel(copy->child_data[i], type->field(static_cast<int>(i))->type());
  }
  return copy;
}

std::shared_ptr<arrow::RecordBatch> relabel(const std::shared_ptr<arrow::RecordBatch>& batch, const std::shared_ptr<arrow::Schema>& schema) {
  std::vector<std::shared_ptr<arrow::ArrayData>> columns;
  for (int i = 0; i < schema->num_fields(); ++i) columns.push_back(relabel(batch->column_data(i), schema->field(i)->type()));
  return arrow::RecordBatch::Make(schema, batch->num_rows(), std::move(columns));
}

std::string encode(const std::shared_ptr<arrow::Schema>& schema, const std::vector<std::shared_ptr<arrow::RecordBatch>>& batches) {
  const auto sink = valueOrThrow(arrow::io::BufferOutputStream::Create());
  const auto writer = valueOrThrow(arrow::ipc::MakeStreamWriter(sink.get(), schema));
  for (const auto& batch : batches) throwIfFailed(writer->WriteRecordBatch(*relabel(batch, schema)));
  throwIfFailed(writer->Close());
  return valueOrThrow(sink->Finish())->ToString();
}

}  // namespace

std::string encodeArrowStream(const Schema& schema, const std::string& timeZone,
                              const std::vector<std::shared_ptr<arrow::RecordBatch>>& batches) {
  return encode(clientSchema(schema, timeZone), batches);
}

ResultWriter::ResultWriter(SchemaPtr schema, std::string timeZone, ResponseSink& sink)
    : arrowSchema_(clientSchema(*schema, timeZone)), sink_(sink) {
  proto::ExecutePlanResponse response;
  toProtoType(*schema, response.mutable_schema());
  sink_.send(std::move(response));
}

void ResultWriter::write(const std::shared_ptr<arrow::RecordBatch>& batch) {
  const int64_t numRows = std::max<int64_t>(1, batch->num_rows());
  const int64_t rowBytes = std::max<int64_t>(1, arrow::util::ReferencedBufferSize(*batch).ValueOr(0) / numRows);
  const int64_t rows = std::clamp<int64_t>(kMaxBytes / rowBytes, 1, kMaxRows);
  for (int64_t at = 0; at < batch->num_rows(); at += rows) send(batch->Slice(at, rows));
}

void ResultWriter::send(const std::shared_ptr<arrow::RecordBatch>& batch) {
  proto::ExecutePlanResponse response;
  auto* message = response.mutable_arrow_batch();
  message->set_row_count(batch->num_rows());
  message->set_start_offset(rowsSent_);
  message->set_data(encode(arrowSchema_, {batch}));
  rowsSent_ += batch->num_rows();
  sentAny_ = true;
  sink_.send(std::move(response));
}

void ResultWriter::finish() {
  if (!sentAny_) send(valueOrThrow(arrow::RecordBatch::MakeEmpty(arrowSchema_)));
  proto::ExecutePlanResponse metrics;
  metrics.mutable_metrics();
  sink_.send(std::move(metrics));
}

}  // namespace thalweg
