// Which store: one partition of one store of one stateful operator, and where its files lie.
#pragma once

#include <cstdint>
#include <string>

namespace thalweg {

// The name of an operator's only store; stream-stream joins have several, named "left-keyToNumValues" and so
// on.
inline constexpr const char* kDefaultStateStore = "default";

struct StateStoreId {
  std::string stateFolder;  // "<checkpoint>/state", a path of the file system that is given beside it
  int64_t operatorId = 0;   // counted from the sink towards the sources
  int32_t partitionId = 0;
  std::string storeName = kDefaultStateStore;

  // <checkpoint>/state/<operator>/<partition>, and below it the store's name unless it is the default one.
  std::string folder() const {
    std::string path = stateFolder + "/" + std::to_string(operatorId) + "/" + std::to_string(partitionId);
    if (storeName != kDefaultStateStore) path += "/" + storeName;
    return path;
  }
};

}  // namespace thalweg
