#include "formats/json/json_file_reader.h"

#include <cstring>

#include <arrow/array.h>
#include <arrow/io/interfaces.h>
#include <arrow/record_batch.h>

#include "common/error.h"
#include "formats/json/exact_parser.h"
#include "formats/json/fast_parser.h"
#include "formats/json/json_encoding.h"
#include "formats/json/json_rows.h"
#include "types/arrow_types.h"

namespace thalweg {
namespace {

constexpr size_t kChunk = size_t{1} << 20;
constexpr size_t kMaxRecord = size_t{1} << 30;

}  // namespace

JsonFileFormat::JsonFileFormat(SchemaPtr schema, JsonOptions options)
    : plan_(std::make_unique<const JsonPlan>(std::move(schema), std::move(options), true)) {
  THALWEG_ASSERT(plan_->resultType->id() == TypeId::Struct);
}

JsonFileFormat::~JsonFileFormat() = default;

const SchemaPtr& JsonFileFormat::schema() const {
  return plan_->resultType;
}

struct JsonFileReader::State {
  State(const JsonPlan& givenPlan, std::shared_ptr<arrow::io::InputStream> givenStream,
        arrow::MemoryPool* pool)
      : plan(givenPlan),
        stream(std::move(givenStream)),
        writer(plan, pool),
        exact(plan.parsed, plan.options, plan.formats),
        fast(plan, &writer),
        schema(toArrowSchema(*plan.resultType)) {
    if (plan.options.lineSeparator)
      separator = encodeAscii(*plan.options.lineSeparator, plan.options.encoding);
  }

  // Reads on, behind what is not used yet. False at the stream's end.
  bool fill() {
    buffer.erase(0, begin);
    begin = 0;
    const size_t have = buffer.size() - (buffer.empty() ? 0 : FastJsonParser::kPadding);
    if (have > kMaxRecord) {
      throw Error("OUT_OF_MEMORY", "A JSON record passes 1 GB: is the option lineSep the file's separator?");
    }
    buffer.resize(have + kChunk + FastJsonParser::kPadding);
    const auto read = stream->Read(static_cast<int64_t>(kChunk), buffer.data() + have);
    if (!read.ok()) {
      throw Error("FAILED_READ_FILE.NO_HINT", "The JSON file cannot be read: " + read.status().message());
    }
    const auto size = static_cast<size_t>(*read);
    buffer.resize(have + size + FastJsonParser::kPadding);
    std::memset(buffer.data() + have + size, 0, FastJsonParser::kPadding);
    atEnd = size == 0;
    if (atStart && !atEnd && plan.options.encoding.empty() &&
        std::string_view(buffer).starts_with("\xef\xbb\xbf"))
      begin = 3;
    atStart = false;
    return !atEnd;
  }

  size_t dataEnd() const { return buffer.empty() ? 0 : buffer.size() - FastJsonParser::kPadding; }

  // The next record, without its separator; false at the end.
  bool nextRecord(std::string_view* record) {
    size_t searched = begin;
    for (;;) {
      const std::string_view data(buffer.data(), dataEnd());
      size_t next = 0;
      const size_t end = findSeparator(data, searched, &next);
      if (end != std::string_view::npos) {
        *record = data.substr(begin, end - begin);
        begin = next;
        return true;
      }
      if (atEnd) {
        *record = data.substr(std::min(begin, data.size()));
        begin = data.size();
        return !record->empty();
      }
      // A separator of several bytes may lie across two chunks.
      const size_t keep = separator.empty() ? 1 : separator.size();
      const size_t unused = data.size() - begin;
      fill();
      searched = begin + (unused > keep ? unused - keep : 0);
    }
  }

