// Function calls: the ordinary ones, those with a grammar of their own, and what may follow a call.
#include <algorithm>

#include "common/error.h"
#include "common/options.h"
#include "spark/connect/common.pb.h"
#include "spark/connect/expressions.pb.h"
#include "spark/connect/relations.pb.h"
#include "sql/sql_parser.h"
#include "thalweg.pb.h"

namespace thalweg::sql {
namespace {

using Frame = spark::connect::Expression_Window_WindowFrame;

bool isUnitFunction(std::string_view name) {
  for (std::string_view unit : {"timestampadd", "dateadd", "date_add", "timestampdiff", "datediff", "date_diff"}) {
    if (equalsIgnoreCase(name, unit)) return true;
  }
  return false;
}

}  // namespace

std::optional<Node> SqlParser::parseSpecialCall() {
  const size_t first = tokens_.position();
  const auto acceptName = [&](std::string_view name) { return tokens_.acceptWord(name); };
  std::optional<Node> node;
  Level level(*this, 1);
  if (acceptName("cast")) {
    node = parseCast(false);
  } else if (acceptName("try_cast")) {
    node = parseCast(true);
  } else if (tokens_.peekWord("exists") && peekQuery(2)) {
    tokens_.take();
    tokens_.take();
    node = subqueryNode(spark::connect::SubqueryExpression::SUBQUERY_TYPE_EXISTS, {});
    tokens_.expectSymbol(")");
  } else if (acceptName("extract")) {
    node = parseExtract();
  } else if (tokens_.peekWord("trim")) {
    node = parseTrim();
  } else if (tokens_.peekAnyWord({"substring", "substr"})) {
    node = parseSubstring();
  } else if (tokens_.peekWord("overlay")) {
    node = parseOverlay();
  } else if (tokens_.peekWord("position")) {
    node = parsePosition();
  } else if (tokens_.peekWord("identifier")) {
    node = attributeNode(parseName());
  }
  if (node) return placed(std::move(*node), first);
  return std::nullopt;
}

// EXTRACT(field FROM source); extract(field, source) is an ordinary call.
Node SqlParser::parseExtract() {
  tokens_.expectSymbol("(");
  if (tokens_.peekSymbol(",", 1)) {
    Nodes arguments = parseArguments();
    return callNode("extract", std::move(arguments));
  }
  std::string field = tokens_.expectIdentifier();
  tokens_.expectWord("from");
  Node source = parseValueExpression();
  tokens_.expectSymbol(")");
  return callNode("extract", nodes(stringNode(std::move(field)), std::move(source)));
}

// TRIM([BOTH|LEADING|TRAILING] [characters] FROM source) as trim(characters, source), ltrim, rtrim.
Node SqlParser::parseTrim() {
  tokens_.take();
  tokens_.expectSymbol("(");
  std::string function = "trim";
  const bool side = tokens_.peekAnyWord({"both", "leading", "trailing"}) && !tokens_.peekSymbol(",", 1) &&
                    !tokens_.peekSymbol(")", 1);
  if (side) {
    const std::string word = toLowerAscii(tokens_.take().text);
    function = word == "leading" ? "ltrim" : word == "trailing" ? "rtrim" : "trim";
    if (tokens_.acceptWord("from")) {
      Node source = parseValueExpression();
      tokens_.expectSymbol(")");
      return callNode(function, nodes(std::move(source)));
    }
  }
  Nodes arguments = nodes(parseExpression());
  if (side ? (tokens_.expectWord("from"), true) : tokens_.acceptWord("from")) {
    arguments.push_back(parseValueExpression());
  } else if (tokens_.acceptSymbol(",")) {
    arguments.push_back(parseExpression());
  }
  tokens_.expectSymbol(")");
  return callNode(function, std::move(arguments));
}

// SUBSTRING(source FROM position [FOR length]) as substring(source, position, length).
Node SqlParser::parseSubstring() {
  std::string function(tokens_.take().text);
  tokens_.expectSymbol("(");
  Nodes arguments = nodes(parseArgument());
  const bool words = tokens_.acceptWord("from");
  while (words ? arguments.size() == 1 || tokens_.acceptWord("for") : tokens_.acceptSymbol(",")) {
    arguments.push_back(words ? parseValueExpression() : parseArgument());
  }
  tokens_.expectSymbol(")");
  return callNode(std::move(function), std::move(arguments));
}

// OVERLAY(source PLACING other FROM position [FOR length]).
Node SqlParser::parseOverlay() {
  std::string function(tokens_.take().text);
  tokens_.expectSymbol("(");
  Nodes arguments = nodes(parseArgument());
  if (tokens_.acceptWord("placing")) {
    arguments.push_back(parseValueExpression());
    tokens_.expectWord("from");
    arguments.push_back(parseValueExpression());
    if (tokens_.acceptWord("for")) arguments.push_back(parseValueExpression());
  } else {
    while (tokens_.acceptSymbol(",")) arguments.push_back(parseArgument());
  }
  tokens_.expectSymbol(")");
  return callNode(std::move(function), std::move(arguments));
}

// POSITION(part IN whole) as position(part, whole).
Node SqlParser::parsePosition() {
  std::string function(tokens_.take().text);
  tokens_.expectSymbol("(");
  Nodes arguments = nodes(parseValueExpression());
  if (tokens_.acceptWord("in")) {
    arguments.push_back(parseValueExpression());
  } else {
    while (tokens_.acceptSymbol(",")) arguments.push_back(parseArgument());
  }
  tokens_.expectSymbol(")");
  return callNode(std::move(function), std::move(arguments));
}

Node SqlParser::parseArgument() {
  if (!tokens_.peekIdentifier() || !tokens_.peekSymbol("=>", 1)) return parseExpression();
  std::string key = tokens_.expectIdentifier();
  tokens_.take();
  if (tokens_.peekWord("table") && tokens_.peekSymbol("(", 1)) throw unsupported("a TABLE argument of a function");
  Node value = parseExpression();
  Node node{ExpressionPtr(new spark::connect::Expression()), raisedHeight(value.height)};
  node.message->mutable_named_argument_expression()->set_key(std::move(key));
  node.message->mutable_named_argument_expression()->set_allocated_value(value.message.release());
  return node;
}

// Up to and with the ')'.
Nodes SqlParser::parseArguments() {
  Nodes arguments;
  if (tokens_.acceptSymbol(")")) return arguments;
  do {
    arguments.push_back(parseArgument());
  } while (tokens_.acceptSymbol(","));
  tokens_.expectSymbol(")");
  return arguments;
}

Node SqlParser::parseCall(std::vector<std::string> name) {
  const size_t first = tokens_.position() - (2 * name.size() - 1);
  Level level(*this, 1);
  tokens_.expectSymbol("(");
  const bool distinct = tokens_.peekWord("distinct") && !tokens_.peekSymbol(")", 1) && !tokens_.peekSymbol(",", 1);
  if (distinct || (tokens_.peekWord("all") && !tokens_.peekSymbol(")", 1) && !tokens_.peekSymbol(",", 1))) tokens_.take();
  Nodes arguments;
  if (name.size() == 1 && equalsIgnoreCase(name[0], "struct")) {
    while (!tokens_.peekSymbol(")")) {
      arguments.push_back(parseNamedExpression());
      if (!tokens_.acceptSymbol(",")) break;
    }
    tokens_.expectSymbol(")");
  } else if (isUnitFunction(name[0]) && tokens_.peek().kind == TokenKind::Word && tokens_.peekSymbol(",", 1) &&
             tokens_.closingParenthesis(first + 1) > first + 5) {
    const size_t unitAt = tokens_.position();
    arguments = parseArguments();
    // A bare unit is a word, not a column, when two more arguments follow.
    if (arguments.size() == 3) arguments[0] = stringNode(std::string(tokens_.tokenAt(unitAt).text));
  } else {
    const bool inside = !tokens_.peekSymbol(")");
    if (inside) {
      do {
        arguments.push_back(parseArgument());
      } while (tokens_.acceptSymbol(","));
      // FIRST(x IGNORE NULLS) is first(x, true).
      if (tokens_.acceptWords({"ignore", "nulls"})) arguments.push_back(booleanNode(true));
      else tokens_.acceptWords({"respect", "nulls"});
    }
    tokens_.expectSymbol(")");
  }
  Node node;
  if (name.size() == 1) {
    node = callNode(name[0], std::move(arguments), distinct);
  } else {
    if (distinct) throw unsupported("DISTINCT in a call of a function with a multi-part name");
    node = {ExpressionPtr(new spark::connect::Expression()), raisedHeight(arguments)};
    node.message->mutable_call_function()->set_function_name(unparsedIdentifier(name));
    for (Node& argument : arguments) {
      node.message->mutable_call_function()->mutable_arguments()->AddAllocated(argument.message.release());
    }
  }
  return placed(parseCallTail(placed(std::move(node), first)), first);
}

// [WITHIN GROUP (ORDER BY …)] [FILTER (WHERE …)] [IGNORE NULLS] [OVER …]
Node SqlParser::parseCallTail(Node call) {
  messages::SqlFunctionCall extended;
  int height = call.height;
  if (tokens_.acceptWords({"within", "group"})) {
    tokens_.expectSymbol("(");
    tokens_.expectWord("order");
    tokens_.expectWord("by");
    for (SortItem& item : parseSortItems()) {
      height = std::max(height, item.child.height);
      fillSortOrder(std::move(item), extended.add_within_group());
    }
    tokens_.expectSymbol(")");
  }
  if (tokens_.peekWord("filter") && tokens_.peekSymbol("(", 1) && tokens_.peekWord("where", 2)) {
    for (int i = 0; i < 3; ++i) tokens_.take();
    Node filter = parseExpression();
    tokens_.expectSymbol(")");
    height = std::max(height, filter.height);
    extended.set_allocated_filter(filter.message.release());
  }
  if (tokens_.acceptWords({"ignore", "nulls"})) extended.set_ignore_nulls(true);
  else tokens_.acceptWords({"respect", "nulls"});
  if (extended.has_filter() || extended.ignore_nulls() || extended.within_group_size() > 0) {
    extended.set_allocated_function(call.message.release());
    call = {ExpressionPtr(new spark::connect::Expression()), raisedHeight(height)};
    call.message->mutable_extension()->PackFrom(extended);
  }
  const bool over = tokens_.peekWord("over") && (tokens_.peekSymbol("(", 1) || tokens_.peekIdentifier(1));
  return over ? parseOver(std::move(call)) : std::move(call);
}

Node SqlParser::parseOver(Node call) {
  tokens_.expectWord("over");
  Node node{ExpressionPtr(new spark::connect::Expression()), 1};
  auto* window = node.message->mutable_window();
  int height = call.height;
  window->set_allocated_window_function(call.message.release());
  const bool parenthesizedName =
      tokens_.peekSymbol("(") && tokens_.peekIdentifier(1) && tokens_.peekSymbol(")", 2);
  if (tokens_.peekSymbol("(") && !parenthesizedName) {
    parseWindowSpecification(window, &height);
  } else {
    const bool parenthesis = tokens_.acceptSymbol("(");
    const std::string name = tokens_.expectIdentifier();
    if (parenthesis) tokens_.expectSymbol(")");
    Node definition = copied(namedWindow(name));
    height = std::max(height, definition.height);
    auto* function = window->release_window_function();
    window->Swap(definition.message->mutable_window());
    window->set_allocated_window_function(function);
  }
  node.height = raisedHeight(height);
  return node;
}

const Node& SqlParser::namedWindow(const std::string& name) {
  if (!windowDefinitions_) readWindowDefinitions();
  for (const WindowDefinition& definition : *windowDefinitions_) {
    if (equalsIgnoreCase(definition.name, name)) return definition.window;
  }
  throw Error("MISSING_WINDOW_SPECIFICATION",
              "OVER names the window " + name + ", but no WINDOW clause defines it: add WINDOW " + name + " AS (…).",
              {{"windowName", name}});
}

// Looks ahead from the SELECT's start, over parentheses, for its WINDOW clause.
void SqlParser::readWindowDefinitions() {
  windowDefinitions_.emplace();
  const size_t resume = tokens_.position();
  for (tokens_.rewind(selectStart_); !tokens_.atEnd() && !tokens_.peekSymbol(")"); tokens_.take()) {
    if (tokens_.peekSymbol("(")) {
      tokens_.rewind(tokens_.closingParenthesis(tokens_.position()));
      if (tokens_.atEnd()) break;
    } else if (tokens_.peekWord("window") && tokens_.peekIdentifier(1) && tokens_.peekWord("as", 2) &&
               tokens_.peekSymbol("(", 3)) {
      windowDefinitions_ = parseWindowClause();
      break;
    } else if (tokens_.peekAnyWord({"union", "intersect", "minus"})) {
      break;
    }
  }
  tokens_.rewind(resume);
}

std::vector<SqlParser::WindowDefinition> SqlParser::parseWindowClause() {
  std::vector<WindowDefinition> definitions;
  tokens_.expectWord("window");
  do {
    WindowDefinition definition{tokens_.expectIdentifier(), {ExpressionPtr(new spark::connect::Expression()), 1}};
    tokens_.expectWord("as");
    int height = 1;
    parseWindowSpecification(definition.window.message->mutable_window(), &height);
    definition.window.height = height;
    definitions.push_back(std::move(definition));
  } while (tokens_.acceptSymbol(","));
  return definitions;
}

void SqlParser::parseWindowSpecification(spark::connect::Expression_Window* window, int* height) {
  tokens_.expectSymbol("(");
  if (tokens_.acceptWords({"partition", "by"}) || tokens_.acceptWords({"distribute", "by"})) {
    do {
      Node key = parseExpression();
      *height = std::max(*height, key.height);
      window->mutable_partition_spec()->AddAllocated(key.message.release());
    } while (tokens_.acceptSymbol(","));
  }
  if (tokens_.acceptWords({"order", "by"}) || tokens_.acceptWords({"sort", "by"})) {
    for (SortItem& item : parseSortItems()) {
      *height = std::max(*height, item.child.height);
      fillSortOrder(std::move(item), window->add_order_spec());
    }
  }
  if (tokens_.peekAnyWord({"rows", "range"})) parseFrame(window, height);
  tokens_.expectSymbol(")");
}

void SqlParser::parseFrame(spark::connect::Expression_Window* window, int* height) {
  auto* frame = window->mutable_frame_spec();
  frame->set_frame_type(tokens_.peekWord("rows") ? Frame::FRAME_TYPE_ROW : Frame::FRAME_TYPE_RANGE);
  tokens_.take();
  const auto parseBoundary = [&](Frame::FrameBoundary* boundary) {
    if (tokens_.acceptWords({"current", "row"})) return boundary->set_current_row(true);
    const bool unbounded = tokens_.acceptWord("unbounded");
    Node value;
    if (!unbounded) value = parseExpression();
    const bool preceding = tokens_.peekWord("preceding");
    if (!preceding && !tokens_.peekWord("following")) tokens_.fail();
    tokens_.take();
    if (unbounded) return boundary->set_unbounded(true);
    // An offset before the row is a negative number, as PySpark sends it.
    auto* literal = value.message->has_literal() ? value.message->mutable_literal() : nullptr;
    if (preceding && literal && literal->has_integer() && literal->integer() > INT32_MIN) {
      literal->set_integer(-literal->integer());
    } else if (preceding) {
      value = callNode("negative", nodes(std::move(value)));
    }
    *height = std::max(*height, value.height);
    boundary->set_allocated_value(value.message.release());
  };
  if (tokens_.acceptWord("between")) {
    parseBoundary(frame->mutable_lower());
    tokens_.expectWord("and");
    parseBoundary(frame->mutable_upper());
  } else {
    parseBoundary(frame->mutable_lower());
    frame->mutable_upper()->set_current_row(true);
  }
}

}  // namespace thalweg::sql
