// SET and RESET.
#include "commands/rows.h"
#include "commands/statements.h"
#include "common/config_keys.h"
#include "common/secret.h"

namespace thalweg {
namespace {

CommandResult settingRows(const std::vector<std::pair<std::string, std::string>>& settings) {
  const SchemaPtr schema = DataType::structOf({{"key", stringType(), false}, {"value", stringType(), false}});
  RowBuilder rows(schema);
  for (const auto& [key, value] : settings) {
    rows.addText(key);
    rows.addText(value);
  }
  return {schema, {rows.finish()}};
}

}  // namespace

CommandResult run(const sql::SetConf& statement, CommandSession& session) {
  session.setSetting(statement.key, statement.value);
  return settingRows({{statement.key, shownSetting(statement.key, statement.value).value_or("")}});
}

CommandResult run(const sql::GetConf& statement, CommandSession& session) {
  if (statement.key) {
    return settingRows(
        {{*statement.key,
          shownSetting(*statement.key, session.lookUp(*statement.key)).value_or("<undefined>")}});
  }
  std::vector<std::pair<std::string, std::string>> all;
  for (const ConfigKey& key : configKeys())
    all.emplace_back(key.name, session.lookUp(std::string(key.name)).value_or(""));
  return settingRows(all);
}

CommandResult run(const sql::ResetConf& statement, CommandSession& session) {
  session.resetSetting(statement.key);
  return {};
}

}  // namespace thalweg
