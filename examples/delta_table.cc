// A Delta table from C++: made, appended to, read at a version, kept in few files. Spark, deltalake and DuckDB read it too.
//
//   cmake --build --preset release --target example_delta_table
//   build/release/examples/example_delta_table FOLDER (one that is not there yet)
#include <thalweg/delta.h>

#include <arrow/api.h>
#include <arrow/c/bridge.h>

#include <iostream>

int main(int count, char** arguments) try {
  if (count != 2) {
    std::cerr << "usage: example_delta_table FOLDER\n";
    return 2;
  }
  const auto schema = arrow::schema({arrow::field("id", arrow::int64()), arrow::field("name", arrow::utf8())});
  ArrowSchema tableSchema;
  if (!arrow::ExportSchema(*schema, &tableSchema).ok()) return 1;
  auto table = thalweg::DeltaTable::create(arguments[1], &tableSchema);

  for (int64_t first = 0; first < 300; first += 100) {  // three transactions
    arrow::Int64Builder ids;
    arrow::StringBuilder names;
    for (int64_t id = first; id < first + 100; ++id) {
      if (!ids.Append(id).ok() || !names.Append("name " + std::to_string(id)).ok()) return 1;
    }
    const auto rows = arrow::RecordBatch::Make(schema, 100, {ids.Finish().ValueOrDie(), names.Finish().ValueOrDie()});
    ArrowArray array;
    ArrowSchema arraySchema;
    if (!arrow::ExportRecordBatch(*rows, &array, &arraySchema).ok()) return 1;
    auto transaction = table.begin();
    transaction.append(&array, &arraySchema);
    std::cout << "version " << transaction.commit() << "\n";
    table.update();
  }

  ArrowArrayStream stream;  // version 2, though the table is at 3
  table.at(2).scan(&stream, {"id"});
  const auto rows = arrow::ImportRecordBatchReader(&stream).ValueOrDie()->ToTable().ValueOrDie();
  const int64_t fewer = table.optimize();
  std::cout << rows->num_rows() << " rows at version 2, " << *table.numRows() << " rows in " << table.numFiles() << " file, "
            << fewer << " fewer, at version " << table.version() << "\n";
} catch (const thalweg::DeltaError& error) {
  std::cerr << error.what() << "\n";
  return 1;
}
