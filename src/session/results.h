// Query results on their way to a client: Arrow IPC streams in ExecutePlanResponse messages.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include <arrow/type_fwd.h>

#include "session/service.h"
#include "types/data_type.h"

namespace thalweg {

// Sends one query's schema and batches. Used by one thread.
class ResultWriter {
 public:
  // Timestamps carry the session's time zone name. The schema is sent at once.
  ResultWriter(SchemaPtr schema, std::string timeZone, ResponseSink& sink);
  void write(const std::shared_ptr<arrow::RecordBatch>& batch);
  // A result without rows is one batch without rows. Sends the metrics, which come last.
  void finish();

 private:
  void send(const std::shared_ptr<arrow::RecordBatch>& batch);
  std::shared_ptr<arrow::Schema> arrowSchema_;
  ResponseSink& sink_;
  int64_t rowsSent_ = 0;
  bool sentAny_ = false;
};

// Rows as the bytes of an Arrow IPC stream of a client's type mapping.
std::string encodeArrowStream(const Schema& schema, const std::string& timeZone,
                              const std::vector<std::shared_ptr<arrow::RecordBatch>>& batches);

}  // namespace thalweg
