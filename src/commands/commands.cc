#include "commands/commands.h"

#include "commands/statements.h"
#include "common/error.h"

namespace thalweg {

CommandResult runStatement(const sql::Statement& statement, const std::string& text,
                           CommandSession& session) {
  return std::visit(
      [&](const auto& one) -> CommandResult {
        if constexpr (requires { run(one, session); }) {
          return run(one, session);
        } else {
          const size_t first = std::min(text.find_first_not_of(" \t\r\n"), text.size());
          throw unsupported("The SQL statement '" + text.substr(first, 40) +
                            (text.size() > first + 40 ? "…'" : "'"));
        }
      },
      statement);
}

}  // namespace thalweg
