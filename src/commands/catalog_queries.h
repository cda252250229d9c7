// What spark.catalog asks for, row for row as Spark's client expects it.
#pragma once

#include <optional>
#include <string>

#include "commands/command_session.h"

namespace thalweg {

// One text, or one truth, in a column `value`; a command's answer is that column without rows.
CommandResult oneText(const std::string& value);
CommandResult oneTruth(bool value);
CommandResult noValue();

CommandResult catalogRows(const std::optional<std::string>& pattern, CommandSession& session);
// name, catalog, description, locationUri: of all schemas that match, or of one.
CommandResult schemaRows(const std::optional<std::string>& pattern, CommandSession& session);
CommandResult schemaRow(const std::string& name, CommandSession& session);
bool schemaExists(const std::string& name, CommandSession& session);

// name, catalog, namespace, description, tableType, isTemporary. Names are texts of up to three parts; a name
// of one part is looked for in `schema` where one is given.
CommandResult tableRows(const std::optional<std::string>& schema, const std::optional<std::string>& pattern,
                        bool viewsOnly, CommandSession& session);
CommandResult tableRow(const std::string& name, const std::optional<std::string>& schema,
                       CommandSession& session);
bool tableExists(const std::string& name, const std::optional<std::string>& schema, CommandSession& session);
// name, description, dataType, nullable, isPartition, isBucket, isCluster.
CommandResult columnRows(const std::string& name, const std::optional<std::string>& schema,
                         CommandSession& session);

// name, catalog, namespace, description, className, isTemporary. Of a function of another name: Error
// UNRESOLVED_ROUTINE.
CommandResult functionRows(const std::optional<std::string>& pattern);
CommandResult functionRow(const std::string& name);
bool functionExists(const std::string& name);
void requireFunction(const std::string& name);  // throws UNRESOLVED_ROUTINE

// key, value.
CommandResult propertyRows(const std::string& name, CommandSession& session);
// "p=a/q=1", one a partition.
CommandResult partitionRows(const std::string& name, CommandSession& session);

}  // namespace thalweg
