// CHAR(n) columns as Spark reads them: padded with spaces to n characters, whatever the files hold, and
// compared with shorter texts as if these were padded too. types/char_varchar.h says how a column declares
// it.
#pragma once

#include <string_view>
#include <vector>

#include "plan/logical/node.h"

namespace thalweg {

// The scan with its CHAR values padded, nested ones too; the scan itself where it has none. The result's
// columns have new ids where they are padded.
LogicalPtr withPaddedChars(const LogicalPtr& scan);

// The expression over columns whose CHAR values are padded first: of statements that read a table's files
// without a scan. It prints as before.
ExpressionPtr overPaddedChars(const ExpressionPtr& expression);

// The arguments of a comparison (=, <=>, <, …, IN) as Spark pads them: a text beside a CHAR column to the
// column's length, or the column to the text's, two CHAR columns to the longer one's, whether scans have padded them or not. Other calls and columns
// are left as they are.
void padComparison(std::string_view function, std::vector<ExpressionPtr>* arguments);

}  // namespace thalweg
