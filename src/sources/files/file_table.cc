#include <arrow/scalar.h>

#include "common/error.h"
#include "delta/scan/file_skipping.h"
#include "sources/files/file_resolution.h"
#include "sources/files/file_source.h"
#include "storage/file_uri.h"

namespace thalweg {
namespace {

class FileTable final : public Table {
 public:
  FileTable(std::string formatName, std::shared_ptr<const FileScan> scan, std::vector<ListedRoot> roots,
            TimeZone zone)
      : formatName_(std::move(formatName)),
        scan_(std::move(scan)),
        roots_(std::move(roots)),
        zone_(std::move(zone)) {}

  const SchemaPtr& schema() const override { return scan_->columns.schema; }
  int visibleColumns() const override { return scan_->columns.visibleCount; }

  std::vector<SplitPtr> planScan(const std::vector<ColumnPredicate>& predicates) const override {
    const delta::FileFilter filter(*scan_->columns.schema, *scan_->columns.schema, {}, predicates);
    auto scan = std::make_shared<FileScan>(*scan_);
    scan->predicates = predicates;
    std::vector<ScannedFile> files;
    for (const ListedRoot& listed : roots_) {
      for (const ListedFile& file : listed.files) {
        auto values = partitionValuesOf(listed.root.partitionFolders(file.path), scan_->columns, zone_);
        if (!values || !mayMatch(filter, *values)) continue;
        files.push_back({{listed.root.location.fileSystem, file.path},
                         file.sizeBytes,
                         file.modificationTimeMs,
                         std::move(*values)});
      }
    }
    return splitFiles(std::move(scan), std::move(files));
  }

  std::string description() const override {
    std::string text = formatName_;
    for (const ListedRoot& listed : roots_)
      text += " " + displayPath(*listed.root.location.fileSystem, listed.root.location.path);
    return text;
  }

  std::vector<std::string> inputFiles() const override {
    std::vector<std::string> uris;
    for (const ListedRoot& listed : roots_) {
      for (const ListedFile& file : listed.files)
        uris.push_back(fileUri(*listed.root.location.fileSystem, file.path));
    }
    return uris;
  }

 private:
  // By the values of a file's partition columns.
  bool mayMatch(const delta::FileFilter& filter,
                const std::vector<std::shared_ptr<arrow::Scalar>>& values) const {
    return filter.empty() || filter.mayMatch([&](const std::string& column) -> delta::ValueBounds {
      for (size_t i = 0; i < values.size(); ++i) {
        if (scan_->columns.partitionColumns[i].name == column) return delta::boundsOfOne(*values[i]);
      }
      return {};
    });
  }

  std::string formatName_;
  std::shared_ptr<const FileScan> scan_;
  std::vector<ListedRoot> roots_;
  TimeZone zone_;
};

// Partition folders of one read must begin at one place, and other files lie there: Spark has no values for
// the rows of others.
void checkBases(const std::vector<ListedRoot>& roots) {
  std::optional<std::string> base;
  std::optional<std::string> other;
  bool partitioned = false;
  for (const ListedRoot& listed : roots) {
    for (const ListedFile& file : listed.files) {
      const std::vector<std::string> folders = listed.root.partitionFolders(file.path);
      partitioned = partitioned || !folders.empty();
      const size_t end = folders.empty() ? file.path.rfind('/') : file.path.find("/" + folders.front() + "/");
      std::string own = file.path.substr(0, end);
      if (!base)
        base = std::move(own);
      else if (*base != own)
        other = std::move(own);
    }
  }
  if (!partitioned || !other) return;
  throw Error("CONFLICTING_DIRECTORY_STRUCTURES",
              fmt::format("Partition folders, or files beside them, begin below {} and below {}: read them "
                          "apart, or give the option basePath.",
                          *base, *other),
              {{"discoveredBasePaths", *base + ", " + *other}});
}

}  // namespace

std::shared_ptr<Table> openFileTable(const FileFormatDefinition& format, const ReadDefinition& read,
                                     const FileSystemRegistry& registry) {
  if (read.paths.empty())
    throw Error("_LEGACY_ERROR_TEMP_2047", "'path' is not specified: name the files to read.");
  const FileListOptions options = FileListOptions::parse(read.options, read.timeZone);
  std::vector<ListedRoot> roots;
  for (const std::string& path : read.paths) {
    ListedRoot listed{FileRoot::make(registry.resolve(path), options, registry), {}};
    bool found = false;
    listed.files = listFiles(listed.root, options, nullptr, &found);
    if (!found) {
      const std::string shown = displayPath(*listed.root.location.fileSystem, listed.root.location.path);
      throw Error("PATH_NOT_FOUND", "Path does not exist: " + shown + ".", {{"path", shown}});
    }
    roots.push_back(std::move(listed));
  }
  checkBases(roots);
  const FolderRules rules = folderRulesOf(read);
  const SchemaPtr given = declaredSchema(format, read);
  auto scan = makeScan(
      format, read, options,
      given ? resolveColumns(format, given, SchemaOrigin::Given, roots, rules)
            : resolveColumns(format, inferredSchema(format, read, roots), SchemaOrigin::Found, roots, rules));
  return std::make_shared<FileTable>(format.name, std::move(scan), std::move(roots), rules.zone);
}

}  // namespace thalweg
