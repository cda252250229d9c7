// Format: PKWARE's APPNOTE. Read through the central directory, since Java's writer leaves sizes out of the
// local headers.
#include "state/zip_archive.h"

#include <cstring>

#include <zlib.h>

#include "common/error.h"

namespace thalweg {
namespace {

constexpr uint32_t kLocalMark = 0x04034b50, kCentralMark = 0x02014b50, kEndMark = 0x06054b50;
constexpr size_t kLocalBytes = 30, kCentralBytes = 46, kEndBytes = 22;
constexpr uint16_t kVersion = 20, kStored = 0, kDeflated = 8, kUtf8Names = 0x0800, kEncrypted = 0x0001;
constexpr uint16_t kDosDate = 0x0021;  // 1980-01-01: archives of the same contents are the same bytes

[[noreturn]] void throwCorrupt(const char* reason) {
  throw Error("STATE_STORE_CHECKPOINT_CORRUPT", reason);
}

template <typename T>
T at(std::string_view bytes, size_t offset) {
  if (offset > bytes.size() || bytes.size() - offset < sizeof(T)) throwCorrupt("it is no whole ZIP archive");
  T value;
  std::memcpy(&value, bytes.data() + offset, sizeof(T));
  return value;
}

std::string_view slice(std::string_view bytes, size_t offset, size_t size) {
  if (offset > bytes.size() || bytes.size() - offset < size)
    throwCorrupt("an entry lies outside the ZIP archive");
  return bytes.substr(offset, size);
}

size_t findEnd(std::string_view archive) {
  if (archive.size() < kEndBytes) throwCorrupt("it is no whole ZIP archive");
  const size_t lowest = archive.size() > kEndBytes + 0xFFFF ? archive.size() - kEndBytes - 0xFFFF : 0;
  for (size_t place = archive.size() - kEndBytes;; --place) {
    if (at<uint32_t>(archive, place) == kEndMark) return place;
    if (place == lowest) throwCorrupt("it is no whole ZIP archive");
  }
}

std::string inflated(std::string_view compressed, size_t size) {
  std::string out(size, '\0');
  z_stream stream{};
  if (inflateInit2(&stream, -MAX_WBITS) != Z_OK) throw std::bad_alloc();
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(compressed.data()));
  stream.avail_in = static_cast<uInt>(compressed.size());
  // zlib wants a place to write to even where nothing is to be written.
  char nothing;
  stream.next_out = reinterpret_cast<Bytef*>(size > 0 ? out.data() : &nothing);
  stream.avail_out = static_cast<uInt>(size);
  const int status = inflate(&stream, Z_FINISH);
  const bool whole = status == Z_STREAM_END && stream.total_out == size;
  inflateEnd(&stream);
  if (!whole) throwCorrupt("a ZIP entry cannot be decompressed to its size");
  return out;
}

std::string deflated(std::string_view bytes) {
  z_stream stream{};
  if (deflateInit2(&stream, Z_DEFAULT_COMPRESSION, Z_DEFLATED, -MAX_WBITS, 8, Z_DEFAULT_STRATEGY) != Z_OK)
    throw std::bad_alloc();
  std::string out(deflateBound(&stream, static_cast<uLong>(bytes.size())), '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data()));
  stream.avail_in = static_cast<uInt>(bytes.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  const int status = deflate(&stream, Z_FINISH);
  THALWEG_ASSERT(status == Z_STREAM_END);
  out.resize(stream.total_out);
  deflateEnd(&stream);
  return out;
}

uint32_t crcOf(std::string_view bytes) {
  return static_cast<uint32_t>(
      crc32(0, reinterpret_cast<const Bytef*>(bytes.data()), static_cast<uInt>(bytes.size())));
}

template <typename T>
void append(std::string* out, T number) {
  out->append(reinterpret_cast<const char*>(&number), sizeof(T));
}

// The fields that local headers and the central directory share, from the version on.
void appendCommon(std::string* out, uint32_t crc, size_t compressed, size_t size, size_t nameBytes) {
  append(out, kVersion);
  append(out, kUtf8Names);
  append(out, kDeflated);
  append(out, uint16_t{0});
  append(out, kDosDate);
  append(out, crc);
  append(out, static_cast<uint32_t>(compressed));
  append(out, static_cast<uint32_t>(size));
  append(out, static_cast<uint16_t>(nameBytes));
  append(out, uint16_t{0});  // no extra field
}

}  // namespace

ZipEntries readZip(std::string_view archive, size_t maxBytes) {
  const size_t end = findEnd(archive);
  const auto count = at<uint16_t>(archive, end + 10);
  size_t place = at<uint32_t>(archive, end + 16);
  ZipEntries entries;
  for (size_t i = 0; i < count; ++i) {
    if (at<uint32_t>(archive, place) != kCentralMark) throwCorrupt("the ZIP archive's directory is damaged");
    const auto flags = at<uint16_t>(archive, place + 8), method = at<uint16_t>(archive, place + 10);
    const auto crc = at<uint32_t>(archive, place + 16);
    const size_t compressed = at<uint32_t>(archive, place + 20), size = at<uint32_t>(archive, place + 24);
    const size_t nameBytes = at<uint16_t>(archive, place + 28);
    const size_t local = at<uint32_t>(archive, place + 42);
    const std::string name(slice(archive, place + kCentralBytes, nameBytes));
    place +=
        kCentralBytes + nameBytes + at<uint16_t>(archive, place + 30) + at<uint16_t>(archive, place + 32);

    if ((flags & kEncrypted) != 0 || (method != kStored && method != kDeflated))
      throwCorrupt("a ZIP entry has an unknown form");
    if (size > maxBytes) throwCorrupt("the ZIP archive's contents are larger than they may be");
    maxBytes -= size;
    if (at<uint32_t>(archive, local) != kLocalMark) throwCorrupt("a ZIP entry is damaged");
    const size_t data =
        local + kLocalBytes + at<uint16_t>(archive, local + 26) + at<uint16_t>(archive, local + 28);
    const std::string_view bytes = slice(archive, data, compressed);
    if (method == kStored && compressed != size) throwCorrupt("a ZIP entry is damaged");
    std::string contents = method == kStored ? std::string(bytes) : inflated(bytes, size);
    if (crcOf(contents) != crc) throwCorrupt("a ZIP entry's checksum does not match its bytes");
    entries.insert_or_assign(name, std::move(contents));
  }
  return entries;
}

std::string writeZip(const ZipEntries& entries) {
  std::string out, directory;
  for (const auto& [name, contents] : entries) {
    const std::string bytes = deflated(contents);
    const uint32_t crc = crcOf(contents);
    const auto local = static_cast<uint32_t>(out.size());
    append(&out, kLocalMark);
    appendCommon(&out, crc, bytes.size(), contents.size(), name.size());
    out += name;
    out += bytes;
    append(&directory, kCentralMark);
    append(&directory, kVersion);
    appendCommon(&directory, crc, bytes.size(), contents.size(), name.size());
    directory.append(2 + 2 + 2 + 4, '\0');  // comment, disk, attributes
    append(&directory, local);
    directory += name;
  }
  const auto start = static_cast<uint32_t>(out.size());
  out += directory;
  append(&out, kEndMark);
  append(&out, uint32_t{0});  // disks
  append(&out, static_cast<uint16_t>(entries.size()));
  append(&out, static_cast<uint16_t>(entries.size()));
  append(&out, static_cast<uint32_t>(directory.size()));
  append(&out, start);
  append(&out, uint16_t{0});  // no comment
  return out;
}

}  // namespace thalweg
