// The fast way through a record: strict JSON whose every value fits the schema, read once, straight into columns.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "formats/json/json_rows.h"

namespace thalweg {

// Takes a record only after all of it has been checked; for every other record says so and leaves no trace, and
// ExactJsonParser gives the answer. One a thread.
class FastJsonParser {
 public:
  // Records beside each other in memory, so that reading a little past one is harmless, need this many bytes behind the
  // last one.
  static constexpr size_t kPadding = 64;

  FastJsonParser(const JsonPlan& plan, JsonRowWriter* writer);

  // False where the plan's options or formats leave nothing to the fast way.
  bool usable() const { return usable_; }

  // Appends one row and returns true, or returns false. kPadding bytes behind the record must be readable.
  bool parse(std::string_view record);

 private:
  struct Frame;
  struct Shape {
    // How the last record wrote the field at each place of the object: the bytes from the end of the value before it (or
    // the opening brace) to the beginning of its own value, and its index in the schema (-1: unknown to it).
    struct Step {
      std::string bytes;
      int index = -1;
    };
    std::vector<Step> steps;
  };

  const char* object(const char* p, const JsonNode& node, JsonColumn* column, bool isRoot, size_t shape, int depth);
  const char* value(const char* p, const JsonNode& node, JsonColumn* column, size_t shape, int depth);
  const char* list(const char* p, const JsonNode& node, JsonColumn* column, size_t shape, int depth);
  const char* map(const char* p, const JsonNode& node, JsonColumn* column, size_t shape, int depth);
  const char* text(const char* p, const JsonNode& node, JsonColumn* column);
  const char* number(const char* p, const JsonNode& node, JsonColumn* column);
  const char* word(const char* p, const JsonNode& node, JsonColumn* column);
  const char* skip(const char* p, int depth);
  const char* stringEnd(const char* p, bool* plain);
  size_t shapeOf(const JsonNode& node, size_t child) const;
  bool unescape(std::string_view raw, std::string* out) const;
  size_t prepareShapes(const JsonNode& node);

  const JsonPlan& plan_;
  JsonRowWriter* writer_;
  bool usable_ = false;
  const char* end_ = nullptr;
  bool ascii_ = true;  // no byte of a string so far is beyond ASCII
  std::vector<Shape> shapes_;
  std::vector<std::vector<size_t>> childShapes_;
  std::string scratch_;
};

}  // namespace thalweg
