#include "exec/state/input_watermarks.h"

#include <algorithm>
#include <optional>

#include "common/error.h"
#include "exec/operators/event_time.h"
#include "exec/state/operator_state.h"

namespace thalweg {
namespace {

[[noreturn]] void throwRedefined() {
  throw Error("_LEGACY_ERROR_TEMP_3076",
              "The stream has a watermark already; another one over it is not supported. Remove one of them.",
              {{"config", "spark.sql.streaming.statefulOperator.allowMultiple"}});
}

class Propagation {
 public:
  explicit Propagation(int64_t watermarkMs) : watermarkMs_(watermarkMs) {}

  // The watermark of what a node gives out; none where there is none below.
  std::optional<int64_t> outputOf(const PhysicalNode& node) {
    std::optional<int64_t> input;
    for (const PhysicalPtr& child : node.children()) {
      const std::optional<int64_t> ofChild = outputOf(*child);
      if (ofChild) input = std::min(input.value_or(*ofChild), *ofChild);
    }
    if (dynamic_cast<const PhysicalEventTimeWatermark*>(&node)) {
      if (input && watermarkMs_ > 0) throwRedefined();
      return watermarkMs_;
    }
    if (const auto* stateful = dynamic_cast<const StatefulNode*>(&node)) {
      const auto id = static_cast<size_t>(stateful->operatorId());
      if (id >= inputs.size()) inputs.resize(id + 1, 0);
      // 0 says that there were no rows yet: that is 0 for all, also above what reckons with it.
      if (watermarkMs_ > 0) inputs[id] = std::max<int64_t>(input.value_or(0), 0);
      return input ? stateful->outputWatermark(*input) : std::nullopt;
    }
    return input;
  }

  std::vector<int64_t> inputs;

 private:
  int64_t watermarkMs_;
};

}  // namespace

std::vector<int64_t> inputWatermarks(const PhysicalNode& plan, int64_t watermarkMs) {
  Propagation propagation(watermarkMs);
  propagation.outputOf(plan);
  return std::move(propagation.inputs);
}

}  // namespace thalweg
