// The portable serialisation of 32-bit roaring bitmaps (RoaringFormatSpec), read with every length and order
// checked: the library's own reader trusts what it is given.
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>

struct roaring_bitmap_s;

namespace thalweg::delta {

struct RoaringFree {
  void operator()(roaring_bitmap_s* bitmap) const;
};
using RoaringPointer = std::unique_ptr<roaring_bitmap_s, RoaringFree>;

// Reads one bitmap at the front and takes its bytes off. Null where they are no bitmap or not in order.
RoaringPointer readRoaring(std::string_view& bytes);

}  // namespace thalweg::delta
