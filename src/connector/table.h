// The contract of a batch table: something with a schema that plans a scan.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "connector/read.h"
#include "types/data_type.h"

namespace thalweg {

// A predicate that a scan may use to leave out files: column <op> literal, all of a list hold. A hint only: the rows that
// come back may still fail it.
struct ScanPredicate {
  enum class Op { Equal, Less, LessOrEqual, Greater, GreaterOrEqual, IsNull, IsNotNull };
  std::string column;
  Op op = Op::Equal;
  std::shared_ptr<arrow::Scalar> literal;  // null for IsNull, IsNotNull
};

// One version of a table, immutable; safe on any thread.
class Table {
 public:
  virtual ~Table() = default;
  virtual const SchemaPtr& schema() const = 0;
  virtual int visibleColumns() const { return static_cast<int>(schema()->fields().size()); }
  virtual std::vector<SplitPtr> planScan(const std::vector<ScanPredicate>& predicates) const = 0;
  // The same table as it is now, for those that were made of it earlier (views); null: this is a version for good.
  virtual std::shared_ptr<Table> latest() const { return nullptr; }
  // For explain: "delta file:/data/t version 3".
  virtual std::string description() const = 0;
  // URIs of the files a full scan reads (DataFrame.inputFiles).
  virtual std::vector<std::string> inputFiles() const { return {}; }
  // Rows of a full scan where known without reading.
  virtual std::optional<int64_t> rowCount() const { return std::nullopt; }
};

}  // namespace thalweg
