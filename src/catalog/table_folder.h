// How a managed table's folder comes and goes with its name. A folder without a name is never taken for a
// table, and a crash between the two leaves nothing that stands in the way of the name's next use.
#pragma once

#include <string>

#include "catalog/catalog.h"
#include "storage/file_system.h"

namespace thalweg {

// The right to make or remove the table at one place: of all processes that use the catalog's file one at a
// time has it. It is a lock of the system's on a file beside the catalog's (<file>-locks), which a death
// releases. Used by one thread.
class FolderLock {
 public:
  // Waits while another has it. Throws Error CATALOG_FAILURE after a minute, or where the file cannot be
  // used.
  FolderLock(const Catalog& catalog, const std::string& location);
  ~FolderLock();
  FolderLock(const FolderLock&) = delete;
  FolderLock& operator=(const FolderLock&) = delete;

 private:
  int file_ = -1;
};

// Removes what a dead CREATE or DROP left unfinished at a place, so that it is never taken for a table; only
// the note goes where a table's name leads to the place or below it. Nothing where there is no note. The
// place's FolderLock is held.
void finishFolder(Catalog& catalog, const Location& folder);

// A new managed table's folder. Order: claim (the folder is noted as unfinished), files, Catalog::create
// (which drops the note in the same transaction as it adds the name), keep. Whatever an earlier claim or a
// DROP left here unfinished is removed first.
class NewTableFolder {
 public:
  // Throws Error DELTA_CREATE_TABLE_WITH_NON_EMPTY_LOCATION where something else is in the folder, or it is
  // another table's.
  NewTableFolder(Catalog& catalog, const TableName& table, Location folder);
  // Removes the folder unless it was kept, or a name leads to it.
  ~NewTableFolder();
  void keep() { kept_ = true; }

 private:
  Catalog& catalog_;
  Location folder_;
  FolderLock lock_;
  bool kept_ = false;
};

// Removes a dropped managed table's files, unless another name leads to them: Catalog::drop has noted them as
// unfinished. What cannot be removed
// now is removed by the place's next use; said in the log.
void removeDroppedFolder(Catalog& catalog, const Location& folder);

}  // namespace thalweg
