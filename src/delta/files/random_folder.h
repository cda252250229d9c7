// Folders of random names, in which stores that spread objects by the beginning of their names find files
// faster. Spark (Delta 4.4) uses them where delta.randomizeFilePrefixes is true, and in every table with
// column mapping, whose folders could not show the columns' names.
#pragma once

#include <string>

#include "delta/actions/actions.h"

namespace thalweg::delta {

// How many letters and digits such a table's folders have (delta.randomPrefixLength, 2 unless set); 0: it has
// none.
int randomFolderLength(const Metadata& metadata);

// Another one at each call; empty for length 0.
std::string randomFolder(int length);

}  // namespace thalweg::delta
