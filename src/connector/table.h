// The contract of a batch table: something with a schema that plans a scan.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "columnar/column_predicate.h"
#include "connector/read.h"
#include "types/data_type.h"

namespace thalweg {

// One version of a table, immutable; safe on any thread.
class Table {
 public:
  virtual ~Table() = default;
  virtual const SchemaPtr& schema() const = 0;
  virtual int visibleColumns() const { return static_cast<int>(schema()->fields().size()); }
  // Rows that satisfy the predicates are all among the splits' rows; others may be.
  virtual std::vector<SplitPtr> planScan(const std::vector<ColumnPredicate>& predicates) const = 0;
  // The same table as it is now, for those that were made of it earlier (views); null: this is a version for good.
  virtual std::shared_ptr<Table> latest() const { return nullptr; }
  // Where the table lies and which version this is, where a write into the same place must see what else happens there between:
  // of tables that are read as they are now.
  struct Version {
    std::string uri;
    int64_t number = 0;
  };
  virtual std::optional<Version> version() const { return std::nullopt; }
  // For explain: "delta file:/data/t version 3".
  virtual std::string description() const = 0;
  // URIs of the files a full scan reads (DataFrame.inputFiles).
  virtual std::vector<std::string> inputFiles() const { return {}; }
  // Rows of a full scan where known without reading.
  virtual std::optional<int64_t> rowCount() const { return std::nullopt; }
};

}  // namespace thalweg
