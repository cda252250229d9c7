// The parts of the math family's table.
#pragma once

#include <vector>

#include "functions/registry.h"

namespace thalweg {

std::vector<FunctionRow> elementaryRows();  // doubles: sqrt, exp, sin, …
std::vector<FunctionRow> roundingRows();    // round, bround, ceil, floor, abs, sign, pmod
std::vector<FunctionRow> bitRows();         // & | ^ ~, shifts, bit_count
std::vector<FunctionRow> choiceRows();      // greatest, least, rand

}  // namespace thalweg
