// What a batch write does with its files: staged, then moved to their places.
#pragma once

#include <memory>

#include "connector/sink.h"
#include "sinks/files/file_task_output.h"

namespace thalweg {

// Of a folder that is ready for it. Files are written below <folder>/_temporary/<write>/ and moved by the
// commit, one rename each: an error between two of them takes those already moved away again, as far as the
// store lets it, before the commit throws; a process that dies between two leaves those already moved, as
// Spark's does. With the last one the write has happened: what follows (the file _SUCCESS, the end of the
// staging folder) is a warning where it fails. `dynamicOverwrite`: what lies in the partitions that rows came
// for is removed before the first move, for good.
std::unique_ptr<BatchWrite> beginFileWrite(std::shared_ptr<const FileLayout> layout, Location folder,
                                           bool dynamicOverwrite);

}  // namespace thalweg
