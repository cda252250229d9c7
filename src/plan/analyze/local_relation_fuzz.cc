// Any bytes as the rows that a client sends (an Arrow stream): a plan whose values are sound, or an Error.
#include <cstdint>
#include <cstdlib>

#include <arrow/api.h>
#include <spark/connect/relations.pb.h>

#include "common/error.h"
#include "plan/analyze/analyzer.h"

using namespace thalweg;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  try {
    LogicalPtr plan;
    {
      // The plan outlives the request.
      spark::connect::Relation relation;
      relation.mutable_local_relation()->set_data(data, size);
      plan = analyzeRelation(relation, AnalyzerContext{});
    }
    const auto* rows = dynamic_cast<const LogicalLocalRelation*>(plan.get());
    if (!rows) return 0;
    for (const auto& batch : rows->batches()) {
      if (!batch->ValidateFull().ok()) std::abort();
      batch->ToString();
    }
  } catch (const Error&) {
  }
  return 0;
}
