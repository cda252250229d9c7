// Tables that are folders of files, and no more: what the formats of files want of statements.
#pragma once

#include "commands/command_session.h"
#include "commands/table_target.h"
#include "common/options.h"
#include "common/setting_lookup.h"
#include "plan/logical/node.h"

namespace thalweg {

// The session's settings for files become options, under their own names: of readers, and of writers, streams
// included.
void takeFileReadSettings(const SettingLookup& setting, Options* options);
void takeFileWriteSettings(const SettingLookup& setting, Options* options);

// Do the rows of a plan come from files in this folder or below?
bool readsFilesBelow(const LogicalNode& rows, const Location& folder);

// Whether rows can be written into a table of files: throws unsupported() where its files lie in partition
// folders, which no entry of the catalog has, and Error UNSUPPORTED_OVERWRITE.TABLE where they are read from
// what they are to replace.
void checkFileTarget(const TableTarget& target, const LogicalNode& rows, bool overwrite,
                     CommandSession& session);

}  // namespace thalweg
