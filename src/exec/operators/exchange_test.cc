// Rows over partitions: how many come where is what real Spark wrote into files of 100 rows in four
// partitions.
#include "exec/operators/exchange.h"

#include <algorithm>
#include <set>

#include <arrow/api.h>
#include <arrow/compute/initialize.h>
#include <gtest/gtest.h>

#include "columnar/row_hash.h"
#include "common/testing/condition_of.h"
#include "exec/operators/scans.h"
#include "types/arrow_types.h"

namespace thalweg {
namespace {

using Values = std::vector<int64_t>;

const SchemaPtr& ids() {
  static const SchemaPtr schema = DataType::structOf({{"id", longType(), false}});
  return schema;
}

class ExchangeTest : public ::testing::Test {
 protected:
  static void SetUpTestSuite() { ASSERT_TRUE(arrow::compute::Initialize().ok()); }
  ExchangeTest() { execution_.pool = &pool_; }

  static PhysicalPtr range(int64_t rows, int partitions) {
    return std::make_shared<PhysicalRange>(ids(), 0, rows, 1, partitions);
  }
  static ExpressionPtr id() { return std::make_shared<BoundReference>(0, longType(), false, "id"); }
  static RowSpread spread(RowSpread::Kind kind, int numPartitions, std::vector<ExpressionPtr> keys = {}) {
    RowSpread made;
    made.kind = kind;
    made.numPartitions = numPartitions;
    made.keys = std::move(keys);
    return made;
  }
  static PhysicalPtr exchange(RowSpread what, PhysicalPtr input,
                              int64_t memoryBytes = PhysicalExchange::kMemoryBytes) {
    return std::make_shared<PhysicalExchange>(std::move(what), std::move(input), memoryBytes);
  }

  std::vector<Values> run(const PhysicalPtr& plan) {
    const auto running = plan->start(execution_);
    std::vector<Values> partitions(static_cast<size_t>(running->numPartitions()));
    pool_.runAll(running->numPartitions(), [&](int partition) {
      const auto reader = running->open(partition);
      while (const auto batch = reader->next()) {
        const auto& column = static_cast<const arrow::Int64Array&>(*batch->column(0));
        for (int64_t row = 0; row < column.length(); ++row)
          partitions[static_cast<size_t>(partition)].push_back(column.Value(row));
      }
    });
    return partitions;
  }

  static std::vector<size_t> sizes(const std::vector<Values>& partitions) {
    std::vector<size_t> sizes;
    for (const Values& one : partitions) sizes.push_back(one.size());
    return sizes;
  }
  static Values all(const std::vector<Values>& partitions) {
    Values values;
    for (const Values& one : partitions) values.insert(values.end(), one.begin(), one.end());
    std::sort(values.begin(), values.end());
    return values;
  }
  static Values upTo(int64_t count) {
    Values values;
    for (int64_t i = 0; i < count; ++i) values.push_back(i);
    return values;
  }

