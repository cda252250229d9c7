// From one store to what lies elsewhere: a Delta log may name files outside of its table by whole addresses.
#pragma once

#include <string_view>

#include "storage/file_system.h"

namespace thalweg {

// Beside FileSystem, implemented by stores that know by which rules others may be reached from them. Any
// thread.
class AddressAccess {
 public:
  virtual ~AddressAccess() = default;
  // Throws Error PATH_NOT_ALLOWED where the store's policy forbids it, and as FileSystemRegistry::resolve.
  virtual Location resolve(std::string_view address) = 0;
};

}  // namespace thalweg
