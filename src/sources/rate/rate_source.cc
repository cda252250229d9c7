#include "sources/rate/rate_source.h"

#include <charconv>
#include <cmath>

#include <arrow/api.h>

#include "common/error.h"
#include "common/fault_points.h"
#include "storage/resolved_put.h"
#include "types/arrow_result.h"
#include "types/arrow_types.h"

namespace thalweg {
namespace {

constexpr std::string_view kHeader = "v1\n";
constexpr int64_t kDefaultPartitions = 2;

struct RateOptions {
  int64_t rowsPerSecond = 1;
  int64_t rampUpSeconds = 0;
  std::optional<int64_t> partitions;
};

[[noreturn]] void refuse(const std::string& text) { throw Error(ErrorKind::IllegalArgument, "INVALID_OPTION", text); }

std::optional<int64_t> wholeNumber(std::string_view text) {
  int64_t value = 0;
  const char* end = text.data() + text.size();
  const auto [stop, status] = std::from_chars(text.data(), end, value);
  if (status != std::errc() || stop != end) return std::nullopt;
  return value;
}

// "5s", "2m", "1h", "1d", "90": seconds without a unit.
int64_t parseSeconds(const std::string& text) {
  if (const auto seconds = wholeNumber(text); seconds && *seconds >= 0) return *seconds;
  if (const auto milliseconds = parseDurationMs(text)) return *milliseconds / 1000;
  refuse("Invalid value '" + text + "' for option 'rampUpTime', must be a duration such as 5s.");
}

RateOptions parseOptions(const Options& options) {
  RateOptions parsed;
  parsed.rowsPerSecond = options.getLong("rowsPerSecond").value_or(1);
  if (parsed.rowsPerSecond <= 0) refuse("Invalid value '" + std::to_string(parsed.rowsPerSecond) + "' for option 'rowsPerSecond', must be positive");
  if (const auto rampUp = options.get("rampUpTime")) parsed.rampUpSeconds = parseSeconds(*rampUp);
  if (parsed.rampUpSeconds >= INT64_MAX / parsed.rowsPerSecond) {
    throw Error("ARITHMETIC_OVERFLOW", "The option 'rampUpTime' is too long for " + std::to_string(parsed.rowsPerSecond) + " rows a second.");
  }
  parsed.partitions = options.getLong("numPartitions");
  if (parsed.partitions && *parsed.partitions <= 0) {
    refuse("Invalid value '" + std::to_string(*parsed.partitions) + "' for option 'numPartitions', must be positive");
  }
  if (parsed.partitions && *parsed.partitions > INT32_MAX) {
    refuse("Invalid value '" + std::to_string(*parsed.partitions) + "' for option 'numPartitions', must be an int");
  }
  return parsed;
}

// Rows `first`, `first + step`, … below `end`.
struct RateRange {
  int64_t first = 0;
  int64_t end = 0;
  int64_t step = 1;
  int64_t firstValue = 0;       // of the whole batch
  double microsPerValue = 0;
  int64_t startMicros = 0;      // time of firstValue

  int64_t timeOf(int64_t value) const {
    return startMicros + static_cast<int64_t>(std::llround(static_cast<double>(value - firstValue) * microsPerValue / 1000)) * 1000;
  }
};

class RateReader final : public BatchReader {
 public:
  RateReader(const RateRange& range, const ReadRequest& request) : range_(range), request_(request), value_(range.first) {}

  std::shared_ptr<arrow::RecordBatch> next() override {
    if (request_.cancellation) request_.cancellation->throwIfCancelled();
    if (value_ >= range_.end) return nullptr;
    const int64_t left = (range_.end - value_ + range_.step - 1) / range_.step;
    const int64_t rows = std::min({left, request_.maxBatchRows, std::max<int64_t>(request_.maxBatchBytes / 16, 1)});
    std::vector<std::shared_ptr<arrow::Field>> fields;
    std::vector<std::shared_ptr<arrow::Array>> arrays;
    for (int column : request_.columns) {
      fields.push_back(toArrowField(rateSchema()->fields().at(static_cast<size_t>(column))));
      arrays.push_back(column == 0 ? fill<arrow::TimestampBuilder>(fields.back()->type(), rows, [&](int64_t v) { return range_.timeOf(v); })
                                   : fill<arrow::Int64Builder>(fields.back()->type(), rows, [](int64_t v) { return v; }));
    }
    value_ += rows * range_.step;
    return arrow::RecordBatch::Make(arrow::schema(std::move(fields)), rows, std::move(arrays));
  }

 private:
  template <typename Builder, typename Make>
  std::shared_ptr<arrow::Array> fill(const std::shared_ptr<arrow::DataType>& type, int64_t rows, const Make& make) const {
    Builder builder(type, request_.memoryPool ? request_.memoryPool : arrow::default_memory_pool());
    throwIfFailed(builder.Reserve(rows));
    for (int64_t i = 0; i < rows; ++i) builder.UnsafeAppend(make(value_ + i * range_.step));
    return valueOrThrow(builder.Finish());
  }

  const RateRange range_;
  const ReadRequest request_;
  int64_t value_;
};

class RateSplit final : public Split {
 public:
  explicit RateSplit(RateRange range) : range_(range) {}
  std::unique_ptr<BatchReader> open(const ReadRequest& request) const override { return std::make_unique<RateReader>(range_, request); }

 private:
  const RateRange range_;
};

class RateStreamSource final : public StreamSource {
 public:
  RateStreamSource(RateOptions options, StreamSourceContext context) : options_(options), context_(std::move(context)), schema_(rateSchema()) {}

