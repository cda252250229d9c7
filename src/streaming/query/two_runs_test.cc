// Two runs of one query that both repeat the batch that a crash left open: neither writes its offsets, so
// both run it.
#include <chrono>
#include <thread>

#include "plan/analyze/relations.h"
#include "streaming/query/query_test_support.h"

namespace thalweg {
namespace {

using namespace query_test;

class TwoRunsTest : public StatefulQueryTest {
 protected:
  LogicalPtr counts() {
    const LogicalPtr child = rawEvents();
    return makeAggregate({child->output()[1]},
                         {child->output()[1], named(call("count", {Literal::of(1)}), "n")}, child);
  }
  static bool hasOne(const StreamingQuery& query, const std::string& condition) {
    return query.exception() && query.exception()->cause() &&
           query.exception()->cause()->condition() == condition;
  }
};

TEST_P(TwoRunsTest, OneOfTwoThatRepeatABatchLosesAndNothingIsCountedTwice) {
  int64_t number = 0;
  for (const char* point : {"offsetLog.after", "stateChanges.after", "commitLog.before"}) {
    SCOPED_TRACE(point);
    feed_->add({{number++, "a"}, {number++, "b"}, {number++, "a"}});
    armFaultPoint(std::string(point) + "=error");
    EXPECT_THROW(runAvailableNow(counts(), OutputMode::Complete), Error);
    armFaultPoint("");
    const auto first =
        StreamingQuery::start(definition(counts(), OutputMode::Complete, {Trigger::Kind::ProcessingTime, 5}));
    const auto second =
        StreamingQuery::start(definition(counts(), OutputMode::Complete, {Trigger::Kind::ProcessingTime, 5}));
    for (int i = 0; i < 1000 && first->isActive() && second->isActive(); ++i) {
      // Where one was done with the batch before the other began, they meet at the next one.
      if (i == 50) feed_->add({{number++, "c"}});
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
    EXPECT_NE(first->isActive(), second->isActive());
    EXPECT_TRUE(hasOne(first->isActive() ? *second : *first, "CONCURRENT_STREAM_LOG_UPDATE"));
    first->stop();
    second->stop();
    feed_->add({{number++, "d"}});
    runAvailableNow(counts(), OutputMode::Complete);
    int64_t total = 0;
    for (const std::string& row : store_->take()) total += std::stoll(row.substr(row.rfind('|') + 1));
    EXPECT_EQ(total, number);
  }
}

INSTANTIATE_TEST_SUITE_P(Setups, TwoRunsTest, allSetups(), setupName);

}  // namespace
}  // namespace thalweg
