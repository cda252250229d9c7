// What an operator keeps, with and without room for it in memory: random batches say the same over both.
#include <arrow/compute/initialize.h>

#include "columnar/binary_row_layout.h"
#include "exec/state/aggregate_state.h"
#include "exec/state/cold_test_support.h"
#include "exec/state/dedup_state.h"
#include "exec/state/join_state.h"
#include "exec/state/session_state.h"
#include "functions/registry.h"
#include "types/arrow_result.h"

namespace thalweg {
namespace {

constexpr int64_t kSecond = 1'000'000;

struct Event {
  int64_t time;
  std::string key;
  int64_t value;
};
using Events = std::vector<Event>;

// Some of them late to come, a few of keys that come often. Now and then there are very many: what they leave
// is given back.
Events someEvents(std::mt19937& random, int64_t watermark, int batch) {
  Events events;
  const bool isBurst = batch == 10;
  for (auto count = isBurst ? 2000 : random() % 60; count > 0; --count) {
    const auto key = random() % 3 == 0 ? random() % 3 : random() % (isBurst ? 5000 : 40);
    events.push_back({watermark + 1 + static_cast<int64_t>(random() % (20 * kSecond)),
                      "key" + std::to_string(key), static_cast<int64_t>(random() % 1000)});
  }
  return events;
}

std::shared_ptr<arrow::Array> longs(const Events& events, int64_t Event::*field) {
  arrow::Int64Builder builder;
  for (const Event& event : events) throwIfFailed(builder.Append(event.*field));
  return valueOrThrow(builder.Finish());
}

std::shared_ptr<arrow::Array> keys(const Events& events) {
  arrow::StringBuilder builder;
  for (const Event& event : events) throwIfFailed(builder.Append(event.key));
  return valueOrThrow(builder.Finish());
}

std::shared_ptr<arrow::Array> times(const Events& events, int64_t unit = 1, int64_t plus = 0) {
  arrow::TimestampBuilder builder(toArrowType(*timestampType()), arrow::default_memory_pool());
  for (const Event& event : events) throwIfFailed(builder.Append(event.time / unit * unit + plus));
  return valueOrThrow(builder.Finish());
}

ExpressionPtr column(int number, const DataTypePtr& type) {
  return std::make_shared<BoundReference>(number, type, true, "c" + std::to_string(number));
}

std::shared_ptr<const AggregateCall> call(std::string_view name, std::vector<ExpressionPtr> arguments) {
  return std::static_pointer_cast<const AggregateCall>(
      resolveFunction({name, std::move(arguments)}, FunctionContext()));
}

Aggregates someAggregates(int value, int text) {
  return {call("count", {column(value, longType())}), call("sum", {column(value, longType())}),
          call("max", {column(text, stringType())}), call("avg", {column(value, longType())}),
          call("collect_set", {column(value, longType())})};
}

SchemaPtr outputOf(std::vector<StructField> grouping, const Aggregates& aggregates) {
  for (const auto& aggregate : aggregates)
    grouping.push_back({"a" + std::to_string(grouping.size()), aggregate->type()});
  return DataType::structOf(std::move(grouping));
}

class ColdStatesTest : public ::testing::Test {
 protected:
  static void SetUpTestSuite() { ASSERT_TRUE(arrow::compute::Initialize().ok()); }
  const BatchContext batchContext_;
  const EvaluationContext context_{&batchContext_};
  arrow::MemoryPool* pool_ = arrow::default_memory_pool();
};

enum class Mode { Append, Update, Complete };

class ColdAggregates : public ColdStatesTest, public ::testing::WithParamInterface<Mode> {};

TEST_P(ColdAggregates, AreThoseInMemory) {
  const Mode mode = GetParam();
  const std::vector<ExpressionPtr> grouping = {column(0, timestampType()), column(1, stringType())};
  const AggregateStateLayout layout({{"ts", timestampType()}, {"key", stringType()}}, someAggregates(2, 1),
                                    EventTimeKey{0, false}, {});
  const SchemaPtr output = outputOf(layout.keyFields, layout.aggregates);
  const SchemaPtr input =
      DataType::structOf({{"ts", timestampType()}, {"key", stringType()}, {"v", longType()}});
  for (uint32_t seed = 0; seed < 4; ++seed) {
    Twins twins(
        [&] {
          std::vector<std::unique_ptr<StorePartition>> stores;
          stores.push_back(std::make_unique<AggregateState>(layout));
          return stores;
        },
        rooms()[seed / 2], seed);
    int64_t watermark = -30 * kSecond;  // before 1970, too
    for (int batch = 0; batch < 30 && !HasFatalFailure(); ++batch) {
      const Events events = someEvents(twins.random(), watermark, batch);
      if (mode != Mode::Complete) watermark += static_cast<int64_t>(twins.random()() % (4 * kSecond));
      twins.batch([&](TwinState& twin) {
        auto& state = static_cast<AggregateState&>(twin.store(0));
        PartialGroups part(layout, grouping, 1, pool_);
        // Whole seconds, so that groups meet.
        part.add(
            *arrow::RecordBatch::Make(toArrowSchema(*input), static_cast<int64_t>(events.size()),
                                      {times(events, kSecond), keys(events), longs(events, &Event::value)}),
            context_);
        state.merge(part, part.entriesOf(0));
        Lines lines;
        const auto add = [&](const std::vector<std::shared_ptr<arrow::RecordBatch>>& batches) {
          const Lines more = linesOf(*output, batches);
          lines.insert(lines.end(), more.begin(), more.end());
        };
        if (mode == Mode::Complete) {
          add(state.allResults(*output));
        } else if (mode == Mode::Update) {
          add(state.results(*output, state.touched()));
          lines.push_back(std::to_string(state.removeEnded(watermark, {})));
        } else {
          const int64_t numRemoved = state.removeEnded(
              watermark, [&](AggregateState::Groups groups) { add(state.results(*output, groups)); });
          EXPECT_EQ(numRemoved, static_cast<int64_t>(lines.size()));
        }
        std::sort(lines.begin(), lines.end());
        return lines;
      });
    }
    twins.expectUsed();
  }
}

INSTANTIATE_TEST_SUITE_P(Modes, ColdAggregates,
                         ::testing::Values(Mode::Append, Mode::Update, Mode::Complete));

TEST_F(ColdStatesTest, DeduplicationsAreThoseInMemory) {
  using Keep = DedupStateLayout::Keep;
  for (const Keep keep : {Keep::Always, Keep::UntilEventTime, Keep::UntilExpiry}) {
    const DedupStateLayout layout(
        {{"ts", timestampType()}, {"key", stringType()}}, keep,
        keep == Keep::UntilEventTime ? std::optional(EventTimeKey{0, false}) : std::nullopt);
    for (uint32_t seed = 0; seed < 4; ++seed) {
      Twins twins(
          [&] {
            std::vector<std::unique_ptr<StorePartition>> stores;
            stores.push_back(std::make_unique<DedupState>(layout));
            return stores;
          },
          rooms()[seed / 2], seed);
      int64_t watermark = 0;
      for (int batch = 0; batch < 30 && !HasFatalFailure(); ++batch) {
        const Events events = someEvents(twins.random(), watermark, batch);
        watermark += static_cast<int64_t>(twins.random()() % (4 * kSecond));
        twins.batch([&](TwinState& twin) {
          auto& state = static_cast<DedupState&>(twin.store(0));
          BinaryRows rows;
          layout.keyEncoder.encode({times(events, kSecond), keys(events)}, 0,
                                   static_cast<int64_t>(events.size()), &rows);
          std::vector<std::string_view> all, unknown;
          std::vector<std::optional<int64_t>> ends;
          for (size_t i = 0; i < rows.size(); ++i) all.push_back(rows[i]);
          std::vector<uint8_t> known;
          state.lookUp(all, &known);
          for (size_t i = 0; i < rows.size(); ++i) {
            if (known[i]) continue;
            unknown.push_back(all[i]);
            ends.push_back(events[i].time / kSecond * kSecond +
                           (keep == Keep::UntilExpiry ? 5 * kSecond : 0));
            if (keep == Keep::Always) ends.back() = std::nullopt;
          }
          std::vector<uint32_t> added;
          state.add(unknown, ends, &added);
          Lines lines = {"added " + std::to_string(state.numAdded()),
                         "removed " + std::to_string(state.removeEnded(watermark))};
          for (const uint32_t i : added) lines.emplace_back(unknown[i]);
          return lines;
        });
      }
      twins.expectUsed();
    }
  }
}

class ColdSessions : public ColdStatesTest, public ::testing::WithParamInterface<Mode> {};

TEST_P(ColdSessions, AreThoseInMemory) {
  const Mode mode = GetParam();
  const DataTypePtr window = DataType::structOf({{"start", timestampType()}, {"end", timestampType()}});
  const std::vector<StructField> fields = {{"session", window}, {"key", stringType()}};
  const std::vector<ExpressionPtr> grouping = {column(0, window), column(1, stringType())};
  const SessionStateLayout layout(fields, 0, someAggregates(2, 1));
  const SchemaPtr output = outputOf(fields, layout.aggregates);
  const SchemaPtr input = DataType::structOf({{"session", window}, {"key", stringType()}, {"v", longType()}});
  for (uint32_t seed = 0; seed < 4; ++seed) {
    Twins twins(
        [&] {
          std::vector<std::unique_ptr<StorePartition>> stores;
          stores.push_back(std::make_unique<SessionState>(layout));
          return stores;
        },
        rooms()[seed / 2], seed);
    int64_t watermark = -30 * kSecond;
    for (int batch = 0; batch < 30 && !HasFatalFailure(); ++batch) {
      const Events events = someEvents(twins.random(), watermark, batch);
      if (mode == Mode::Append) watermark += static_cast<int64_t>(twins.random()() % (4 * kSecond));
      twins.batch([&](TwinState& twin) {
        auto& state = static_cast<SessionState&>(twin.store(0));
        const auto arrowWindow = toArrowType(*window);
        const auto windows = std::make_shared<arrow::StructArray>(
            arrowWindow, static_cast<int64_t>(events.size()),
            arrow::ArrayVector{times(events), times(events, 1, 2 * kSecond)});
        Groups groups(grouping, layout.aggregates, pool_);
        groups.add(*arrow::RecordBatch::Make(toArrowSchema(*input), static_cast<int64_t>(events.size()),
                                             {windows, keys(events), longs(events, &Event::value)}),
                   context_);
        const PartialSessions part(layout, groups, 1);
        state.add(part, part.ofPartition[0]);
        const SessionState::Merged merged = state.merge();
        Lines lines;
        if (mode == Mode::Complete) {
          lines = linesOf(*output, state.allResults(*output));
        } else {
          state.removeEnded(watermark, [&](SessionState::Numbers sessions) {
            const Lines more = linesOf(*output, state.results(*output, sessions));
            lines.insert(lines.end(), more.begin(), more.end());
          });
        }
        std::sort(lines.begin(), lines.end());
        lines.push_back(std::to_string(merged.updated) + " " + std::to_string(merged.removed));
        return lines;
      });
    }
    twins.expectUsed();
  }
}

INSTANTIATE_TEST_SUITE_P(Modes, ColdSessions, ::testing::Values(Mode::Append, Mode::Complete));

enum class Expiry { Rows, Keys, None };
struct JoinCase {
  Expiry expiry;
  bool semi;  // rows of the left go with their first partner
};
void PrintTo(const JoinCase& value, std::ostream* out) {
  *out << (value.semi ? "semi " : "outer ") << static_cast<int>(value.expiry);
}

class ColdJoins : public ColdStatesTest, public ::testing::WithParamInterface<JoinCase> {
 protected:
  // Rows of a side meet those of the other, then are kept; as the operator does it, pairs of equal parity
  // match.
  void add(const JoinStateLayout& layout, JoinState& state, JoinSide side, const Events& events,
           Lines* lines) {
    const auto count = static_cast<int64_t>(events.size());
    BinaryRows keyRows, rows;
    layout.keyEncoder().encode({keys(events), times(events, kSecond)}, 0, count, &keyRows);
    const std::vector<uint32_t> numbers = state.number(keyRows);
    const JoinSide other = otherSide(side);
    std::vector<uint8_t> matched(events.size());
    std::vector<uint32_t> gone;
    for (size_t i = 0; i < events.size(); ++i) {
      const JoinRows& held = state.rows(other);
      for (uint32_t row = held.last(numbers[i]); row != JoinState::kNone; row = held.before(row)) {
        if (GetParam().semi && other == JoinSide::Left && held.isMatched(row)) continue;
        const int64_t value = valueOf(state, other, row);
        if (value % 2 != events[i].value % 2) continue;
        lines->push_back("pair " + std::to_string(events[i].value) + " " + std::to_string(value));
        matched[i] = 1;
        state.setMatched(other, row);
        if (GetParam().semi && other == JoinSide::Left) gone.push_back(row);
      }
    }
    if (GetParam().semi) state.remove(JoinSide::Left, gone);
    arrow::BooleanBuilder flags;
    throwIfFailed(flags.AppendValues(matched));
    layout.rowEncoder(side).encode(
        {times(events), longs(events, &Event::value), valueOrThrow(flags.Finish())}, 0, count, &rows);
    for (size_t i = 0; i < events.size(); ++i) {
      if (GetParam().semi && side == JoinSide::Left && matched[i]) continue;
      const bool byKey = GetParam().expiry == Expiry::Keys;
      std::optional<int64_t> time = byKey ? events[i].time / kSecond * kSecond : events[i].time;
      if (GetParam().expiry == Expiry::None) time = std::nullopt;
      state.append(side, numbers[i], rows[i], time);
    }
  }
  static int64_t valueOf(const JoinState& state, JoinSide side, uint32_t row) {
    return binary_row::load<int64_t>(state.rows(side).bytes(row).data() + binary_row::bitsetBytes(3) + 8);
  }
  static void leave(JoinState& state, JoinSide side, const JoinState::Rows& rows, Lines* lines) {
    for (const uint32_t row : rows)
      lines->push_back((state.rows(side).isMatched(row) ? "matched " : "alone ") +
                       std::to_string(valueOf(state, side, row)));
    state.remove(side, rows);
  }
};

TEST_P(ColdJoins, AreThoseInMemory) {
  JoinStateLayout::Side one;
  one.keys = {{"field0", stringType()}, {"field1", timestampType()}};
  one.columns = {{"ts", timestampType()}, {"v", longType()}};
  const Expiry expiry = GetParam().expiry;
  if (expiry == Expiry::Rows) one.expiry = EventTimeKey{0, false};
  const JoinStateLayout layout({one, one},
                               expiry == Expiry::Keys ? std::optional(EventTimeKey{1, false}) : std::nullopt);
  for (uint32_t seed = 0; seed < 2; ++seed) {
    Twins twins([&] { return JoinStore::makeAll(layout); }, rooms()[seed], seed);
    int64_t watermark = -30 * kSecond;
    for (int batch = 0; batch < 30 && !HasFatalFailure(); ++batch) {
      std::array<Events, 2> events = {someEvents(twins.random(), watermark, batch),
                                      someEvents(twins.random(), watermark, batch)};
      if (batch % 3 == 0) events[twins.random()() % 2].clear();
      // Keys with several rows, which do not end together.
      for (auto& side : events) {
        for (Event& event : side) event.key = event.key.size() > 5 ? event.key : event.key.substr(0, 4);
      }
      watermark += static_cast<int64_t>(twins.random()() % (4 * kSecond));
      twins.batch([&](TwinState& twin) {
        JoinState& state = static_cast<JoinStore&>(twin.store(0)).state();
        Lines lines;
        for (const JoinSide side : kJoinSides)
          add(layout, state, side, events[static_cast<size_t>(side)], &lines);
        for (const JoinSide side : kJoinSides) {
          if (expiry != Expiry::Rows) continue;
          const int64_t end = side == JoinSide::Left ? watermark : watermark - 7 * kSecond;
          state.takeExpiredRows(side, end,
                                [&](const JoinState::Rows& rows) { leave(state, side, rows, &lines); });
        }
        if (expiry == Expiry::Keys) {
          state.takeExpiredKeys(watermark, [&](const std::array<JoinState::Rows, 2>& rows) {
            for (const JoinSide side : kJoinSides)
              leave(state, side, rows[static_cast<size_t>(side)], &lines);
          });
        }
        std::sort(lines.begin(), lines.end());
        return lines;
      });
    }
    twins.expectUsed();
  }
}

INSTANTIATE_TEST_SUITE_P(Expiries, ColdJoins,
                         ::testing::Values(JoinCase{Expiry::Rows, false}, JoinCase{Expiry::Rows, true},
                                           JoinCase{Expiry::Keys, false}, JoinCase{Expiry::Keys, true},
                                           JoinCase{Expiry::None, false}));

// A group of (ts, key) for each number, with `texts` long texts each.
class GroupsOfTexts : public ColdStatesTest {
 protected:
  void add(AggregateState& state, int64_t numGroups, int64_t texts) {
    Events events;
    for (int64_t i = 0; i < numGroups * texts; ++i)
      events.push_back(
          {(i % numGroups) * kSecond, "a key, and a text of a hundred bytes" + std::string(64, 'x'), i});
    PartialGroups part(layout_, grouping_, 1, pool_);
    const SchemaPtr input =
        DataType::structOf({{"ts", timestampType()}, {"key", stringType()}, {"v", longType()}});
    part.add(*arrow::RecordBatch::Make(toArrowSchema(*input), static_cast<int64_t>(events.size()),
                                       {times(events), keys(events), longs(events, &Event::value)}),
             context_);
    state.merge(part, part.entriesOf(0));
    state.changes();
    state.changesWritten();
  }

