#include "formats/json/json_parser.h"

#include <arrow/array.h>
#include <simdjson.h>

#include "formats/json/exact_parser.h"
#include "formats/json/fast_parser.h"
#include "formats/json/json_rows.h"

namespace thalweg {

struct JsonParser::Plan : JsonPlan {
  using JsonPlan::JsonPlan;
};

JsonParser::JsonParser(DataTypePtr schema, JsonOptions options)
    : plan_(std::make_unique<const Plan>(std::move(schema), std::move(options), false)) {}

JsonParser::~JsonParser() = default;

const DataTypePtr& JsonParser::resultType() const {
  return plan_->resultType;
}

struct JsonParser::Worker::State {
  State(const JsonPlan& givenPlan, arrow::MemoryPool* pool)
      : plan(givenPlan),
        writer(plan, pool),
        exact(plan.parsed, plan.options, plan.formats),
        fast(plan, &writer) {
    useFast = fast.usable();
  }

  template <typename ArrayType>
  void parseAll(const ArrayType& texts, const JsonSelection& selection) {
    const auto view = [&texts](int64_t row) {
      const auto bytes = texts.GetView(row);
      return std::string_view(bytes.data(), bytes.size());
    };
    // Behind records that end here or earlier the array's own bytes are the padding.
    const char* safeEnd = nullptr;
    if (texts.value_data() && static_cast<size_t>(texts.value_data()->size()) > FastJsonParser::kPadding) {
      safeEnd = reinterpret_cast<const char*>(texts.value_data()->data()) + texts.value_data()->size() -
                FastJsonParser::kPadding;
    }
    const auto parseRow = [&](int64_t row) {
      if (texts.IsNull(row)) {
        writer.appendNull();
        return;
      }
      const std::string_view record = view(row);
      if (useFast && !record.empty()) {
        const bool padded = safeEnd != nullptr && record.data() + record.size() <= safeEnd;
        // A long record is not copied for its padding's sake.
        if (padded ? fast.parse(record) : record.size() <= kMaxPaddedCopy && parseWithPadding(record)) {
          ++fastRows;
          return;
        }
      }
      parseExactly(record);
    };
    if (!selection) {
      for (int64_t row = 0; row < texts.length(); ++row) parseRow(row);
      return;
    }
    int64_t next = 0;
    for (const int32_t row : *selection) {
      for (; next < row; ++next) writer.appendNull();
      parseRow(row);
      next = row + 1;
    }
    for (; next < texts.length(); ++next) writer.appendNull();
  }

  static constexpr size_t kMaxPaddedCopy = 1 << 20;

  bool parseWithPadding(std::string_view record) {
    padded.assign(record);
    padded.resize(record.size() + FastJsonParser::kPadding, '\0');
    return fast.parse(std::string_view(padded.data(), record.size()));
  }

  void parseExactly(std::string_view record) {
    ++exactRows;
    std::string_view text = record;
    if (!simdjson::validate_utf8(record.data(), record.size())) {
      decoded.clear();
      decodeLikeJava(record, &decoded);
      text = decoded;
    }
    switch (exact.parse(text, &rows)) {
      case JsonOutcome::Blank:
        writer.appendNull();
        return;
      case JsonOutcome::Ok:
        writer.appendRow(rows[0], std::nullopt);
        return;
      case JsonOutcome::Partial:
      case JsonOutcome::Bad:
        if (plan.options.mode == ParseMode::FailFast) {
          throw malformedRecordError(plan, exact.failure(), record, rows);
        }
        writer.appendRow(rows.empty() ? JsonCell() : rows[0], record);
        return;
    }
  }

  const JsonPlan& plan;
  JsonRowWriter writer;
  ExactJsonParser exact;
  FastJsonParser fast;
  bool useFast = false;
  int64_t fastRows = 0;
  int64_t exactRows = 0;
  std::vector<JsonCell> rows;
  std::string decoded;
  std::string padded;
};

JsonParser::Worker::Worker(const JsonParser& parser, arrow::MemoryPool* pool)
    : state_(std::make_unique<State>(*parser.plan_, pool)) {}
JsonParser::Worker::~Worker() = default;
int64_t JsonParser::Worker::fastRows() const {
  return state_->fastRows;
}
int64_t JsonParser::Worker::exactRows() const {
  return state_->exactRows;
}
void JsonParser::Worker::disableFastParser() {
  state_->useFast = false;
}

std::shared_ptr<arrow::Array> JsonParser::Worker::parse(const arrow::Array& texts,
                                                        const JsonSelection& selection) {
  // An earlier call may have ended with an error.
  state_->writer.column().truncate(0);
  switch (texts.type_id()) {
    case arrow::Type::STRING:
      state_->parseAll(static_cast<const arrow::StringArray&>(texts), selection);
      break;
    case arrow::Type::BINARY:
      state_->parseAll(static_cast<const arrow::BinaryArray&>(texts), selection);
      break;
    case arrow::Type::LARGE_STRING:
      state_->parseAll(static_cast<const arrow::LargeStringArray&>(texts), selection);
      break;
    case arrow::Type::LARGE_BINARY:
      state_->parseAll(static_cast<const arrow::LargeBinaryArray&>(texts), selection);
      break;
    default:
      throw internalError("JSON texts come as strings or binaries, not as " + texts.type()->ToString());
  }
  return state_->writer.finish();
}

std::unique_ptr<JsonParser::Worker> JsonParser::newWorker(arrow::MemoryPool* pool) const {
  return std::make_unique<Worker>(*this, pool);
}

std::shared_ptr<arrow::Array> JsonParser::parse(const arrow::Array& texts,
                                                const JsonSelection& selection) const {
  return newWorker()->parse(texts, selection);
}

}  // namespace thalweg
