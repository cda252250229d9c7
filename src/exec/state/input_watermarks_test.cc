// The watermark that reaches each operator of a plan, as Spark's rules have it.
#include "exec/state/input_watermarks.h"

#include <gtest/gtest.h>

#include "exec/operators/event_time.h"
#include "exec/operators/sort_limit.h"
#include "exec/state/operator_state.h"
#include "expr/nodes.h"

namespace thalweg {
namespace {

const SchemaPtr& eventSchema() {
  static const SchemaPtr schema = DataType::structOf({{"ts", timestampType()}});
  return schema;
}

class Stream final : public PhysicalNode {
 public:
  Stream() : PhysicalNode(eventSchema(), {}) {}
  std::unique_ptr<RunningOperator> start(Execution&) const override { return nullptr; }
  std::string describe() const override { return "Stream"; }
};

// Holds rows back by a time; or says nothing of its output's times.
class Stateful final : public StatefulNode {
 public:
  Stateful(int id, std::optional<int64_t> heldBackMs, std::vector<PhysicalPtr> children)
      : StatefulNode(eventSchema(), std::move(children), id), heldBackMs_(heldBackMs) {}
  std::unique_ptr<RunningOperator> start(Execution&) const override { return nullptr; }
  std::string describe() const override { return "Stateful"; }
  std::string operatorName() const override { return "stateful"; }
  std::vector<StoreDefinition> stores() const override { return {}; }
  std::vector<std::unique_ptr<StorePartition>> makePartition() const override { return {}; }
  std::string fingerprint() const override { return ""; }
  bool wantsAnotherBatch(int64_t, int64_t) const override { return false; }
  std::optional<int64_t> outputWatermark(int64_t inputMs) const override {
    return heldBackMs_ ? std::optional(inputMs - *heldBackMs_) : std::nullopt;
  }

 private:
  std::optional<int64_t> heldBackMs_;
};

PhysicalPtr stream() {
  return std::make_shared<Stream>();
}
PhysicalPtr watermarked(int index = 0) {
  return std::make_shared<PhysicalEventTimeWatermark>(
      eventSchema(), std::make_shared<BoundReference>(0, timestampType(), true, "ts"), index, stream());
}
PhysicalPtr stateful(int id, std::optional<int64_t> heldBackMs, std::vector<PhysicalPtr> children) {
  return std::make_shared<Stateful>(id, heldBackMs, std::move(children));
}

using Watermarks = std::vector<int64_t>;

TEST(InputWatermarks, PassThroughOperatorsWithoutState) {
  const auto plan =
      stateful(0, 0, {std::make_shared<PhysicalUnion>(eventSchema(), std::vector{watermarked()})});
  EXPECT_EQ(inputWatermarks(*plan, 5000), Watermarks{5000});
}

TEST(InputWatermarks, AreHeldBackByTheOperatorsBelow) {
  const auto plan = stateful(0, 0, {stateful(1, 2000, {watermarked()})});
  EXPECT_EQ(inputWatermarks(*plan, 5000), (Watermarks{3000, 5000}));
}

TEST(InputWatermarks, AreTheLeastOfTheInputsThatHaveOne) {
  const auto below = stateful(1, 2000, {watermarked()});
  EXPECT_EQ(inputWatermarks(*stateful(0, 0, {watermarked(1), below}), 5000), (Watermarks{3000, 5000}));
  EXPECT_EQ(inputWatermarks(*stateful(0, 0, {watermarked(), stream()}), 5000), Watermarks{5000});
}

TEST(InputWatermarks, AreZeroWithoutAWatermark) {
  EXPECT_EQ(inputWatermarks(*stateful(0, 0, {stream()}), 5000), Watermarks{0});
  EXPECT_EQ(inputWatermarks(*stateful(0, 0, {stateful(1, std::nullopt, {watermarked()})}), 5000),
            (Watermarks{0, 5000}));
}

// Event times before the epoch do not count.
TEST(InputWatermarks, AreNeverNegative) {
  const auto plan = stateful(0, 0, {stateful(1, 2000, {watermarked()})});
  EXPECT_EQ(inputWatermarks(*plan, 1000), (Watermarks{0, 1000}));
  EXPECT_EQ(inputWatermarks(*plan, 0), (Watermarks{0, 0}));
}

}  // namespace
}  // namespace thalweg
