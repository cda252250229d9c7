// The console sink: each batch's first rows on the server's standard output.
#pragma once

#include <functional>

#include "common/options.h"
#include "connector/sink.h"

namespace thalweg {

class ConsoleSink final : public StreamSink {
 public:
  using Draw = std::function<std::string(const Schema&, const std::vector<std::shared_ptr<arrow::RecordBatch>>&, int numRows, int truncate)>;
  // Options numRows (20) and truncate (true, or a number of characters). `draw` makes show()'s table.
  ConsoleSink(const Options& options, Draw draw);
  std::string description() const override;
  void validate(OutputMode, const Schema&) override {}
  std::unique_ptr<BatchWrite> beginBatch(const StreamBatch& batch) override;

 private:
  int numRows_;
  int truncate_;
  Draw draw_;
};

}  // namespace thalweg
