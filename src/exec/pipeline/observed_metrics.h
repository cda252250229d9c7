// What observe() saw in one execution.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include <arrow/type_fwd.h>

#include "types/data_type.h"

namespace thalweg {

// One observation of a plan: a row of its metrics. `planId` is the client's number of the relation.
struct ObservedMetrics {
  std::string name;
  int64_t planId = 0;
  SchemaPtr schema;
  std::shared_ptr<arrow::RecordBatch> row;
};

}  // namespace thalweg
