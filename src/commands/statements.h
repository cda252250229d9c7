// One function a kind of statement; each lies in the file of its name.
#pragma once

#include "commands/command_session.h"
#include "sql/statements.h"

namespace thalweg {

// settings.cc
CommandResult run(const sql::SetConf& statement, CommandSession& session);
CommandResult run(const sql::GetConf& statement, CommandSession& session);
CommandResult run(const sql::ResetConf& statement, CommandSession& session);

// create_table.cc, drop_table.cc, alter_table.cc, insert.cc
CommandResult run(const sql::CreateTable& statement, CommandSession& session);
CommandResult run(const sql::DropTable& statement, CommandSession& session);
CommandResult run(const sql::AlterTable& statement, CommandSession& session);
CommandResult run(const sql::InsertInto& statement, CommandSession& session);

// delete.cc, update.cc
CommandResult run(const sql::Delete& statement, CommandSession& session);
CommandResult run(const sql::Update& statement, CommandSession& session);

// truncate.cc, comment.cc
CommandResult run(const sql::Truncate& statement, CommandSession& session);
CommandResult run(const sql::CommentOn& statement, CommandSession& session);

// describe_function.cc
CommandResult run(const sql::DescribeFunction& statement, CommandSession& session);

// views.cc
CommandResult run(const sql::CreateView& statement, CommandSession& session);

// schemas.cc
CommandResult run(const sql::CreateSchema& statement, CommandSession& session);
CommandResult run(const sql::DropSchema& statement, CommandSession& session);
CommandResult run(const sql::UseSchema& statement, CommandSession& session);
CommandResult run(const sql::DescribeSchema& statement, CommandSession& session);

// show.cc
CommandResult run(const sql::ShowTables& statement, CommandSession& session);

// describe_table.cc
CommandResult run(const sql::DescribeTable& statement, CommandSession& session);
CommandResult run(const sql::DescribeQuery& statement, CommandSession& session);

// describe_delta.cc
CommandResult run(const sql::DescribeHistory& statement, CommandSession& session);
CommandResult run(const sql::DescribeDetail& statement, CommandSession& session);

// cache.cc
CommandResult run(const sql::Refresh& statement, CommandSession& session);
CommandResult run(const sql::Cache& statement, CommandSession& session);
CommandResult run(const sql::Uncache& statement, CommandSession& session);

// explain.cc
CommandResult run(const std::shared_ptr<sql::Explain>& statement, CommandSession& session);
CommandResult run(const sql::Optimize& statement, CommandSession& session);
CommandResult run(const sql::Reorg& statement, CommandSession& session);
CommandResult run(const sql::Vacuum& statement, CommandSession& session);
CommandResult run(const sql::Restore& statement, CommandSession& session);

}  // namespace thalweg