  const SchemaPtr& schema() const override { return schema_; }

  void checkLoggedOffset(const SourceOffset& offset) const override { parseOffset(offset); }

  std::string description() const override {
    return "RateStreamV2[rowsPerSecond=" + std::to_string(options_.rowsPerSecond) + ", rampUpTimeSeconds=" + std::to_string(options_.rampUpSeconds) +
           ", numPartitions=" + (options_.partitions ? std::to_string(*options_.partitions) : "default");
  }

  std::optional<SourceOffset> initialOffset() override {
    startMs();
    return "0";
  }

  std::optional<SourceOffset> latestOffset(const std::optional<SourceOffset>& start, bool) override {
    // Never back, also where the clock goes back.
    const int64_t elapsed = std::max<int64_t>(context_.clock->nowMillis() - startMs(), 0) / 1000;
    latest_ = std::max({latest_, elapsed, start ? parseOffset(*start) : 0});
    return std::to_string(latest_);
  }
  std::optional<SourceOffset> reportLatestOffset() override { return std::to_string(latest_); }

  std::vector<SplitPtr> plan(const std::optional<SourceOffset>& start, const SourceOffset& end) override {
    const int64_t from = start ? parseOffset(*start) : 0;
    const int64_t until = parseOffset(end);
    if (until > INT64_MAX / options_.rowsPerSecond) throwTooFar(until);
    if (from > until) refuse("The rate source's offsets in the checkpoint go back, from " + std::to_string(from) + " to " + std::to_string(until) + ".");
    RateRange whole;
    whole.firstValue = rateValueAtSecond(from, options_.rowsPerSecond, options_.rampUpSeconds);
    whole.end = rateValueAtSecond(until, options_.rowsPerSecond, options_.rampUpSeconds);
    if (whole.firstValue >= whole.end) return {};
    whole.microsPerValue = static_cast<double>(until - from) * 1e6 / static_cast<double>(whole.end - whole.firstValue);
    whole.step = options_.partitions.value_or(kDefaultPartitions);
    // Readers step once beyond the end.
    if (until > (INT64_MAX / 1000 - startMs()) / 1000 || whole.end > INT64_MAX - whole.step) throwTooFar(until);
    whole.startMicros = (startMs() + from * 1000) * 1000;
    std::vector<SplitPtr> splits;
    for (int64_t i = 0; i < whole.step && whole.firstValue + i < whole.end; ++i) {
      RateRange part = whole;
      part.first = whole.firstValue + i;
      splits.push_back(std::make_shared<RateSplit>(part));
    }
    return splits;
  }

 private:
  [[noreturn]] void throwTooFar(int64_t second) const {
    throw Error("ARITHMETIC_OVERFLOW", "The rate source with " + std::to_string(options_.rowsPerSecond) +
                                           " rows a second cannot count to second " + std::to_string(second) + ".");
  }

  static int64_t parseOffset(const SourceOffset& text) {
    const auto seconds = wholeNumber(text);
    if (!seconds || *seconds < 0) refuse("The checkpoint's offset of a rate source is a whole number of seconds, not '" + text + "'.");
    return *seconds;
  }

  int64_t startMs() {
    if (!startMs_) startMs_ = readOrKeepStart();
    return *startMs_;
  }

  int64_t readOrKeepStart() {
    const Location file = context_.metadataFolder.child("0");
    if (!file.fileSystem->stat(file.path)) {
      const int64_t now = context_.clock->nowMillis();
      passFaultPoint(FaultPoint::SourceLogBefore);
      const PutOutcome outcome = putIfAbsentResolved(*file.fileSystem, file.path, std::string(kHeader) + std::to_string(now));
      passFaultPoint(FaultPoint::SourceLogAfter);
      if (outcome == PutOutcome::Done) return now;
    }
    const std::string contents = file.fileSystem->readAll(file.path);
    const auto start = contents.starts_with(kHeader) ? wholeNumber(std::string_view(contents).substr(kHeader.size())) : std::nullopt;
    if (!start || *start < 0 || *start > INT64_MAX / 2000) refuse("The file '" + file.path + "' of the checkpoint does not hold the start of a rate source, version 1.");
    return *start;
  }

  const RateOptions options_;
  const StreamSourceContext context_;
  const SchemaPtr schema_;
  std::optional<int64_t> startMs_;
  int64_t latest_ = 0;
};

}  // namespace

std::unique_ptr<StreamSource> openRateStream(const Options& options, const StreamSourceContext& context) {
  return std::make_unique<RateStreamSource>(parseOptions(options), context);
}

SchemaPtr rateSchema() {
  static const SchemaPtr schema = DataType::structOf({{"timestamp", timestampType()}, {"value", longType()}});
  return schema;
}

int64_t rateValueAtSecond(int64_t second, int64_t rowsPerSecond, int64_t rampUpSeconds) {
  // The pace grows by the same whole number each second until it reaches rowsPerSecond: n (n + 1) / 2 steps after n seconds.
  const int64_t step = rowsPerSecond / (rampUpSeconds + 1);
  if (second <= rampUpSeconds) {
    const int64_t half = second % 2 == 0 ? second / 2 : (second + 1) / 2;
    return half * step * (second % 2 == 0 ? second + 1 : second);
  }
  return rateValueAtSecond(rampUpSeconds, rowsPerSecond, rampUpSeconds) + (second - rampUpSeconds) * rowsPerSecond;
}

}  // namespace thalweg
