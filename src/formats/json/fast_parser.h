// The fast way through a record: strict JSON whose every value fits the schema, read once, straight into
// columns.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "formats/json/json_rows.h"

namespace thalweg {

// Takes a record only after all of it has been checked; for every other record says so and leaves no trace,
// and ExactJsonParser gives the answer. One a thread; plan and writer must outlive it.
class FastJsonParser {
 public:
  // So many bytes behind a record must be readable, whatever they hold: other records, or padding.
  static constexpr size_t kPadding = 64;

  FastJsonParser(const JsonPlan& plan, JsonRowWriter* writer);

  // False where the options' limits are not the usual ones.
  bool usable() const { return usable_; }

  // Appends one row and returns true, or returns false.
  bool parse(std::string_view record);

 private:
  // How the last object wrote the field at one place: all bytes from the end of the value before it (or the
  // opening brace) to the beginning of its own value.
  struct Step {
    static constexpr size_t kMaxBytes = 48;
    std::array<char, kMaxBytes> bytes{};
    uint32_t size = 0;
    int index = -1;  // the field; -1: not in the schema
  };
  // A node with the column that it fills.
  struct Target {
    const JsonNode* node = nullptr;
    JsonColumn* column = nullptr;
    JsonColumn* keys = nullptr;  // of a map
    std::vector<Target> children;
    std::vector<Step> steps;
  };

  static Target bind(const JsonNode& node, JsonColumn* column);
  static bool matches(const char* p, const Step& step);

  // Each reads from `p` and returns where the value ends, or null where the exact parser must decide.
  const char* value(const char* p, Target& target, int depth);
  const char* object(const char* p, Target& target, int64_t row, int depth);
  const char* fieldName(const char* p, Target& target, size_t place, int* index);
  const char* list(const char* p, Target& target, int depth);
  const char* map(const char* p, Target& target, int depth);
  const char* string(const char* p, Target& target);
  const char* number(const char* p, Target& target);
  const char* word(const char* p, Target& target);
  const char* skip(const char* p, int depth);
  const char* skipNested(const char* p, int depth);

  const char* stringEnd(const char* p, bool* plain);
  const char* text(const char* p, std::string_view* text);
  bool storeText(std::string_view text, Target& target);
  bool timestamp(std::string_view text, int64_t* micros);
  const char* blanks(const char* p) const;
  bool unescape(std::string_view raw, std::string* out) const;

  const JsonPlan& plan_;
  JsonRowWriter* writer_;
  Target root_;
  bool usable_ = false;
  const char* end_ = nullptr;
  bool ascii_ = true;  // no byte of a string so far is beyond ASCII
  std::string scratch_;
};

}  // namespace thalweg
