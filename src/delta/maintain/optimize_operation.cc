#include "delta/maintain/optimize_operation.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "common/json_text.h"

namespace thalweg::delta {
namespace {

std::string listText(const std::vector<std::string>& texts) {
  return jsonText(toJsonText(nlohmann::json(texts)));
}

std::string listText(const std::vector<std::vector<std::string>>& paths) {
  std::vector<std::string> dotted;
  for (const auto& path : paths) dotted.push_back(fmt::format("{}", fmt::join(path, ".")));
  return listText(dotted);
}

}  // namespace

Operation optimizeOperation(const OptimizeWords& words) {
  Operation operation;
  operation.name = "OPTIMIZE";
  operation.parameters = {{"predicate", listText(words.predicates)},
                          {"zOrderBy", listText(words.zOrderBy)},
                          {"clusterBy", listText(words.clusterBy)},
                          {"auto", words.isAuto ? "true" : "false"}};
  if (!words.clusterBy.empty()) operation.parameters.emplace_back("isFull", words.isFull ? "true" : "false");
  return operation;
}

}  // namespace thalweg::delta
