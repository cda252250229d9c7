// GROUP BY: keys, ALL, ROLLUP, CUBE, GROUPING SETS and lists of them.
#include <algorithm>

#include "common/error.h"
#include "spark/connect/relations.pb.h"
#include "sql/grouping.h"
#include "sql/sql_parser.h"

namespace thalweg::sql {

namespace sc = spark::connect;

namespace {

// What one item of GROUP BY groups by: several lists of its keys, by position.
struct GroupingItem {
  Nodes keys;
  std::vector<std::vector<size_t>> sets;
  bool hasLists = false;  // of keys in a ROLLUP or CUBE: only sets can say them
};

constexpr size_t kMostGroupingSets = 4096;

// Each list of keys with each of another item's.
std::vector<std::vector<const Node*>> crossed(const std::vector<std::vector<const Node*>>& lists, const GroupingItem& item) {
  std::vector<std::vector<const Node*>> all;
  if (lists.size() * item.sets.size() > kMostGroupingSets)
    throw unsupported("More than " + std::to_string(kMostGroupingSets) + " grouping sets");
  for (const auto& list : lists) {
    for (const auto& set : item.sets) {
      auto& longer = all.emplace_back(list);
      for (const size_t key : set) longer.push_back(&item.keys[key]);
    }
  }
  return all;
}

// The lists of ROLLUP(parts), the longest first, and of CUBE(parts). A part is keys that are there or left out together.
std::vector<std::vector<size_t>> listsOf(const std::vector<std::vector<size_t>>& parts, bool cube) {
  const size_t numParts = parts.size();
  if (cube && numParts > 12) throw unsupported("A cube of more than 12 columns");
  std::vector<std::vector<size_t>> lists;
  for (size_t left = 0; left < (cube ? size_t{1} << numParts : numParts + 1); ++left) {
    auto& list = lists.emplace_back();
    for (size_t part = 0; part < numParts; ++part) {
      const bool leftOut = cube ? left >> (numParts - 1 - part) & 1 : part >= numParts - left;
      if (!leftOut) list.insert(list.end(), parts[part].begin(), parts[part].end());
    }
  }
  return lists;
}

}  // namespace

// The keys of a grouping set: (a, b), (), or one key without parentheses, which may begin with some: (a + b) * c.
Nodes SqlParser::parseKeyList() {
  const size_t begin = tokens_.position();
  if (tokens_.acceptSymbol("(")) {
    Nodes keys = parseArguments();
    if (tokens_.peekSymbol(",") || tokens_.peekSymbol(")")) return keys;
    tokens_.rewind(begin);
  }
  return nodes(parseExpression());
}

// Behind ROLLUP or CUBE: its parts by the positions of their keys, which are added to `keys`.
std::vector<std::vector<size_t>> SqlParser::parseKeyLists(Nodes* keys) {
  std::vector<std::vector<size_t>> parts;
  tokens_.expectSymbol("(");
  if (tokens_.acceptSymbol(")")) return parts;
  do {
    auto& part = parts.emplace_back();
    for (Node& key : parseKeyList()) {
      part.push_back(keys->size());
      keys->push_back(std::move(key));
    }
  } while (tokens_.acceptSymbol(","));
  tokens_.expectSymbol(")");
  return parts;
}

void SqlParser::parseGroupBy(Grouping* grouping) {
  using sc::Aggregate;
  grouping->type = Aggregate::GROUP_TYPE_GROUPBY;
  if (tokens_.peekWord("all") && !tokens_.peekSymbol(",", 1) && !tokens_.peekSymbol(".", 1)) {
    tokens_.take();
    grouping->all = true;
    return;
  }
  std::vector<GroupingItem> items;
  Aggregate::GroupType special = Aggregate::GROUP_TYPE_UNSPECIFIED;  // of the last item that is no plain key
  do {
    GroupingItem& item = items.emplace_back();
    if (tokens_.peekAnyWord({"rollup", "cube"}) && tokens_.peekSymbol("(", 1)) {
      const bool cube = tokens_.peekWord("cube");
      special = cube ? Aggregate::GROUP_TYPE_CUBE : Aggregate::GROUP_TYPE_ROLLUP;
      tokens_.take();
      const auto parts = parseKeyLists(&item.keys);
      item.hasLists = parts.size() != item.keys.size();
      item.sets = listsOf(parts, cube);
    } else if (tokens_.peekWords({"grouping", "sets"}) && tokens_.peekSymbol("(", 2)) {
      special = Aggregate::GROUP_TYPE_GROUPING_SETS;
      parseGroupingSets(&item.keys, &item.sets);
    } else {
      item.keys = nodes(parseExpression());
      item.sets = {{0}};
    }
  } while (tokens_.acceptSymbol(","));
  if (special == Aggregate::GROUP_TYPE_UNSPECIFIED) {
    for (GroupingItem& item : items) grouping->keys.push_back(std::move(item.keys[0]));
    if (tokens_.acceptWords({"with", "rollup"})) grouping->type = Aggregate::GROUP_TYPE_ROLLUP;
    else if (tokens_.acceptWords({"with", "cube"})) grouping->type = Aggregate::GROUP_TYPE_CUBE;
    else if (tokens_.peekWords({"grouping", "sets"})) parseSetsOfKeys(grouping);
    return;
  }
  if (items.size() == 1 && special != Aggregate::GROUP_TYPE_GROUPING_SETS && !items[0].hasLists) {
    grouping->type = special;
    grouping->keys = std::move(items[0].keys);
    return;
  }
  grouping->type = Aggregate::GROUP_TYPE_GROUPING_SETS;
  std::vector<std::vector<const Node*>> sets(1);
  for (const GroupingItem& item : items) sets = crossed(sets, item);
  for (const auto& set : sets) {
    Nodes& keys = grouping->sets.emplace_back();
    for (const Node* key : set) keys.push_back(copied(*key));
  }
}

// a, b GROUPING SETS ((a, b), a): the keys' order is the list's before.
void SqlParser::parseSetsOfKeys(Grouping* grouping) {
  grouping->type = sc::Aggregate::GROUP_TYPE_GROUPING_SETS;
  Nodes keys;
  std::vector<std::vector<size_t>> sets;
  parseGroupingSets(&keys, &sets);
  for (const auto& set : sets) {
    Nodes& nodes = grouping->sets.emplace_back();
    for (const size_t key : set) nodes.push_back(copied(keys[key]));
  }
}

// GROUPING SETS ((a, b), a, ()); each key that is named, and the sets by their positions. A set may be a ROLLUP or CUBE, or
// GROUPING SETS in turn: its sets are among these.
void SqlParser::parseGroupingSets(Nodes* keys, std::vector<std::vector<size_t>>* sets) {
  Level level(*this, 1);
  tokens_.acceptWords({"grouping", "sets"});
  tokens_.expectSymbol("(");
  do {
    const bool cube = tokens_.peekWord("cube");
    if (tokens_.peekWords({"grouping", "sets"}) && tokens_.peekSymbol("(", 2)) {
      parseGroupingSets(keys, sets);
      continue;
    }
    const bool several = tokens_.peekAnyWord({"rollup", "cube"}) && tokens_.peekSymbol("(", 1);
    if (several) {
      tokens_.take();
      for (auto& list : listsOf(parseKeyLists(keys), cube)) sets->push_back(std::move(list));
    } else {
      auto& list = sets->emplace_back();
      for (Node& key : parseKeyList()) {
        list.push_back(keys->size());
        keys->push_back(std::move(key));
      }
    }
    if (sets->size() > kMostGroupingSets) throw unsupported("More than " + std::to_string(kMostGroupingSets) + " grouping sets");
  } while (tokens_.acceptSymbol(","));
  tokens_.expectSymbol(")");
}

}  // namespace thalweg::sql