  size_t findSeparator(std::string_view data, size_t from, size_t* next) const {
    if (plan.options.multiLine) return std::string_view::npos;
    if (!separator.empty()) {
      const size_t at = findAligned(data, from);
      if (at != std::string_view::npos) *next = at + separator.size();
      return at;
    }
    const char* start = data.data() + from;
    const auto* newline = static_cast<const char*>(std::memchr(start, '\n', data.size() - from));
    const size_t limit = newline ? static_cast<size_t>(newline - data.data()) : data.size();
    const auto* carriage = static_cast<const char*>(std::memchr(start, '\r', limit - from));
    if (carriage) {
      const auto at = static_cast<size_t>(carriage - data.data());
      // Whether \r stands alone shows in the byte behind it.
      if (at + 1 == data.size() && !atEnd) return std::string_view::npos;
      *next = at + 1 < data.size() && data[at + 1] == '\n' ? at + 2 : at + 1;
      return at;
    }
    if (!newline) return std::string_view::npos;
    *next = limit + 1;
    return limit;
  }

  // Units of two and four bytes are found at their own places only.
  size_t findAligned(std::string_view data, size_t from) const {
    const size_t width = plan.options.encoding.starts_with("UTF-16")
                             ? 2
                             : (plan.options.encoding.starts_with("UTF-32") ? 4 : 1);
    size_t at = data.find(separator, from);
    while (at != std::string_view::npos && (at - begin) % width != 0) at = data.find(separator, at + 1);
    return at;
  }

  void parseRecord(std::string_view record) {
    const std::string& encoding = plan.options.encoding;
    if (encoding.empty() || encoding == "UTF-8") {
      if (fast.usable() && !plan.options.multiLine && fast.parse(record)) return;
    }
    std::string_view text = record;
    if (!encoding.empty()) {
      decoded.clear();
      decodeText(record, encoding, &decoded);
      text = record = decoded;
    } else {
      size_t mark = 0;
      const std::string_view found = detectJsonEncoding(record, &mark);
      text.remove_prefix(mark);
      if (found != "UTF-8") {
        decoded.clear();
        decodeText(text, found, &decoded);
        text = decoded;
      }
    }
    const JsonOutcome outcome = exact.parse(text, &rows);
    if (outcome == JsonOutcome::Blank) return;
    if (outcome == JsonOutcome::Ok) {
      for (const JsonCell& row : rows) writer.appendRow(row, std::nullopt);
      return;
    }
    if (plan.options.mode == ParseMode::DropMalformed) return;
    if (plan.options.mode == ParseMode::FailFast)
      throw malformedRecordError(plan, exact.failure(), record, rows);
    if (rows.empty()) rows.emplace_back();
    for (const JsonCell& row : rows) writer.appendRow(row, record);
  }

  const JsonPlan& plan;
  std::shared_ptr<arrow::io::InputStream> stream;
  JsonRowWriter writer;
  ExactJsonParser exact;
  FastJsonParser fast;
  std::shared_ptr<arrow::Schema> schema;
  std::string separator;
  std::string buffer;  // unread bytes from `begin` on, padding at its end
  size_t begin = 0;
  bool atStart = true;
  bool atEnd = false;
  std::vector<JsonCell> rows;
  std::string decoded;
};

JsonFileReader::JsonFileReader(const JsonFileFormat& format, std::shared_ptr<arrow::io::InputStream> stream,
                               arrow::MemoryPool* pool)
    : state_(std::make_unique<State>(format.plan(), std::move(stream), pool)) {}

JsonFileReader::~JsonFileReader() = default;

std::shared_ptr<arrow::RecordBatch> JsonFileReader::next(int64_t maxRows) {
  std::string_view record;
  JsonColumn& column = state_->writer.column();
  while (column.length() < maxRows && state_->nextRecord(&record)) state_->parseRecord(record);
  const int64_t length = column.length();
  if (length == 0) return nullptr;
  const auto rows = std::static_pointer_cast<arrow::StructArray>(state_->writer.finish());
  return arrow::RecordBatch::Make(state_->schema, length, rows->fields());
}

}  // namespace thalweg
