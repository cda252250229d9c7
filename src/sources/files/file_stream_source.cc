#include <algorithm>
#include <deque>

#include <nlohmann/json.hpp>

#include "common/error.h"
#include "common/json_text.h"
#include "common/logging.h"
#include "sources/files/file_resolution.h"
#include "sources/files/file_source.h"
#include "sources/files/seen_files.h"
#include "sources/files/source_log.h"
#include "storage/file_uri.h"

namespace thalweg {
namespace {

SourceOffset offsetText(int64_t logOffset) {
  return fmt::format("{{\"logOffset\":{}}}", logOffset);
}

int64_t parseOffset(const SourceOffset& text) {
  const auto json = parseJson(text);
  const auto it = json.is_object() ? json.find("logOffset") : json.end();
  if (json.is_object() && it != json.end() && it->is_number_integer()) {
    if (const auto value = it->get<int64_t>(); value >= -1 && value < INT64_MAX) return value;
  }
  throw Error("STREAMING_CHECKPOINT_LOG_CORRUPT",
              "The checkpoint's offset of a file source is {\"logOffset\":n}, not '" + text +
                  "': does it belong to another query?",
              {{"path", text}});
}

class FileStreamSource final : public StreamSource {
 public:
  FileStreamSource(FileRoot root, FileListOptions listOptions, FileStreamOptions options,
                   std::shared_ptr<const FileScan> scan, TimeZone zone, FileSystemRegistry registry,
                   StreamSourceContext context)
      : root_(std::move(root)),
        listOptions_(std::move(listOptions)),
        options_(options),
        scan_(std::move(scan)),
        zone_(std::move(zone)),
        registry_(std::move(registry)),
        context_(std::move(context)),
        log_(context_.metadataFolder, *context_.clock),
        seen_(options_.maxFileAgeMs, options_.fileNameOnly) {
    log_.restore([this](const SourceLogEntry& entry) { seen_.add(entry.uri, entry.timestampMs); });
    seen_.purge();
  }

  const SchemaPtr& schema() const override { return scan_->columns.schema; }
  int visibleColumns() const override { return scan_->columns.visibleCount; }
  void checkLoggedOffset(const SourceOffset& offset) const override { parseOffset(offset); }
  std::string description() const override {
    return "FileStreamSource[" + displayPath(*root_.location.fileSystem, root_.location.path) + "]";
  }

  // The first batch starts before everything.
  std::optional<SourceOffset> initialOffset() override { return std::nullopt; }

  std::optional<SourceOffset> latestOffset(const std::optional<SourceOffset>& start,
                                           bool ignoreLimits) override {
    if (start) checkLogReaches(parseOffset(*start));
    if (unread_.empty() && !availableNow_) unread_ = newFiles();
    const std::vector<ListedFile> batch = takeBatch(ignoreLimits);
    if (!availableNow_) keepUnread(batch.size(), ignoreLimits);
    if (!batch.empty()) record(batch);
    if (log_.latest() < 0) return std::nullopt;
    return offsetText(log_.latest());
  }

  bool prepareForAvailableNow() override {
    unread_ = newFiles();
    availableNow_ = true;
    return true;
  }

  std::vector<SplitPtr> plan(const std::optional<SourceOffset>& start, const SourceOffset& end) override {
    const int64_t from = start ? parseOffset(*start) : -1;
    const int64_t until = parseOffset(end);
    if (from > until) {
      throw Error(
          "STREAMING_CHECKPOINT_LOG_CORRUPT",
          fmt::format("The checkpoint's offsets of {} go back, from {} to {}.", description(), from, until),
          {{"path", context_.metadataFolder.path}});
    }
    checkLogReaches(until);
    std::vector<ScannedFile> files;
    for (const SourceLogEntry& entry : log_.read(from + 1, until)) {
      if (auto file = locate(entry.uri)) files.push_back(std::move(*file));
    }
    return splitFiles(scan_, std::move(files));
  }

