// Spark types as Arrow memory: the one mapping that batches follow everywhere inside the engine.
//   void null · boolean bool · byte…long int8…int64 · float, double · decimal decimal128 · string utf8 · binary binary ·
//   date date32 · timestamp timestamp[us, "UTC"] · timestamp_ntz timestamp[us] · day-time interval duration[us] ·
//   year-month interval month_interval · calendar interval month_day_nano · array list · map map · struct struct ·
//   variant struct<value: binary, metadata: binary>
// String bytes may be invalid UTF-8: no kernel may assume otherwise.
#pragma once

#include <memory>

#include <arrow/type_fwd.h>

#include "types/data_type.h"

namespace thalweg {

std::shared_ptr<arrow::DataType> toArrowType(const DataType& type);
std::shared_ptr<arrow::Field> toArrowField(const StructField& field);
std::shared_ptr<arrow::Schema> toArrowSchema(const Schema& schema);

// The Spark type of foreign Arrow data (a client's local relation, a Parquet file). Unsigned integers, times and other
// types that Spark has no equal of throw Error UNSUPPORTED_DATATYPE. Large and view variants map to their plain type.
DataTypePtr fromArrowType(const arrow::DataType& type);
SchemaPtr fromArrowSchema(const arrow::Schema& schema);

}  // namespace thalweg
