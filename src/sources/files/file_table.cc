#include "common/error.h"
#include "sources/files/file_resolution.h"
#include "sources/files/file_source.h"
#include "sources/files/file_uri.h"

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

  std::vector<SplitPtr> planScan(const std::vector<ColumnPredicate>&) const override {
    std::vector<ScannedFile> files;
    for (const ListedRoot& listed : roots_) {
      for (const ListedFile& file : listed.files) {
        auto values = partitionValuesOf(listed.root.partitionFolders(file.path), scan_->columns, zone_);
        if (!values) continue;
        files.push_back({{listed.root.location.fileSystem, file.path},
                         file.sizeBytes,
                         file.modificationTimeMs,
                         std::move(*values)});
      }
    }
    return splitFiles(scan_, std::move(files));
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
  std::string formatName_;
  std::shared_ptr<const FileScan> scan_;
  std::vector<ListedRoot> roots_;
  TimeZone zone_;
};

// Partition folders of one read must begin at one place.
void checkBases(const std::vector<ListedRoot>& roots) {
  std::optional<std::string> base;
  for (const ListedRoot& listed : roots) {
    for (const ListedFile& file : listed.files) {
      const std::vector<std::string> folders = listed.root.partitionFolders(file.path);
      if (folders.empty()) continue;
      std::string own = file.path.substr(0, file.path.find("/" + folders.front() + "/"));
      if (!base)
        base = std::move(own);
      else if (*base != own) {
        throw Error("CONFLICTING_DIRECTORY_STRUCTURES",
                    fmt::format("Partition folders begin below {} and below {}: read them apart, or give the "
                                "option basePath.",
                                *base, own),
                    {{"discoveredBasePaths", *base + ", " + own}});
      }
    }
  }
}

}  // namespace

std::shared_ptr<Table> openFileTable(const FileFormatDefinition& format, const ReadDefinition& read,
                                     const FileSystemRegistry& registry) {
  const SchemaPtr declared = declaredSchema(format, read);
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
  if (!declared) throw unsupported("schema inference of " + format.name + " files (give a schema)");
  checkBases(roots);
  const TimeZone zone = TimeZone::parse(read.options.getOr("timeZone", read.timeZone));
  auto scan = makeScan(format, read, options, resolveColumns(declared, roots, zone));
  return std::make_shared<FileTable>(format.name, std::move(scan), std::move(roots), zone);
}

}  // namespace thalweg
