// The format "parquet" of the file sink.
#pragma once

#include "sinks/files/record_output.h"

namespace thalweg {

// The codec is that of the option compression, else parquet.compression, else of the setting
// spark.sql.parquet.compression.codec under its own name among the options, else snappy. Throws Error
// CODEC_NOT_AVAILABLE.WITH_AVAILABLE_CODECS_SUGGESTION, UNSUPPORTED_DATA_TYPE_FOR_DATASOURCE.
FileOutputDefinition parquetFileOutput();

}  // namespace thalweg
