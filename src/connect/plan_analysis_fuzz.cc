// Any bytes as a client's relation: parsed within the limits, analyzed, optimized and planned, not run. A
// plan or an Error.
#include <google/protobuf/arena.h>

#include <cstdint>
#include <string>
#include <string_view>

#include <spark/connect/relations.pb.h>

#include "common/error.h"
#include "connect/message_bytes.h"
#include "connector/registry.h"
#include "exec/planner/planner.h"
#include "plan/analyze/analyzer.h"
#include "plan/optimize/optimizer.h"

using namespace thalweg;

namespace {

AnalyzerContext contextOf(const FormatRegistry& formats) {
  AnalyzerContext context;
  context.formats = &formats;
  context.findRelation = [](const std::vector<std::string>&, const Options&, bool) -> LogicalPtr {
    return nullptr;
  };
  context.cachedArtifact = [](const std::string&) { return std::string(); };
  context.drawRows = [](const LogicalPtr& plan, int, int, bool) { return plan; };
  return context;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const FormatRegistry formats{FileSystemRegistry(PathPolicy({"/nowhere"}))};
  google::protobuf::Arena arena;
  auto* relation = google::protobuf::Arena::CreateMessage<spark::connect::Relation>(&arena);
  try {
    connect::parseMessage({reinterpret_cast<const char*>(data), size}, {}, relation);
    const LogicalPtr plan = analyzeRelation(*relation, contextOf(formats));
    treeString(*plan);
    treeString(*optimize(plan));
    planPhysical(optimize(plan), BatchContext{});
  } catch (const Error&) {
  }
  return 0;
}
