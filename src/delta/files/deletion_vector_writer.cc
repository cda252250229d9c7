#include "delta/files/deletion_vector_writer.h"

#include <charconv>

#include <arrow/io/interfaces.h>
#include <zlib.h>

#include "common/big_endian.h"
#include "common/error.h"
#include "common/fault_points.h"
#include "common/uuid.h"
#include "delta/files/random_folder.h"
#include "delta/scan/z85.h"
#include "storage/storage_error.h"

namespace thalweg::delta {
namespace {

constexpr char kFormatVersion = 1;

std::string uuidBytes(const std::string& uuid) {
  std::string digits;
  for (const char c : uuid) {
    if (c != '-') digits += c;
  }
  std::string bytes(digits.size() / 2, '\0');
  for (size_t i = 0; i < bytes.size(); ++i) {
    unsigned char byte = 0;
    std::from_chars(digits.data() + 2 * i, digits.data() + 2 * i + 2, byte, 16);
    bytes[i] = static_cast<char>(byte);
  }
  return bytes;
}

DeletionVector descriptorOf(const DeletedRows& rows, const std::string& blob) {
  DeletionVector vector;
  vector.sizeInBytes = static_cast<int32_t>(blob.size());
  vector.cardinality = rows.cardinality();
  return vector;
}

}  // namespace

DeletionVector inlineDeletionVector(const DeletedRows& rows) {
  const std::string blob = rows.serialize();
  DeletionVector vector = descriptorOf(rows, blob);
  vector.storageType = "i";
  vector.pathOrInlineDv = encodeZ85(blob);
  return vector;
}

DeletionVectorWriter::DeletionVectorWriter(Location table, const Metadata& metadata)
    : table_(std::move(table)),
      folder_(randomFolder(randomFolderLength(metadata))),
      uuid_(uuidBytes(randomUuid())) {}

std::string DeletionVectorWriter::path() const {
  return table_.path + "/" + (folder_.empty() ? "" : folder_ + "/") + deletionVectorFileName(uuid_);
}

DeletionVector DeletionVectorWriter::add(const DeletedRows& rows) {
  THALWEG_ASSERT(!written_ && rows.cardinality() > 0);
  const std::string blob = rows.serialize();
  DeletionVector vector = descriptorOf(rows, blob);
  if (file_.empty()) file_ += kFormatVersion;
  vector.storageType = "u";
  vector.pathOrInlineDv = folder_ + encodeZ85(uuid_);
  vector.offset = static_cast<int32_t>(file_.size());
  if (file_.size() + blob.size() + 8 > size_t{INT32_MAX})
    throw unsupported("deletion vectors of more than 2 GB in one commit");
  appendBigEndian(static_cast<uint32_t>(blob.size()), &file_);
  file_ += blob;
  const auto checksum = crc32(0, reinterpret_cast<const Bytef*>(blob.data()), static_cast<uInt>(blob.size()));
  appendBigEndian(static_cast<uint32_t>(checksum), &file_);
  return vector;
}

void DeletionVectorWriter::close() {
  if (file_.empty()) return;
  passFaultPoint(FaultPoint::DeletionVectorBefore);
  const std::string path = this->path();
  const auto output = table_.fileSystem->openOutput(path);
  written_ = true;
  throwIfStorageFailed(output->Write(file_.data(), static_cast<int64_t>(file_.size())), "write", path);
  throwIfStorageFailed(output->Close(), "write", path);
  passFaultPoint(FaultPoint::DeletionVectorAfter);
}

void DeletionVectorWriter::discard() noexcept {
  if (!written_) return;
  try {
    table_.fileSystem->remove(path());
    written_ = false;
  } catch (...) {
    // A file that no commit names is no part of the table, and vacuum takes it.
  }
}

}  // namespace thalweg::delta
