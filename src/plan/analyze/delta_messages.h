// What Delta's client (DeltaTable in Python) asks in messages of its own, as the statements that say the
// same.
#pragma once

#include <optional>

#include "sql/statements.h"

namespace delta::connect {
class DeltaCommand;
class DeltaRelation;
}  // namespace delta::connect

namespace google::protobuf {
class Any;
}

namespace thalweg {

// A statement, and how an error message may call it ("VACUUM").
struct DeltaStatement {
  sql::Statement statement;
  std::string text;
};

// Of a relation whose rows a statement answers: history, detail, restore, delete, update, optimize. Throws
// Error CONNECT_INVALID_PLAN where there is none in it, PARSE_SYNTAX_ERROR for names and conditions that are
// no SQL; unsupported() for merge and convertToDelta. Moves expressions out of the message.
DeltaStatement deltaStatement(::delta::connect::DeltaRelation& relation);

// Of a command. Throws as above; unsupported() for clone and generate.
DeltaStatement deltaStatement(const google::protobuf::Any& command);

// Whether a relation changes its table when its rows are asked for.
bool changesTable(const ::delta::connect::DeltaRelation& relation);

// The table that a scan of a relation reads; nothing for other relations.
std::optional<sql::Name> scannedTable(const ::delta::connect::DeltaRelation& relation);

}  // namespace thalweg
