// The catalog as one user sees it, as several processes do, and after some of them died.
#include "catalog/catalog.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <thread>

#include "catalog/sqlite.h"
#include "catalog/table_folder.h"
#include "common/testing/condition_of.h"

namespace thalweg {
namespace {

class CatalogTest : public testing::Test {
 protected:
  void SetUp() override {
    char pattern[] = "/tmp/thalweg-catalog-test-XXXXXX";
    folder_ = ::mkdtemp(pattern);
    places_ = {folder_ + "/wh/_catalog.sqlite", "file:" + folder_ + "/wh"};
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  TableEntry managed(const std::string& table, const std::string& schema = "default") const {
    TableEntry entry;
    entry.name = {"spark_catalog", schema, table};
    entry.provider = "delta";
    entry.location = places_.warehouse + "/" + table;
    return entry;
  }
  Location place(const std::string& name) const {
    return FileSystemRegistry().resolve(folder_ + "/wh/" + name);
  }

  std::string folder_;
  CatalogPlaces places_;
};

TEST_F(CatalogTest, hasTheDefaultSchemaAndNoFileUntilThereIsSomethingToKeep) {
  Catalog catalog(places_);
  EXPECT_EQ(catalog.schemas("spark_catalog").size(), 1u);
  EXPECT_EQ(catalog.requireSchema({"spark_catalog", "default"}).location, places_.warehouse);
  EXPECT_TRUE(catalog.tables({"spark_catalog", "default"}).empty());
  EXPECT_FALSE(catalog.find({"spark_catalog", "default", "t"}));
  EXPECT_EQ(conditionOf([&] { catalog.drop({"spark_catalog", "default", "t"}); }), "TABLE_OR_VIEW_NOT_FOUND");
  EXPECT_FALSE(std::filesystem::exists(places_.file));
  catalog.create(managed("t"));
  EXPECT_TRUE(std::filesystem::exists(places_.file));
}

TEST_F(CatalogTest, keepsWhatItIsGiven) {
  TableEntry view;
  view.name = {"spark_catalog", "default", "v"};
  view.kind = TableKind::View;
  view.comment = "it's \"quoted\"";
  view.properties = {{"k", "v"}};
  view.view = ViewDefinition{
      "SELECT 'x' a", {"spark_catalog", "web"}, {{"spark.sql.ansi.enabled", "true"}}, "{}", "[]"};
  Catalog(places_).create(view);
  const auto found = Catalog(places_).find(view.name);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->kind, TableKind::View);
  EXPECT_EQ(found->comment, view.comment);
  EXPECT_EQ(found->properties, view.properties);
  EXPECT_EQ(found->view->text, "SELECT 'x' a");
  EXPECT_EQ(found->view->scope.schema, "web");
  EXPECT_EQ(found->view->settings.at("spark.sql.ansi.enabled"), "true");
  EXPECT_GT(found->createdMs, 0);
}

TEST_F(CatalogTest, bytesThatAreNoTextDoNotBreakIt) {
  TableEntry entry = managed("t");
  entry.properties = {{"k", "\xff\xfe"}};
  entry.comment = "\xc3";
  Catalog catalog(places_);
  catalog.create(entry);
  EXPECT_TRUE(catalog.find(entry.name));
}

TEST_F(CatalogTest, namesAreGivenOnce) {
  Catalog catalog(places_);
  catalog.create(managed("t"));
  EXPECT_EQ(conditionOf([&] { catalog.create(managed("t")); }), "TABLE_OR_VIEW_ALREADY_EXISTS");
  EXPECT_EQ(conditionOf([&] { catalog.create(managed("t", "nosuch")); }), "SCHEMA_NOT_FOUND");
  catalog.create(managed("u"));
  EXPECT_EQ(conditionOf([&] { catalog.rename(managed("t").name, managed("u").name); }),
            "TABLE_OR_VIEW_ALREADY_EXISTS");
  catalog.rename(managed("t").name, managed("w").name);
  EXPECT_FALSE(catalog.find(managed("t").name));
  EXPECT_EQ(catalog.tables({"spark_catalog", "default"}).size(), 2u);
}

TEST_F(CatalogTest, aSchemaWithTablesIsNotDropped) {
  Catalog catalog(places_);
  const SchemaName web{"spark_catalog", "web"};
  EXPECT_EQ(conditionOf([&] { catalog.dropSchema(web); }), "SCHEMA_NOT_FOUND");
  catalog.createSchema({web, catalog.defaultLocation(web), "pages", {{"a", "b"}}});
  EXPECT_EQ(conditionOf([&] { catalog.createSchema({web, "", {}, {}}); }), "SCHEMA_ALREADY_EXISTS");
  EXPECT_EQ(catalog.requireSchema(web).location, places_.warehouse + "/web.db");
  catalog.create(managed("t", "web"));
  EXPECT_EQ(conditionOf([&] { catalog.dropSchema(web); }), "SCHEMA_NOT_EMPTY");
  catalog.drop(managed("t", "web").name);
  catalog.dropSchema(web);
  EXPECT_FALSE(catalog.findSchema(web));
}

TEST_F(CatalogTest, aFileThatIsNoCatalogIsSaid) {
  std::filesystem::create_directories(folder_ + "/wh");
  std::ofstream(places_.file)
      << "this is a letter, not a database, and long enough to have a header of some length";
  Catalog catalog(places_);
  EXPECT_EQ(conditionOf([&] { catalog.find(managed("t").name); }), "CATALOG_FAILURE");
}

TEST_F(CatalogTest, aFileOfANewerFormIsRefused) {
  Catalog(places_).create(managed("t"));
  SqliteConnection(places_.file).execute("PRAGMA user_version = 2");
  EXPECT_EQ(conditionOf([&] { Catalog(places_).find(managed("t").name); }), "CATALOG_FAILURE");
}

TEST_F(CatalogTest, aNewTableTakesAnEmptyFolderOnly) {
  Catalog catalog(places_);
  std::filesystem::create_directories(folder_ + "/wh/t");
  std::ofstream(folder_ + "/wh/t/letter") << "x";
  EXPECT_EQ(conditionOf([&] { NewTableFolder(catalog, managed("t").name, place("t")); }),
            "DELTA_CREATE_TABLE_WITH_NON_EMPTY_LOCATION");
  EXPECT_TRUE(std::filesystem::exists(folder_ + "/wh/t/letter"));
}

TEST_F(CatalogTest, aTableThatWasNotMadeLeavesNothing) {
  Catalog catalog(places_);
  {
    NewTableFolder folder(catalog, managed("t").name, place("t"));
    place("t").fileSystem->writeAtomically(place("t").path + "/part", "x");
  }
  EXPECT_FALSE(std::filesystem::exists(folder_ + "/wh/t"));
  EXPECT_FALSE(catalog.isUnfinished(place("t").uri()));
}

TEST_F(CatalogTest, whatADeadMakerLeftIsRemovedByTheNext) {
  const pid_t child = ::fork();
  if (child == 0) {
    Catalog catalog(places_);
    NewTableFolder folder(catalog, managed("t").name, place("t"));
    place("t").fileSystem->writeAtomically(place("t").path + "/half", "x");
    ::kill(::getpid(), SIGKILL);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  ASSERT_TRUE(WIFSIGNALED(status));
  Catalog catalog(places_);
  EXPECT_FALSE(catalog.find(managed("t").name));
  ASSERT_TRUE(std::filesystem::exists(folder_ + "/wh/t/half"));
  NewTableFolder folder(catalog, managed("t").name, place("t"));
  EXPECT_FALSE(std::filesystem::exists(folder_ + "/wh/t/half"));
  catalog.create(managed("t"));
  folder.keep();
  EXPECT_FALSE(catalog.isUnfinished(place("t").uri()));
}

TEST_F(CatalogTest, aDropThatDiedBeforeItsFilesWentDoesNotStandInTheWay) {
  Catalog catalog(places_);
  TableEntry entry = managed("t");
  entry.location = place("t").uri();
  catalog.create(entry);
  place("t").fileSystem->writeAtomically(place("t").path + "/part", "x");
  catalog.drop(entry.name);  // and here the process dies
  {
    NewTableFolder folder(catalog, entry.name, place("t"));
    EXPECT_FALSE(std::filesystem::exists(folder_ + "/wh/t/part"));
    catalog.create(entry);
    folder.keep();
  }
  place("t").fileSystem->writeAtomically(place("t").path + "/new", "x");
  // The dead DROP's removal, come late, leaves the new table alone.
  removeDroppedFolder(catalog, place("t"));
  EXPECT_TRUE(std::filesystem::exists(folder_ + "/wh/t/new"));
}

TEST_F(CatalogTest, aFolderThatANameLeadsToIsNeverRemoved) {
  Catalog catalog(places_);
  TableEntry mine = managed("mine");
  mine.kind = TableKind::External;
  for (const std::string below : {"", "/deep"}) {
    mine.location = place("t" + below).uri();
    place("t").fileSystem->writeAtomically(place("t" + below).path + "/part", "x");
    catalog.create(mine);
    catalog.addUnfinished(place("t").uri());  // as an older version of this program left it
    removeDroppedFolder(catalog, place("t"));
    catalog.addUnfinished(place("t").uri());
    EXPECT_EQ(conditionOf([&] { NewTableFolder(catalog, managed("t").name, place("t")); }),
              "DELTA_CREATE_TABLE_WITH_NON_EMPTY_LOCATION");
    EXPECT_TRUE(std::filesystem::exists(place("t" + below).path + "/part")) << below;
    catalog.drop(mine.name);
  }
}

TEST_F(CatalogTest, aNameThatLeadsToAPlaceEndsItsNote) {
  Catalog catalog(places_);
  TableEntry mine = managed("mine");
  mine.kind = TableKind::External;
  mine.location = place("t").uri();
  catalog.addUnfinished(mine.location);
  catalog.create(mine);
  EXPECT_FALSE(catalog.isUnfinished(mine.location));
  EXPECT_FALSE(catalog.isNamed(place("tt").uri()));
  EXPECT_TRUE(catalog.isNamed(place("t").uri()));
}

TEST_F(CatalogTest, whatIsUnfinishedGoesBeforeAnotherNameTakesThePlace) {
  Catalog catalog(places_);
  place("t").fileSystem->writeAtomically(place("t").path + "/half", "x");
  catalog.addUnfinished(place("t").uri());
  finishFolder(catalog, place("t"));
  EXPECT_FALSE(std::filesystem::exists(folder_ + "/wh/t/half"));
  EXPECT_FALSE(catalog.isUnfinished(place("t").uri()));
  place("t").fileSystem->writeAtomically(place("t").path + "/whole", "x");
  finishFolder(catalog, place("t"));
  EXPECT_TRUE(std::filesystem::exists(folder_ + "/wh/t/whole")) << "without a note it is someone's";
}

TEST_F(CatalogTest, onePlaceHasOneMakerAtATime) {
  Catalog catalog(places_);
  std::atomic<bool> second = false;
  auto first = std::make_unique<NewTableFolder>(catalog, managed("t").name, place("t"));
  std::thread other([&] {
    Catalog own(places_);
    EXPECT_EQ(conditionOf([&] { NewTableFolder(own, managed("t").name, place("t")); }),
              "TABLE_OR_VIEW_ALREADY_EXISTS");
    second = true;
  });
  std::this_thread::sleep_for(std::chrono::milliseconds(100));
  EXPECT_FALSE(second);
  TableEntry entry = managed("t");
  entry.location = place("t").uri();
  catalog.create(entry);
  first->keep();
  first.reset();
  other.join();
}

// Makes and drops tables until it is killed.
[[noreturn]] void changeForEver(const CatalogPlaces& places, const std::string& prefix) {
  Catalog catalog(places);
  for (int i = 0;; ++i) {
    TableEntry entry;
    entry.name = {"spark_catalog", "default", prefix + std::to_string(i % 7)};
    entry.provider = "delta";
    entry.location = places.warehouse + "/" + entry.name.table;
    if (catalog.find(entry.name))
      catalog.drop(entry.name);
    else
      catalog.create(entry);
  }
}

TEST_F(CatalogTest, processesThatDieAtAnyMomentLeaveItWhole) {
  for (int round = 0; round < 8; ++round) {
    std::vector<pid_t> children;
    for (const char* prefix : {"a", "b", "c"}) {
      const pid_t child = ::fork();
      if (child == 0) changeForEver(places_, prefix);
      children.push_back(child);
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(20 + 13 * round));
    for (const pid_t child : children) {
      ::kill(child, SIGKILL);
      int status = 0;
      ::waitpid(child, &status, 0);
      ASSERT_TRUE(WIFSIGNALED(status)) << "a process failed on its own";
    }
  }
  SqliteConnection connection(places_.file);
  auto check = connection.prepare("PRAGMA integrity_check");
  ASSERT_TRUE(check.step());
  EXPECT_EQ(check.text(0), "ok");
  Catalog catalog(places_);
  EXPECT_LE(catalog.tables({"spark_catalog", "default"}).size(), 21u);
  catalog.create(managed("after"));
  EXPECT_TRUE(catalog.find(managed("after").name));
}

}  // namespace
}  // namespace thalweg