  TaskPool pool_{2};
  Execution execution_;
};

using Sizes = std::vector<size_t>;

TEST_F(ExchangeTest, CoalesceJoinsNeighboursAndKeepsTheirOrder) {
  EXPECT_EQ(sizes(run(std::make_shared<PhysicalCoalesce>(3, range(100, 4)))), (Sizes{25, 25, 50}));
  EXPECT_EQ(sizes(run(std::make_shared<PhysicalCoalesce>(9, range(100, 4)))), (Sizes{25, 25, 25, 25}));
  EXPECT_EQ(run(std::make_shared<PhysicalCoalesce>(1, range(100, 4))), (std::vector<Values>{upTo(100)}));
}

TEST_F(ExchangeTest, RoundRobinIsEven) {
  const auto five = run(exchange(spread(RowSpread::Kind::RoundRobin, 5), range(100, 4)));
  EXPECT_EQ(sizes(five), (Sizes{20, 20, 20, 20, 20}));
  EXPECT_EQ(all(five), upTo(100));
  EXPECT_EQ(sizes(run(exchange(spread(RowSpread::Kind::RoundRobin, 8), range(3, 1)))),
            (Sizes{1, 1, 1, 0, 0, 0, 0, 0}));
}

// Which file a row lies in is Spark's: repartition(7, "id") gave these.
TEST_F(ExchangeTest, EqualKeysComeTogetherWhereSparksHashSays) {
  EXPECT_EQ(sizes(run(exchange(spread(RowSpread::Kind::Hashed, 7, {id()}), range(100, 4)))),
            (Sizes{10, 19, 12, 17, 15, 12, 15}));
}

TEST_F(ExchangeTest, RangesAreEven) {
  const auto up = run(exchange(
      spread(RowSpread::Kind::Ranged, 3, {std::make_shared<SortOrder>(id(), true, true)}), range(100, 4)));
  EXPECT_EQ(sizes(up), (Sizes{34, 33, 33}));
  EXPECT_EQ(up[0], upTo(34));
  const auto down = run(exchange(
      spread(RowSpread::Kind::Ranged, 3, {std::make_shared<SortOrder>(id(), false, false)}), range(100, 4)));
  EXPECT_EQ(sizes(down), (Sizes{34, 33, 33}));
  EXPECT_EQ(*std::min_element(down[0].begin(), down[0].end()), 66);
}

TEST_F(ExchangeTest, RangesWithoutAsManyKeysAreFewer) {
  const auto one = run(exchange(
      spread(RowSpread::Kind::Ranged, 5, {std::make_shared<SortOrder>(id(), true, true)}), range(2, 1)));
  EXPECT_EQ(all(one), upTo(2));
  EXPECT_EQ(one.size(), 5u);
}

TEST_F(ExchangeTest, WithoutANumberTheSizeSays) {
  EXPECT_EQ(sizes(run(exchange(spread(RowSpread::Kind::Hashed, 0, {id()}), range(100, 4)))), (Sizes{100}));
  // 8 MB for two cores: partitions of at least a megabyte, at most a share of a core.
  const auto large = run(exchange(spread(RowSpread::Kind::RoundRobin, 0), range(1'000'000, 4)));
  EXPECT_GE(large.size(), 2u);
  EXPECT_LE(large.size(), 8u);
  EXPECT_EQ(all(large), upTo(1'000'000));
  EXPECT_EQ(run(exchange(spread(RowSpread::Kind::RoundRobin, 0), range(0, 1))).size(), 1u);
}

// As a sink wants them for few large files: small ones together, a large one in several.
TEST_F(ExchangeTest, ASizeMayBeWanted) {
  RowSpread wanted = spread(RowSpread::Kind::Hashed, 0, {Literal::of(int64_t{7})});
  wanted.partitionBytes = 2000;
  const auto parts = run(exchange(wanted, range(1000, 4)));
  EXPECT_EQ(sizes(parts), (Sizes{250, 250, 250, 250}))
      << "2,000 bytes of longs each, though all have one key";
  wanted.partitionBytes = 1 << 20;
  EXPECT_EQ(sizes(run(exchange(wanted, range(1000, 4)))), (Sizes{1000}));
  wanted.keys = {id()};
  wanted.partitionBytes = 2000;
  const auto keyed = run(exchange(wanted, range(1000, 4)));
  EXPECT_EQ(all(keyed), upTo(1000));
  EXPECT_GE(keyed.size(), 4u);
}

// Rows that do not fit into memory wait on disk, and come as they would have.
TEST_F(ExchangeTest, RowsWaitOnDisk) {
  for (const auto& what :
       {spread(RowSpread::Kind::RoundRobin, 3), spread(RowSpread::Kind::Hashed, 3, {id()}),
        spread(RowSpread::Kind::Ranged, 3, {std::make_shared<SortOrder>(id(), true, true)})}) {
    const auto input = range(200'000, 4);
    EXPECT_EQ(run(exchange(what, input, /*memoryBytes=*/1024)), run(exchange(what, input)));
  }
}

TEST_F(ExchangeTest, ACancelledQueryStops) {
  execution_.cancellation.cancel();
  EXPECT_EQ(conditionOf([&] { run(exchange(spread(RowSpread::Kind::RoundRobin, 3), range(100, 4))); }),
            "OPERATION_CANCELED");
}

}  // namespace
}  // namespace thalweg
