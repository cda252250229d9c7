// What observe() saw, as clients are told of it.
#pragma once

#include <vector>

#include "exec/pipeline/execution.h"
#include "session/service.h"

namespace spark::connect {
class Expression_Literal;
}

namespace thalweg {

// Adds the metrics of an execution whose rows have gone by, each name once: one plan may stand in a query
// twice.
void addObserved(const Execution& execution, std::vector<ObservedMetrics>* observed);

// Sends them. Nothing is sent where nothing was observed.
void sendObservedMetrics(const std::vector<ObservedMetrics>& observed, ResponseSink& sink);

// A value of a column as a literal of its type. Throws Error UNSUPPORTED_FEATURE for types that messages have
// no literal for (variants).
void toProtoLiteral(const DataType& type, const arrow::Array& column, int64_t row,
                    spark::connect::Expression_Literal* literal);

}  // namespace thalweg