 private:
  void checkLogReaches(int64_t offset) const {
    if (offset <= log_.latest()) return;
    throw Error("STREAMING_CHECKPOINT_LOG_CORRUPT",
                fmt::format("The checkpoint says that {} was read up to entry {}, but its log {} ends at {}.",
                            description(), offset, context_.metadataFolder.path, log_.latest()),
                {{"path", context_.metadataFolder.path}});
  }

  std::deque<ListedFile> newFiles() const {
    std::deque<ListedFile> files;
    for (ListedFile& file : listFiles(root_, listOptions_, context_.cancellation)) {
      if (seen_.isNew(fileUri(*root_.location.fileSystem, file.path), file.modificationTimeMs))
        files.push_back(std::move(file));
    }
    // Files of one time stay in the order of their paths.
    std::stable_sort(files.begin(), files.end(), [this](const ListedFile& a, const ListedFile& b) {
      return options_.latestFirst ? a.modificationTimeMs > b.modificationTimeMs
                                  : a.modificationTimeMs < b.modificationTimeMs;
    });
    return files;
  }

  std::vector<ListedFile> takeBatch(bool ignoreLimits) {
    const int64_t maxFiles = ignoreLimits ? INT64_MAX : options_.maxFilesPerTrigger.value_or(INT64_MAX);
    const int64_t maxBytes = ignoreLimits ? INT64_MAX : options_.maxBytesPerTrigger.value_or(INT64_MAX);
    std::vector<ListedFile> batch;
    int64_t bytes = 0;
    while (!unread_.empty()) {
      ListedFile& file = unread_.front();
      if (static_cast<int64_t>(batch.size()) >= maxFiles) break;
      // One file at least, however large.
      if (!batch.empty() && file.sizeBytes > maxBytes - bytes) break;
      bytes += file.sizeBytes;
      seen_.add(fileUri(*root_.location.fileSystem, file.path), file.modificationTimeMs);
      batch.push_back(std::move(file));
      unread_.pop_front();
    }
    return batch;
  }

  // What a limit left over serves the next triggers without listing, unless that is little, or the newest
  // must come first.
  void keepUnread(size_t taken, bool ignoreLimits) {
    const bool few =
        static_cast<double>(unread_.size()) < static_cast<double>(taken) * options_.discardCachedInputRatio;
    if (options_.latestFirst || ignoreLimits || few) {
      unread_.clear();
    } else if (static_cast<int64_t>(unread_.size()) > options_.maxCachedFiles) {
      unread_.resize(static_cast<size_t>(options_.maxCachedFiles));
    }
  }

  void record(const std::vector<ListedFile>& batch) {
    const int64_t batchId = log_.latest() + 1;
    std::vector<SourceLogEntry> entries;
    entries.reserve(batch.size());
    for (const ListedFile& file : batch) {
      entries.push_back({fileUri(*root_.location.fileSystem, file.path), file.modificationTimeMs, batchId});
    }
    log_.add(entries);
    seen_.purge();
  }

  // A logged file as it is now; nothing where it may be passed over.
  std::optional<ScannedFile> locate(const std::string& uri) const {
    ScannedFile file;
    file.location = registry_.resolve(uri);
    checkBelowRoot(file.location.path);
    const auto info = file.location.fileSystem->stat(file.location.path);
    if (!info) {
      if (scan_->ignoreMissingFiles) {
        logWarn("the file {} is gone and passed over", uri);
        return std::nullopt;
      }
      throw Error("FAILED_READ_FILE.FILE_NOT_EXIST",
                  "The file " + uri +
                      " was taken into a batch and does not exist any more. Bring it back, or set the option "
                      "ignoreMissingFiles to go on without it.",
                  {{"path", uri}});
    }
    auto values = partitionValuesOf(root_.partitionFolders(file.location.path), scan_->columns, zone_);
    if (!values) {
      logWarn("the file {} lies outside the partition folders and is passed over", uri);
      return std::nullopt;
    }
    file.sizeBytes = info->sizeBytes;
    file.modificationTimeMs = info->modificationTimeMs;
    file.partitionValues = std::move(*values);
    return file;
  }

