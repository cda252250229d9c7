#include "sources/files/file_resolution.h"

#include <algorithm>
#include <cctype>

#include "common/error.h"
#include "types/nested_fields.h"

namespace thalweg {
namespace {

void checkNames(const Schema& columns, bool caseSensitive) {
  const auto name = repeatedName(columns, caseSensitive);
  if (!name) return;
  const std::string shown = "`" + (caseSensitive ? *name : toLowerAscii(*name)) + "`";
  throw Error("COLUMN_ALREADY_EXISTS",
              "The files have two columns " + shown +
                  (caseSensitive ? ": rename one."
                                 : ": rename one, or tell them apart by case with the setting "
                                   "spark.sql.caseSensitive."),
              {{"columnName", shown}});
}

}  // namespace

SchemaPtr declaredSchema(const FileFormatDefinition& format, const ReadDefinition& read) {
  if (read.userSchema) return asNullable(read.userSchema);
  return format.fixedSchema;
}

FolderRules folderRulesOf(const ReadDefinition& read) {
  FolderRules rules;
  rules.zone = TimeZone::parse(read.options.getOr("timeZone", read.timeZone));
  rules.caseSensitive = read.options.getBool("spark.sql.caseSensitive", false);
  rules.inferTypes = read.options.getBool("spark.sql.sources.partitionColumnTypeInference.enabled", true);
  return rules;
}

SchemaPtr inferredSchema(const FileFormatDefinition& format, const ReadDefinition& read,
                         const std::vector<ListedRoot>& roots) {
  if (!format.infer) throw unsupported("schema inference of " + format.name + " files (give a schema)");
  std::vector<Location> files;
  for (const ListedRoot& listed : roots) {
    for (const ListedFile& file : listed.files) files.push_back({listed.root.location.fileSystem, file.path});
  }
  std::sort(files.begin(), files.end(), [](const Location& a, const Location& b) { return a.path < b.path; });
  if (const SchemaPtr schema = format.infer(read, files)) return asNullable(schema);
  std::string shown = format.name;
  shown[0] = static_cast<char>(std::toupper(static_cast<unsigned char>(shown[0])));
  throw Error("UNABLE_TO_INFER_SCHEMA",
              "There is no " + shown + " file that says which columns there are: give a schema.",
              {{"format", shown}});
}

FileColumns resolveColumns(const FileFormatDefinition& format, const SchemaPtr& schema, SchemaOrigin origin,
                           const std::vector<ListedRoot>& roots, const FolderRules& rules) {
  const bool isGiven = origin == SchemaOrigin::Given;
  PartitionInference inference(isGiven ? schema : nullptr, rules);
  for (const ListedRoot& listed : roots) {
    for (const ListedFile& file : listed.files) inference.add(listed.root.partitionFolders(file.path));
  }
  std::vector<StructField> partitions = inference.columns();
  if (!isGiven)
    return FileColumns::make(schema, std::move(partitions), rules.caseSensitive, format.hasRowIndex);
  const SchemaPtr partitionSchema = DataType::structOf(partitions);
  std::vector<StructField> data;
  for (const StructField& field : schema->fields()) {
    if (partitionSchema->fieldIndex(field.name, rules.caseSensitive) < 0) data.push_back(field);
  }
  return FileColumns::make(DataType::structOf(std::move(data)), std::move(partitions), rules.caseSensitive,
                           format.hasRowIndex);
}

std::optional<std::vector<std::shared_ptr<arrow::Scalar>>> partitionValuesOf(
    const std::vector<std::string>& folders, const FileColumns& columns, const TimeZone& zone) {
  std::vector<std::shared_ptr<arrow::Scalar>> values;
  if (columns.partitionColumns.empty()) return values;
  if (folders.empty()) return std::nullopt;
  bool fits = folders.size() == columns.partitionColumns.size();
  for (size_t i = 0; fits && i < folders.size(); ++i) {
    const PartitionValue value = parsePartitionFolder(folders[i]);
    const StructField& field = columns.partitionColumns[i];
    fits = equalsIgnoreCase(value.name, field.name);
    if (fits) values.push_back(partitionScalar(value, *field.type, zone));
  }
  if (fits) return values;
  throw Error("CONFLICTING_PARTITION_COLUMN_NAMES",
              fmt::format("The folder {} does not fit the partition columns that the other files have.",
                          folders.back()),
              {{"distinctPartColLists", folders.back()}, {"suspiciousPaths", folders.back()}});
}

std::shared_ptr<const FileScan> makeScan(const FileFormatDefinition& format, const ReadDefinition& read,
                                         const FileListOptions& options, FileColumns columns) {
  const bool caseSensitive = folderRulesOf(read).caseSensitive;
  checkNames(*columns.dataSchema, caseSensitive);
  checkNames(*DataType::structOf(columns.partitionColumns), caseSensitive);
  auto scan = std::make_shared<FileScan>();
  scan->format = format.make(read, columns.dataSchema);
  scan->columns = std::move(columns);
  scan->ignoreMissingFiles = options.ignoreMissingFiles;
  scan->ignoreCorruptFiles = options.ignoreCorruptFiles;
  return scan;
}

}  // namespace thalweg
