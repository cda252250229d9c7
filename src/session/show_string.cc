#include "session/show_string.h"

#include <arrow/api.h>

#include "expr/cast/value_text.h"

namespace thalweg {
namespace {

constexpr size_t kMinimumWidth = 3;

bool isContinuation(char c) { return (static_cast<unsigned char>(c) & 0xc0) == 0x80; }

size_t characters(const std::string& text) {
  size_t count = 0;
  for (char c : text) count += !isContinuation(c);
  return count;
}

// Characters that terminals show two columns wide (East Asian scripts), as Spark counts them.
size_t displayWidth(const std::string& text) {
  size_t width = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    if (isContinuation(text[i])) continue;
    const auto lead = static_cast<unsigned char>(text[i]);
    uint32_t code = lead;
    if (lead >= 0xe0 && lead < 0xf0 && i + 2 < text.size()) {
      code = ((lead & 0x0fu) << 12) | ((static_cast<unsigned char>(text[i + 1]) & 0x3fu) << 6) | (static_cast<unsigned char>(text[i + 2]) & 0x3fu);
    }
    const bool wide = (code >= 0x1100 && code <= 0x115f) || (code >= 0x2e80 && code <= 0xa4cf) || (code >= 0xac00 && code <= 0xd7a3) ||
                      (code >= 0xf900 && code <= 0xfaff) || (code >= 0xfe30 && code <= 0xfe6f) || (code >= 0xff00 && code <= 0xff60) ||
                      (code >= 0xffe0 && code <= 0xffe6);
    width += wide ? 2 : 1;
  }
  return width;
}

std::string firstCharacters(const std::string& text, size_t count) {
  size_t at = 0;
  while (at < text.size() && count > 0) {
    ++at;
    while (at < text.size() && isContinuation(text[at])) ++at;
    --count;
  }
  return text.substr(0, at);
}

std::string escapeControls(const std::string& text) {
  std::string out;
  for (char c : text) {
    switch (c) {
      case '\n': out += "\\n"; break;
      case '\r': out += "\\r"; break;
      case '\t': out += "\\t"; break;
      case '\f': out += "\\f"; break;
      case '\b': out += "\\b"; break;
      case '\v': out += "\\v"; break;
      case '\a': out += "\\a"; break;
      default: out += c;
    }
  }
  return out;
}

std::string truncated(const std::string& text, int truncate) {
  if (truncate <= 0 || characters(text) <= static_cast<size_t>(truncate)) return text;
  if (truncate < 4) return firstCharacters(text, static_cast<size_t>(truncate));
  return firstCharacters(text, static_cast<size_t>(truncate) - 3) + "...";
}

// show() prints bytes as [61 62], everything else as a cast to string does.
std::string cellText(const DataType& type, const ValueText& text, const arrow::Array& array, int64_t row) {
  if (array.IsNull(row)) return "NULL";
  if (type.id() == TypeId::Binary) {
    static constexpr char kDigits[] = "0123456789ABCDEF";
    std::string out = "[";
    for (unsigned char byte : static_cast<const arrow::BinaryArray&>(array).GetView(row)) {
      if (out.size() > 1) out += ' ';
      out += kDigits[byte >> 4];
      out += kDigits[byte & 15];
    }
    return out + "]";
  }
  std::string out;
  text.append(array, row, &out);
  return out;
}

std::string padded(const std::string& text, size_t width, bool right) {
  const size_t own = displayWidth(text);
  const std::string blanks(width > own ? width - own : 0, ' ');
  return right ? blanks + text : text + blanks;
}

std::string drawHorizontal(const std::vector<std::vector<std::string>>& rows, int truncate) {
  std::vector<size_t> widths(rows[0].size(), kMinimumWidth);
  for (const auto& row : rows) {
    for (size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], displayWidth(row[i]));
  }
  std::string border = "+";
  for (size_t width : widths) border += std::string(width, '-') + "+";
  border += "\n";
  std::string text = border;
  for (size_t r = 0; r < rows.size(); ++r) {
    text += "|";
    for (size_t i = 0; i < rows[r].size(); ++i) text += padded(rows[r][i], widths[i], truncate > 0) + "|";
    text += "\n";
    if (r == 0) text += border;
  }
  return text + border;
}

std::string drawVertical(const std::vector<std::vector<std::string>>& rows) {
  size_t nameWidth = kMinimumWidth, valueWidth = kMinimumWidth;
  for (const std::string& name : rows[0]) nameWidth = std::max(nameWidth, displayWidth(name));
  for (size_t r = 1; r < rows.size(); ++r) {
    for (const std::string& cell : rows[r]) valueWidth = std::max(valueWidth, displayWidth(cell));
  }
  std::string text;
  for (size_t r = 1; r < rows.size(); ++r) {
    std::string header = "-RECORD " + std::to_string(r - 1);
    const size_t width = nameWidth + valueWidth + 5;
    if (header.size() < width) header += std::string(width - header.size(), '-');
    text += header + "\n";
    for (size_t i = 0; i < rows[r].size(); ++i) {
      text += " " + padded(rows[0][i], nameWidth, false) + " | " + padded(rows[r][i], valueWidth, false) + " \n";
    }
  }
  return text;
}

}  // namespace

std::string drawTable(const Schema& schema, const std::vector<std::shared_ptr<arrow::RecordBatch>>& batches, int numRows,
                      int truncate, bool vertical, const TimeZone& zone) {
  std::vector<std::vector<std::string>> rows(1);
  std::vector<ValueText> texts;
  for (const StructField& field : schema.fields()) {
    rows[0].push_back(truncated(escapeControls(field.name), truncate));
    texts.emplace_back(*field.type, zone);
  }
  int64_t total = 0;
  for (const auto& batch : batches) {
    for (int64_t row = 0; row < batch->num_rows(); ++row) {
      if (++total > numRows) break;
      auto& cells = rows.emplace_back();
      for (size_t i = 0; i < schema.fields().size(); ++i) {
        const std::string cell = cellText(*schema.fields()[i].type, texts[i], *batch->column(static_cast<int>(i)), row);
        cells.push_back(truncated(escapeControls(cell), truncate));
      }
    }
  }
  const bool hasMore = total > numRows;
  std::string text = vertical ? drawVertical(rows) : drawHorizontal(rows, truncate);
  if (vertical && rows.size() == 1) text = "(0 rows)\n";
  if (hasMore) text += "only showing top " + std::to_string(numRows) + " row" + (numRows == 1 ? "" : "s") + "\n";
  return text;
}

}  // namespace thalweg
