// Temporary views by name: plans, of one session or of all of a server.
#pragma once

#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "plan/logical/node.h"

namespace thalweg {

// Names ignore case. Any thread.
class TemporaryViews {
 public:
  // Throws Error TEMP_TABLE_OR_VIEW_ALREADY_EXISTS where the name is taken and may not be replaced.
  void add(const std::string& name, LogicalPtr plan, bool replace);
  bool drop(const std::string& name);              // false: there was none
  LogicalPtr find(const std::string& name) const;  // null: there is none
  std::vector<std::string> names() const;          // lower case, sorted
  void clear();

 private:
  mutable std::mutex mutex_;
  std::map<std::string, LogicalPtr> views_;  // by lower-case name
};

}  // namespace thalweg
