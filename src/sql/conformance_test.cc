// Every SQL text of the recorded Spark answers: what Spark parsed must parse here or be refused by name, and what Spark
// refused with a syntax error must be refused with the same condition.
#include <filesystem>
#include <fstream>
#include <iostream>
#include <regex>
#include <sstream>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "common/error.h"
#include "spark/connect/expressions.pb.h"
#include "sql/parser.h"

namespace thalweg::sql {
namespace {

bool isStatement(const std::string& text) {
  for (const char* word : {"SELECT", "WITH ", "VALUES", "FROM", "(SELECT", "SELEC "}) {
    if (text.starts_with(word)) return true;
  }
  return false;
}

// The condition that parsing the text ends with, "" where it parses.
std::string conditionOf(const std::string& text, bool statement) {
  ParseOptions options;
  try {
    spark::connect::Expression expression;
    if (statement) parseStatement(text, options);
    else parseExpression(text, &expression, options);
  } catch (const Error& error) {
    return error.condition();
  }
  return "";
}

// A script's lines without the column lists in front, its placeholders made names.
std::vector<std::string> scriptLines(std::string script) {
  script = std::regex_replace(script, std::regex("\\{[a-z]\\}"), "x_y");
  std::vector<std::string> lines;
  std::stringstream stream(script);
  for (std::string line; std::getline(stream, line, '\n');) {
    if (line.starts_with("[")) line = line.substr(line.find(']') + 2);
    if (!line.empty()) lines.push_back(line);
  }
  return lines;
}

TEST(Conformance, recordedTextsParse) {
  const std::filesystem::path folder = std::filesystem::path(THALWEG_SHARED_DIR) / "conformance/expected/batch";
  if (!std::filesystem::exists(folder)) GTEST_SKIP() << "no recorded answers at " << folder;
  int texts = 0;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    std::ifstream file(entry.path());
    const auto cases = nlohmann::json::parse(file);
    for (const auto& [name, value] : cases.items()) {
      const std::string text = value.value("case", "");
      const auto answer = value.value("answer", nlohmann::json::object());
      if (text.empty() || text == "case") continue;
      if (text.find(";\n") != std::string::npos) {
        for (const std::string& line : scriptLines(text)) {
          const std::string condition = conditionOf(line, true);
          ++texts;
          // Spark refuses t@v1 of a catalog table as well.
          EXPECT_TRUE(condition != "PARSE_SYNTAX_ERROR" || line.find("@v1") != std::string::npos) << entry.path().filename() << " " << name << ": " << line;
        }
        continue;
      }
      const bool refused = answer.contains("error");
      const std::string condition =
          refused && answer.at("error").contains("condition") && answer["error"]["condition"].is_string() ? answer["error"]["condition"].get<std::string>() : "";
      // Of texts that Spark refuses, those that are no syntax errors may parse here and fail when they are analyzed.
      const bool parseError = refused && answer["error"].value("type", "") == "ParseException" &&
                              !condition.starts_with("INVALID_INLINE_TABLE");
      const std::string actual = conditionOf(text, isStatement(text));
      ++texts;
      if (actual == "UNSUPPORTED_FEATURE.THALWEG") {
        if (getenv("THALWEG_SHOW_REFUSED")) std::cout << "refused: " << text << "\n";
        continue;
      }
      if (actual.empty() && !parseError) continue;
      EXPECT_EQ(actual, condition) << entry.path().filename() << " " << name << ": " << text;
    }
  }
  EXPECT_GT(texts, 1000);
}

}  // namespace
}  // namespace thalweg::sql
