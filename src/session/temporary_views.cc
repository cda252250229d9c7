#include "session/temporary_views.h"

#include "common/error.h"
#include "common/options.h"

namespace thalweg {

void TemporaryViews::add(const std::string& name, LogicalPtr plan, bool replace) {
  std::lock_guard lock(mutex_);
  if (replace) {
    views_.insert_or_assign(toLowerAscii(name), std::move(plan));
  } else if (!views_.try_emplace(toLowerAscii(name), std::move(plan)).second) {
    throw Error("TEMP_TABLE_OR_VIEW_ALREADY_EXISTS",
                "There is a view '" + name + "' already; replace it, or choose another name.",
                {{"relationName", "`" + name + "`"}});
  }
}

bool TemporaryViews::drop(const std::string& name) {
  std::lock_guard lock(mutex_);
  return views_.erase(toLowerAscii(name)) > 0;
}

LogicalPtr TemporaryViews::find(const std::string& name) const {
  std::lock_guard lock(mutex_);
  const auto it = views_.find(toLowerAscii(name));
  return it == views_.end() ? nullptr : it->second;
}

std::vector<std::string> TemporaryViews::names() const {
  std::lock_guard lock(mutex_);
  std::vector<std::string> names;
  for (const auto& [name, plan] : views_) names.push_back(name);
  return names;
}

void TemporaryViews::clear() {
  std::lock_guard lock(mutex_);
  views_.clear();
}

}  // namespace thalweg
