// The format "json" of the file source.
#pragma once

#include "sources/files/record_format.h"

namespace thalweg {

FileFormatDefinition jsonFileFormat();

}  // namespace thalweg
