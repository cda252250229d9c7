#include "sources/state/state_rows.h"

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "columnar/binary_row.h"
#include "columnar/binary_row_fields.h"
#include "columnar/binary_row_layout.h"
#include "common/error.h"

namespace thalweg {
namespace {

class Entries : public StateReceiver {
 public:
  using Map = std::map<std::string, std::string, std::less<>>;
  void restart() override { map.clear(); }
  void apply(const StateChange& change) override {
    if (change.kind == StateChange::Kind::Put)
      map.insert_or_assign(std::string(change.key), std::string(change.value));
    else if (const auto found = map.find(change.key); found != map.end())
      map.erase(found);
  }
  Map map;
};

Entries::Map load(StateFiles& files, const StateVersionToRead& version) {
  Entries entries;
  if (version.snapshotVersion)
    files.loadFromSnapshot(*version.snapshotVersion, version.version, entries);
  else
    files.load(version.version, entries);
  return std::move(entries.map);
}

class VersionRows : public StateRows {
 public:
  VersionRows(std::unique_ptr<StateFiles> files, StateVersionToRead version)
      : files_(std::move(files)), version_(version) {}

  std::optional<StateRow> next() override {
    if (files_) {
      entries_ = load(*files_, version_);
      files_.reset();
      next_ = entries_.begin();
    }
    if (next_ == entries_.end()) return std::nullopt;
    const auto& [key, value] = *next_++;
    return StateRow{key, value};
  }

 private:
  std::unique_ptr<StateFiles> files_;  // until they are read
  StateVersionToRead version_;
  Entries::Map entries_;
  Entries::Map::const_iterator next_;
};

// The value of a row of one BIGINT.
int64_t longOf(std::string_view row) {
  constexpr size_t kBytes = 16;
  if (row.size() == kBytes && !binary_row::isNull(row.data(), 0))
    return binary_row::load<int64_t>(row.data() + 8);
  throw Error("STATE_STORE_VALUE_ROW_FORMAT_VALIDATION_FAILURE",
              "A number of rows, or of a row, in a join's state does not have the form of a long: the file "
              "is damaged.",
              {{"errorMsg", "a number is no long"}});
}

class JoinSideRows : public StateRows {
 public:
  JoinSideRows(std::unique_ptr<StateFiles> counts, std::unique_ptr<StateFiles> rows,
               const SchemaPtr& indexedKey, StateVersionToRead version)
      : countFiles_(std::move(counts)),
        rows_(std::move(rows), version),
        splitter_(fieldTypes(*indexedKey), indexedKey->fields().size() - 1),
        version_(version) {}

  std::optional<StateRow> next() override {
    if (countFiles_) {
      counts_ = load(*countFiles_, version_);
      countFiles_.reset();
    }
    while (const auto row = rows_.next()) {
      key_.clear();
      index_.clear();
      splitter_.appendPrefix(row->key, &key_);
      splitter_.appendRest(row->key, &index_);
      const auto count = counts_.find(key_);
      if (count == counts_.end()) continue;
      if (const int64_t index = longOf(index_); index >= 0 && index < longOf(count->second))
        return StateRow{key_, row->value};
    }
    return std::nullopt;
  }

 private:
  std::unique_ptr<StateFiles> countFiles_;  // until they are read
  VersionRows rows_;
  BinaryRowSplitter splitter_;
  StateVersionToRead version_;
  Entries::Map counts_;
  std::string key_, index_;
};

class ChangeRows : public StateRows {
 public:
  ChangeRows(std::unique_ptr<StateFiles> files, int64_t first, int64_t last)
      : files_(std::move(files)), nextBatch_(first), last_(last) {}

  std::optional<StateRow> next() override {
    while (next_ == changes_.list.size()) {
      if (nextBatch_ > last_) return std::nullopt;
      files_->loadChanges(++nextBatch_, changes_);
      next_ = 0;
    }
    const auto& [key, value] = changes_.list[next_++];
    return StateRow{key, value, nextBatch_ - 1};
  }

 private:
  class Changes : public StateReceiver {
   public:
    void restart() override { list.clear(); }
    void apply(const StateChange& change) override {
      std::optional<std::string> value;
      if (change.kind == StateChange::Kind::Put) value = change.value;
      list.emplace_back(change.key, std::move(value));
    }
    std::vector<std::pair<std::string, std::optional<std::string>>> list;
  };

  std::unique_ptr<StateFiles> files_;
  int64_t nextBatch_;  // to be read; its version is one more
  int64_t last_;
  Changes changes_;
  size_t next_ = 0;
};

}  // namespace

std::unique_ptr<StateRows> rowsOfVersion(std::unique_ptr<StateFiles> files, StateVersionToRead version) {
  return std::make_unique<VersionRows>(std::move(files), version);
}

std::unique_ptr<StateRows> rowsOfJoinSide(std::unique_ptr<StateFiles> counts,
                                          std::unique_ptr<StateFiles> rows, SchemaPtr indexedKey,
                                          StateVersionToRead version) {
  return std::make_unique<JoinSideRows>(std::move(counts), std::move(rows), indexedKey, version);
}

std::unique_ptr<StateRows> rowsOfChanges(std::unique_ptr<StateFiles> files, int64_t first, int64_t last) {
  return std::make_unique<ChangeRows>(std::move(files), first, last);
}

}  // namespace thalweg
