#include "common/options.h"

#include <algorithm>
#include <charconv>

#include "common/error.h"

namespace thalweg {
namespace {

char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

}  // namespace

std::string toLowerAscii(std::string_view text) {
  std::string result(text);
  std::transform(result.begin(), result.end(), result.begin(), lower);
  return result;
}

bool equalsIgnoreCase(std::string_view left, std::string_view right) {
  return std::equal(left.begin(), left.end(), right.begin(), right.end(),
                    [](char a, char b) { return lower(a) == lower(b); });
}

std::optional<int64_t> parseDurationMs(std::string_view text) {
  int64_t amount = 0;
  auto [end, status] = std::from_chars(text.data(), text.data() + text.size(), amount);
  if (status != std::errc() || amount < 0) return std::nullopt;
  const size_t blanks = std::min(text.find_first_not_of(' ', static_cast<size_t>(end - text.data())), text.size());
  const std::string unit = toLowerAscii(text.substr(blanks));
  if (unit == "us") return amount / 1000;
  static constexpr std::pair<std::string_view, int64_t> kUnits[] = {
      {"", 1}, {"ms", 1}, {"s", 1000}, {"m", 60'000}, {"min", 60'000}, {"h", 3'600'000}, {"d", 86'400'000}};
  for (const auto& [name, factor] : kUnits) {
    int64_t milliseconds = 0;
    if (unit == name && !__builtin_mul_overflow(amount, factor, &milliseconds)) return milliseconds;
  }
  return std::nullopt;
}

Options::Options(std::initializer_list<std::pair<std::string, std::string>> entries) {
  for (const auto& [name, value] : entries) set(name, value);
}

void Options::set(std::string name, std::string value) {
  std::string key = toLowerAscii(name);
  entries_[std::move(key)] = Entry{std::move(name), std::move(value)};
}

void Options::erase(std::string_view name) { entries_.erase(toLowerAscii(name)); }

bool Options::has(std::string_view name) const { return entries_.contains(toLowerAscii(name)); }

std::optional<std::string> Options::get(std::string_view name) const {
  auto it = entries_.find(toLowerAscii(name));
  if (it == entries_.end()) return std::nullopt;
  return it->second.value;
}

std::string Options::getOr(std::string_view name, std::string_view fallback) const {
  return get(name).value_or(std::string(fallback));
}

std::optional<int64_t> Options::getLong(std::string_view name) const {
  const auto text = get(name);
  if (!text) return std::nullopt;
  int64_t value = 0;
  const char* end = text->data() + text->size();
  auto [stop, status] = std::from_chars(text->data(), end, value);
  if (status != std::errc() || stop != end) {
    throw Error(ErrorKind::IllegalArgument, "INVALID_OPTION",
                "The option '" + std::string(name) + "' takes a whole number, not '" + *text + "'.");
  }
  return value;
}

bool Options::getBool(std::string_view name, bool fallback) const {
  const auto text = get(name);
  if (!text) return fallback;
  if (equalsIgnoreCase(*text, "true")) return true;
  if (equalsIgnoreCase(*text, "false")) return false;
  throw Error(ErrorKind::IllegalArgument, "INVALID_OPTION",
              "The option '" + std::string(name) + "' takes true or false, not '" + *text + "'.");
}

}  // namespace thalweg
