// The noop sink: takes rows and drops them.
#pragma once

#include "connector/sink.h"

namespace thalweg {

class NoopSink final : public StreamSink {
 public:
  std::string description() const override { return "org.apache.spark.sql.execution.datasources.noop.NoopTable$"; }
  void validate(OutputMode, const Schema&) override {}
  std::unique_ptr<BatchWrite> beginBatch(const StreamBatch& batch) override;
};

std::unique_ptr<BatchWrite> makeNoopWrite();

}  // namespace thalweg
