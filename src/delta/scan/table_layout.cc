#include "delta/scan/table_layout.h"

#include "common/error.h"
#include "common/options.h"
#include "delta/snapshot/snapshot.h"
#include "storage/address_access.h"
#include "storage/uri_path.h"

namespace thalweg::delta {
namespace {

bool isAbsolute(const std::string& path) {
  if (path.starts_with('/')) return true;
  const size_t colon = path.find(':');
  return colon != std::string::npos && colon > 0 && path.find('/') > colon && colon + 1 < path.size() &&
         path[colon + 1] == '/';
}

// By the rules of the table's own store; none where it has none.
AddressResolver resolverOf(const Location& table) {
  if (!dynamic_cast<AddressAccess*>(table.fileSystem.get())) return {};
  return [store = table.fileSystem](std::string_view address) {
    return dynamic_cast<AddressAccess&>(*store).resolve(address);
  };
}

Location resolveAbsolute(const TableLayout& layout, std::string_view address) {
  if (layout.resolve) return layout.resolve(address);
  throw Error("PATH_NOT_ALLOWED",
              "The Delta log names the file " + std::string(address) + ", which lies outside its table.",
              {{"path", std::string(address)}});
}

}  // namespace

bool TableLayout::isPartitionColumn(int index) const {
  const std::string& name = schema->fields()[static_cast<size_t>(index)].name;
  return std::any_of(partitionColumns.begin(), partitionColumns.end(),
                     [&](const auto& column) { return equalsIgnoreCase(column, name); });
}

TableLayoutPtr makeTableLayout(const Snapshot& snapshot, const TimeZone& zone) {
  return makeTableLayout(snapshot.table(), snapshot.metadata(), snapshot.schema(), zone);
}

TableLayoutPtr makeTableLayout(Location table, const Metadata& metadata, SchemaPtr schema,
                               const TimeZone& zone) {
  auto layout = std::make_shared<TableLayout>();
  layout->resolve = resolverOf(table);
  layout->timeZone = zone;
  layout->table = std::move(table);
  layout->mapping = columnMappingMode(metadata);
  layout->physicalSchema = physicalSchema(schema, layout->mapping);
  layout->schema = std::move(schema);
  layout->partitionColumns = metadata.partitionColumns;
  layout->rowIds = rowIdColumns(metadata);
  return layout;
}

TableLayoutPtr withStoredColumns(const TableLayout& layout, const std::vector<StructField>& columns) {
  auto wider = std::make_shared<TableLayout>(layout);
  for (SchemaPtr* schema : {&wider->schema, &wider->physicalSchema}) {
    std::vector<StructField> fields = (*schema)->fields();
    fields.insert(fields.end(), columns.begin(), columns.end());
    *schema = DataType::structOf(std::move(fields));
  }
  return wider;
}

Location locateFile(const TableLayout& layout, const std::string& logPath) {
  const std::string& root = layout.table.path;
  // A plain absolute path is encoded like a relative one; a URI is decoded by the resolver.
  if (logPath.starts_with('/')) {
    const std::string path = normalizeAbsolutePath(decodeUriPath(logPath));
    if (path.starts_with(root + "/")) return {layout.table.fileSystem, path};
    return resolveAbsolute(layout, path);
  }
  if (isAbsolute(logPath)) {
    if (logPath.starts_with("file:")) {
      const std::string path = normalizeAbsolutePath(decodeUriPath(std::string_view(logPath).substr(5)));
      if (path.starts_with(root + "/")) return {layout.table.fileSystem, path};
    }
    return resolveAbsolute(layout, logPath);
  }
  const std::string path = normalizeAbsolutePath(root + "/" + decodeUriPath(logPath));
  if (!path.starts_with(root == "/" ? root : root + "/") || path.find('\0') != std::string::npos) {
    throw Error(
        "DELTA_STATE_RECOVER_ERROR",
        "The Delta log of " + root + " names the file '" + logPath + "', which would lie outside the table.",
        {{"operation", "data file path"}, {"path", logPath}});
  }
  return {layout.table.fileSystem, path};
}

}  // namespace thalweg::delta
