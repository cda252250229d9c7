#include "columnar/normalized_floats.h"

#include <cstring>

#include <arrow/api.h>

#include "types/arrow_result.h"

namespace thalweg {
namespace {

using DataPtr = std::shared_ptr<arrow::ArrayData>;

template <typename Float>
DataPtr ofNumbers(const DataPtr& data, arrow::MemoryPool* pool) {
  const auto* values = data->GetValues<Float>(1);
  int64_t first = 0;
  const auto isNormal = [](Float value) {
    const Float kept = normalizedFloat(value);
    return std::memcmp(&kept, &value, sizeof(Float)) == 0;
  };
  while (first < data->length && isNormal(values[first])) ++first;
  if (first == data->length) return data;
  auto buffer = valueOrThrow(arrow::AllocateBuffer((data->offset + data->length) * static_cast<int64_t>(sizeof(Float)), pool));
  auto* kept = reinterpret_cast<Float*>(buffer->mutable_data()) + data->offset;
  for (int64_t i = 0; i < data->length; ++i) kept[i] = normalizedFloat(values[i]);
  DataPtr copy = data->Copy();
  copy->buffers[1] = std::move(buffer);
  return copy;
}

DataPtr ofData(const DataPtr& data, arrow::MemoryPool* pool) {
  if (data->type->id() == arrow::Type::FLOAT) return ofNumbers<float>(data, pool);
  if (data->type->id() == arrow::Type::DOUBLE) return ofNumbers<double>(data, pool);
  DataPtr result = data;
  for (size_t i = 0; i < data->child_data.size(); ++i) {
    DataPtr child = ofData(data->child_data[i], pool);
    if (child == data->child_data[i]) continue;
    if (result == data) result = data->Copy();
    result->child_data[i] = std::move(child);
  }
  return result;
}

bool hasFloats(const DataType& type) {
  switch (type.id()) {
    case TypeId::Float:
    case TypeId::Double:
      return true;
    case TypeId::Array:
      return hasFloats(*type.element());
    case TypeId::Map:
      return hasFloats(*type.key()) || hasFloats(*type.value());
    case TypeId::Struct:
      for (const StructField& field : type.fields()) {
        if (hasFloats(*field.type)) return true;
      }
      return false;
    default:
      return false;
  }
}

}  // namespace

std::shared_ptr<arrow::Array> normalizeFloats(const DataType& type, std::shared_ptr<arrow::Array> array,
                                              arrow::MemoryPool* pool) {
  if (!hasFloats(type)) return array;
  DataPtr data = ofData(array->data(), pool);
  return data == array->data() ? array : arrow::MakeArray(std::move(data));
}

}  // namespace thalweg