  void checkBelowRoot(const std::string& path) const {
    const std::string& root = root_.location.path;
    if (isGlob(root) || root == "/" || path == root || path.starts_with(root + "/")) return;
    throw Error(ErrorKind::IllegalArgument, "INVALID_OPTION",
                fmt::format("The checkpoint's file {} does not lie below the path {}: the path of a file "
                            "stream cannot change.",
                            path, root),
                {{"path", root}});
  }

  const FileRoot root_;
  const FileListOptions listOptions_;
  const FileStreamOptions options_;
  const std::shared_ptr<const FileScan> scan_;
  const TimeZone zone_;
  const FileSystemRegistry registry_;
  const StreamSourceContext context_;
  SourceLog log_;
  SeenFiles seen_;
  std::deque<ListedFile> unread_;  // listed, new and in order, but not taken yet
  bool availableNow_ = false;
};

struct StreamFiles {
  ListedRoot listed;
  FileListOptions options;
  TimeZone zone;
  FileColumns columns;
};

StreamFiles resolveStream(const FileFormatDefinition& format, const ReadDefinition& read,
                          const FileSystemRegistry& registry) {
  if (read.paths.size() != 1)
    throw Error("_LEGACY_ERROR_TEMP_2047",
                "'path' is not specified: a file stream reads one path or pattern.");
  StreamFiles files;
  files.options = FileListOptions::parse(read.options, read.timeZone);
  const FolderRules rules = folderRulesOf(read);
  files.zone = rules.zone;
  files.listed.root = FileRoot::make(registry.resolve(read.paths[0]), files.options, registry);
  bool found = false;
  files.listed.files = listFiles(files.listed.root, files.options, nullptr, &found);
  // A pattern may have its first file later.
  if (!found && !isGlob(files.listed.root.location.path)) {
    throw Error("PATH_NOT_FOUND", "Path does not exist: " + read.paths[0] + ".", {{"path", read.paths[0]}});
  }
  const SchemaPtr declared = declaredSchema(format, read);
  if (!declared) {
    throw Error("_LEGACY_ERROR_TEMP_2048",
                "A stream of " + format.name +
                    " files needs a schema: give one with schema(…). spark.read.load(directory) may find it "
                    "from files that exist.");
  }
  files.columns = resolveColumns(format, declared, SchemaOrigin::Given, {files.listed}, rules);
  return files;
}

}  // namespace

StreamSchema fileStreamSchema(const FileFormatDefinition& format, const ReadDefinition& read,
                              const FileSystemRegistry& registry) {
  const StreamFiles files = resolveStream(format, read, registry);
  format.make(read, files.columns.dataSchema);
  return {files.columns.schema, files.columns.visibleCount};
}

std::unique_ptr<StreamSource> openFileStream(const FileFormatDefinition& format, const ReadDefinition& read,
                                             const FileSystemRegistry& registry,
                                             const StreamSourceContext& context) {
  const FileStreamOptions options = FileStreamOptions::parse(read.options);
  StreamFiles files = resolveStream(format, read, registry);
  if (context.schema && !equals(*context.schema, *files.columns.schema)) {
    throw Error(
        "INVALID_SCHEMA",
        "The partition folders of " + read.paths[0] + " changed between load() and start(): run both again.",
        {{"inputSchema", context.schema->simpleString()}});
  }
  auto scan = makeScan(format, read, files.options, std::move(files.columns));
  return std::make_unique<FileStreamSource>(std::move(files.listed.root), std::move(files.options), options,
                                            std::move(scan), files.zone, registry, context);
}

}  // namespace thalweg