  AggregateStateLayout layout_{{{"ts", timestampType()}, {"key", stringType()}},
                               {call("collect_list", {column(1, stringType())}),
                                call("approx_count_distinct", {column(2, longType())})},
                               EventTimeKey{0, false},
                               {}};
  const std::vector<ExpressionPtr> grouping_ = {column(0, timestampType()), column(1, stringType())};
  TestFolder folder_;
  ColdTier tier_{folder_.path()};
  ColdPartition cold_{tier_, 0};
};

TEST_F(GroupsOfTexts, TakeNoMoreThanTheirRoom) {
  constexpr int64_t kRoom = 1 << 20;
  AggregateState bounded(layout_), unbounded(layout_);
  bounded.setRoom(&cold_, {kRoom});
  for (AggregateState* state : {&bounded, &unbounded}) add(*state, 2000, 40);
  EXPECT_GT(unbounded.memoryBytes(), 2000 * 40 * 100);
  EXPECT_LT(bounded.memoryBytes(), kRoom * 3 / 2);
  EXPECT_GT(bounded.memoryBytes(), kRoom / 2);
  EXPECT_EQ(bounded.numKeys(), 2000);
}

TEST_F(GroupsOfTexts, GiveBackWhatTheyLeave) {
  AggregateState state(layout_);
  add(state, 20'000, 1);
  const int64_t before = state.memoryBytes();
  EXPECT_EQ(state.removeEnded(19'000 * kSecond, {}), 19'001);
  state.changes();
  state.changesWritten();
  EXPECT_EQ(state.numKeys(), 999);
  EXPECT_LT(state.memoryBytes(), before / 10);
}

TEST_F(GroupsOfTexts, ComeBackBlockByBlock) {
  AggregateState state(layout_);
  state.setRoom(&cold_, {0});
  add(state, 20'000, 1);
  EXPECT_EQ(cold_.numKeys(), 20'000);
  std::vector<size_t> blocks;
  EXPECT_EQ(state.removeEnded(18'000 * kSecond,
                              [&](AggregateState::Groups groups) {
                                if (!groups.empty()) blocks.push_back(groups.size());
                              }),
            18'001);
  EXPECT_EQ(blocks, (std::vector<size_t>{8192, 8192, 18'001 - 2 * 8192}));
  EXPECT_EQ(state.changes().size(), 18'001u);
  state.changesWritten();
  EXPECT_EQ(cold_.numKeys(), 1999);
}

}  // namespace
}  // namespace thalweg
