// A Delta table from C++: made, appended to, read at a version, kept in few files. Spark, deltalake and DuckDB read it too.
//
//   delta_table FOLDER
#include <thalweg/delta.h>

#include <arrow/api.h>
#include <arrow/c/bridge.h>

#include <iostream>

int main(int, char** arguments) {
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
}
