#include "session/session.h"

#include <filesystem>

#include <arrow/compute/initialize.h>
#include <spark/connect/base.pb.h>

#include "common/error.h"
#include "common/logging.h"
#include "common/uuid.h"

namespace thalweg {
namespace {

namespace proto = spark::connect;

class Factory final : public SessionFactory {
 public:
  explicit Factory(const ServerOptions& options) : server_(std::make_shared<ServerState>(options)) {}

  std::shared_ptr<SessionService> makeSession(const std::string& userId, const std::string& sessionId) override {
    // A key of its own for each: a later session of the same ids, or another token's, must not meet this one's queries.
    return std::make_shared<Session>(server_, userId + "/" + sessionId + "/" + randomUuid());
  }

  void shutDown() override { server_->queries.closeAll(); }

 private:
  std::shared_ptr<ServerState> server_;
};

// Where managed tables lie: what the operator says, else ./spark-warehouse as Spark has it, but below the first allowed root
// where there are roots.
std::string warehouseOf(const ServerOptions& options) {
  if (!options.warehouse.empty()) return options.warehouse;
  return (options.allowedRoots.empty() ? "" : options.allowedRoots.front() + "/") + std::string("spark-warehouse");
}

// A warehouse that the operator names is one of the folders that programs may use.
std::vector<std::string> rootsOf(const ServerOptions& options) {
  std::vector<std::string> roots = options.allowedRoots;
  if (!roots.empty() && !options.warehouse.empty()) {
    // Made absolute here: the policy takes absolute paths.
    roots.push_back(FileSystemRegistry().resolve(options.warehouse).path);
  }
  return roots;
}

CatalogPlaces placesOf(const ServerOptions& options, const FileSystemRegistry& files) {
  const Location warehouse = files.resolve(warehouseOf(options));
  return {options.catalogFile.empty() ? warehouse.path + "/_catalog.sqlite" : options.catalogFile, warehouse.uri()};
}

}  // namespace

ServerState::ServerState(const ServerOptions& serverOptions)
    : options(serverOptions),
      pool(static_cast<int>(std::max(1u, std::thread::hardware_concurrency()))),
      deltaLogs(std::make_shared<DeltaLogs>(pool)),
      formats(FileSystemRegistry(PathPolicy(rootsOf(serverOptions)))),
      catalog(placesOf(serverOptions, formats.fileSystems())) {
  // Operators call Arrow's kernels by name.
  THALWEG_ASSERT(arrow::compute::Initialize().ok());
  registerFormats(&formats, deltaLogs, pool, temporaryFolder());
}

std::string ServerState::temporaryFolder() const {
  return options.allowedRoots.empty() ? std::filesystem::temp_directory_path().string() : options.allowedRoots.front();
}

std::shared_ptr<SessionFactory> makeSessionFactory(const ServerOptions& options) { return std::make_shared<Factory>(options); }

Session::Session(std::shared_ptr<ServerState> server, std::string key) : server_(std::move(server)), key_(std::move(key)) {}

void Session::execute(const proto::ExecutePlanRequest& request, std::shared_ptr<ResponseSink> sink) {
  const proto::Plan& plan = request.plan();
  if (plan.has_root()) {
    runRelation(plan.root(), *sink);
    sink->complete();
  } else if (plan.has_command()) {
    runCommand(plan.command(), sink);
  } else {
    throw Error("CONNECT_INVALID_PLAN.NO_OPERATION", "The plan has neither a relation nor a command.");
  }
}

bool Session::hasRunningQueries() { return server_->queries.hasActive(key_); }

void Session::addArtifact(const std::string& name, std::string content) {
  if (!name.starts_with("cache/")) {
    throw Error("UNSUPPORTED_FEATURE.ARTIFACT", "The file '" + name + "' was not taken: code and files of clients are refused by this server.");
  }
  std::lock_guard lock(mutex_);
  artifacts_[name] = std::move(content);
}

bool Session::hasArtifact(const std::string& name) {
  std::lock_guard lock(mutex_);
  return artifacts_.contains(name);
}

void Session::close() {
  server_->queries.closeSession(key_);
  views_.clear();
  std::lock_guard lock(mutex_);
  artifacts_.clear();
}

}  // namespace thalweg
