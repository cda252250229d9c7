// Any log entry of a deletion vector over any file of vectors: rows as many as it says, or an Error. The
// input's first line is the entry ("u", "i" or "p", the text, offset, size, cardinality, parted by blanks),
// the rest the file.
#include <cstdint>
#include <sstream>
#include <string>

#include "common/error.h"
#include "delta/scan/deletion_vector.h"
#include "delta/scan/vector_files.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace thalweg;
  const std::string text(reinterpret_cast<const char*>(data), size);
  const size_t line = text.find('\n');
  std::istringstream entry(text.substr(0, line));
  delta::DeletionVector vector;
  int32_t offset = -1;
  entry >> vector.storageType >> vector.pathOrInlineDv >> offset >> vector.sizeInBytes >> vector.cardinality;
  if (offset != -1) vector.offset = offset;
  const auto files = makeMemoryFileSystem();
  const std::string contents = line == std::string::npos ? "" : text.substr(line + 1);
  try {
    const std::string name =
        vector.storageType == "u" ? delta::relativeVectorPath(vector.pathOrInlineDv) : "p";
    THALWEG_ASSERT(!name.starts_with("../") && name.find('/') == name.rfind('/'));
    files->writeAtomically("/t/" + name, contents);
    const auto rows = delta::readDeletionVector({files, "/t"}, vector, [&](std::string_view) {
      return Location{files, "/t/p"};
    });
    THALWEG_ASSERT(rows->cardinality() == vector.cardinality);
    if (vector.cardinality < 100'000)
      THALWEG_ASSERT(static_cast<int64_t>(rows->rows().size()) == vector.cardinality);
  } catch (const Error&) {
  }
  return 0;
}
