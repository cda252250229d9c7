#include "delta/checkpoint/checkpoint_file.h"

#include <arrow/array.h>
#include <arrow/array/util.h>
#include <arrow/buffer.h>
#include <arrow/builder.h>
#include <arrow/io/memory.h>
#include <arrow/record_batch.h>

#include "common/error.h"
#include "delta/checkpoint/file_rows.h"
#include "delta/checkpoint/struct_writer.h"
#include "formats/parquet/parquet_file.h"
#include "types/arrow_types.h"

namespace thalweg::delta {
namespace {

constexpr int64_t kBatchRows = 8192;
constexpr int64_t kRowGroupRows = 128 * 1024;
// Of a file with a few statistics, compressed. To grow to it by doubling would touch twice as much memory.
constexpr int64_t kExpectedRowBytes = 128;
constexpr int64_t kLeastBytes = 4096;

ParquetWriteOptions writeOptions() {
  ParquetWriteOptions options;
  options.rowGroupRows = kRowGroupRows;
  return options;
}

}  // namespace

struct CheckpointFile::Implementation {
  Implementation(FileSystem& files, std::string target, const CheckpointColumns& columns,
                 CheckpointContent content, Publication publication, int64_t expectedRows)
      : fileSystem(files),
        path(std::move(target)),
        schema(columns.schema(content)),
        arrowSchema(toArrowSchema(*schema)),
        whole(publication == Publication::AtClose ? valueOrThrow(arrow::io::BufferOutputStream::Create(
                                                        kLeastBytes + expectedRows * kExpectedRowBytes))
                                                  : nullptr),
        writer(whole ? std::shared_ptr<arrow::io::OutputStream>(whole) : fileSystem.openOutput(path), path,
               schema, writeOptions()),
        adds(columns) {}

  int columnOf(const char* name) const { return schema->fieldIndex(name, /*caseSensitive=*/true); }

  // The array is the column's; all others are null.
  void write(int column, const std::shared_ptr<arrow::Array>& rows) {
    arrow::ArrayVector columns;
    for (int i = 0; i < arrowSchema->num_fields(); ++i)
      columns.push_back(i == column ? rows : nulls(i, rows->length()));
    writer.write(*arrow::RecordBatch::Make(arrowSchema, rows->length(), std::move(columns)));
  }

  std::shared_ptr<arrow::Array> nulls(int column, int64_t count) {
    auto& kept = nullColumns[column];
    if (!kept || kept->length() < count)
      kept = valueOrThrow(arrow::MakeArrayOfNull(arrowSchema->field(column)->type(), count));
    return kept->Slice(0, count);
  }

  template <typename Fill>
  void writeOne(const char* name, const Fill& fill) {
    const int column = columnOf(name);
    const auto builder =
        valueOrThrow(arrow::MakeBuilder(arrowSchema->field(column)->type(), arrow::default_memory_pool()));
    fill(StructWriter(static_cast<arrow::StructBuilder&>(*builder)));
    write(column, valueOrThrow(builder->Finish()));
    ++numRows;
  }

  void flushAdds() {
    if (adds.length() > 0) write(columnOf("add"), adds.take());
  }
  void flushRemoves() {
    if (removes.length() > 0) write(columnOf("remove"), removes.take());
  }

  FileSystem& fileSystem;
  std::string path;
  SchemaPtr schema;
  std::shared_ptr<arrow::Schema> arrowSchema;
  // Until close: the store has no stream that publishes a whole file at once, and a torn checkpoint under its
  // final name stops other engines.
  std::shared_ptr<arrow::io::BufferOutputStream> whole;
  ParquetFileWriter writer;
  AddRows adds;
  RemoveRows removes;
  std::map<int, std::shared_ptr<arrow::Array>> nullColumns;
  int64_t numRows = 0;
};

CheckpointFile::CheckpointFile(FileSystem& fileSystem, std::string path, const CheckpointColumns& columns,
                               CheckpointContent content, Publication publication, int64_t expectedRows)
    : implementation_(std::make_unique<Implementation>(fileSystem, std::move(path), columns, content,
                                                       publication, expectedRows)) {}

CheckpointFile::~CheckpointFile() = default;

int64_t CheckpointFile::numRows() const {
  return implementation_->numRows;
}

void CheckpointFile::write(const FileFields& file) {
  ++implementation_->numRows;
  if (file.isAdd) {
    implementation_->adds.append(file);
    if (implementation_->adds.length() >= kBatchRows) implementation_->flushAdds();
  } else {
    implementation_->removes.append(file);
    if (implementation_->removes.length() >= kBatchRows) implementation_->flushRemoves();
  }
}

void CheckpointFile::write(const Action& action) {
  if (const auto* transaction = std::get_if<SetTransaction>(&action)) {
    implementation_->writeOne("txn", [&](StructWriter row) {
      row.text(std::string_view(transaction->appId));
      row.number(transaction->version);
      row.number(transaction->lastUpdated);
    });
  } else if (const auto* metadata = std::get_if<Metadata>(&action)) {
    implementation_->writeOne("metaData", [&](StructWriter row) {
      row.text(std::string_view(metadata->id));
      row.text(metadata->name);
      row.text(metadata->description);
      StructWriter format = row.structure();
      format.text(std::string_view("parquet"));
      format.textMap(std::map<std::string, std::string>());
      row.text(std::string_view(metadata->schemaString));
      row.textList(metadata->partitionColumns);
      row.textMap(metadata->configuration);
      row.number(metadata->createdTime);
    });
  } else if (const auto* protocol = std::get_if<Protocol>(&action)) {
    implementation_->writeOne("protocol", [&](StructWriter row) {
      row.integer(protocol->minReaderVersion);
      row.integer(protocol->minWriterVersion);
      row.textList(protocol->readerFeatures);
      row.textList(protocol->writerFeatures);
    });
  } else if (const auto* domain = std::get_if<DomainMetadata>(&action)) {
    implementation_->writeOne("domainMetadata", [&](StructWriter row) {
      row.text(std::string_view(domain->domain));
      row.text(std::string_view(domain->configuration));
      row.flag(domain->removed);
    });
  } else {
    throw internalError("an action that checkpoints do not have");
  }
}

void CheckpointFile::write(const CheckpointMetadata& metadata) {
  implementation_->writeOne("checkpointMetadata", [&](StructWriter row) {
    row.number(metadata.version);
    row.textMap(metadata.tags);
  });
}

void CheckpointFile::write(const Sidecar& sidecar) {
  implementation_->writeOne("sidecar", [&](StructWriter row) {
    row.text(std::string_view(sidecar.path));
    row.number(sidecar.sizeInBytes);
    row.number(sidecar.modificationTime);
    row.null();
  });
}

int64_t CheckpointFile::close() {
  implementation_->flushRemoves();
  implementation_->flushAdds();
  const int64_t size = implementation_->writer.close();
  if (implementation_->whole) {
    const auto bytes = valueOrThrow(implementation_->whole->Finish());
    implementation_->fileSystem.writeAtomically(implementation_->path, std::string_view(*bytes));
  }
  return size;
}

}  // namespace thalweg::delta
