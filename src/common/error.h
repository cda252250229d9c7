// What ends a statement or a query: an error with Spark's condition, its SQLSTATE and its parameters.
#pragma once

#include <exception>
#include <map>
#include <memory>
#include <optional>
#include <string>

namespace thalweg {

// The family of an error: decides which exception class the Python client raises (connect/ maps it to Java class names).
enum class ErrorKind {
  Analysis,
  Parse,
  StreamingQuery,
  IllegalArgument,
  Arithmetic,
  NumberFormat,
  DateTime,
  ArrayIndexOutOfBounds,
  Unsupported,
  SparkRuntime,
  SparkNoSuchElement,
  InvalidPlanInput,
  ConcurrentModification,
  Spark,
};

// Where in a SQL text an error lies. Offsets count UTF-8 bytes from 0; stop is inclusive.
struct QueryContext {
  std::string fragment;
  int startIndex = -1;
  int stopIndex = -1;
};

// Thrown wherever a statement or a query must end; caught by the gRPC service, a streaming query's thread and the CLI.
// Conditions are Spark's names ("UNRESOLVED_COLUMN.WITH_SUGGESTION"), listed in error_conditions.cc, which gives each
// its SQLSTATE and kind; the text is our own and says what to do. Copyable; what() is message().
class Error : public std::exception {
 public:
  using Parameters = std::map<std::string, std::string>;

  Error(std::string condition, std::string text, Parameters parameters = {});
  // For the few conditions that Spark raises as several classes.
  Error(ErrorKind kind, std::string condition, std::string text, Parameters parameters = {});

  const std::string& condition() const { return condition_; }
  const std::string& sqlState() const { return sqlState_; }
  const Parameters& parameters() const { return parameters_; }
  ErrorKind kind() const { return kind_; }
  // "[CONDITION] text SQLSTATE: xxxxx", the form in which Spark's clients show errors.
  const std::string& message() const { return message_; }
  const std::string& text() const { return text_; }
  const char* what() const noexcept override { return message_.c_str(); }

  const std::shared_ptr<const Error>& cause() const { return cause_; }
  Error&& withCause(const Error& cause) &&;
  const std::optional<QueryContext>& queryContext() const { return queryContext_; }
  Error&& withQueryContext(QueryContext context) &&;

 private:
  ErrorKind kind_;
  std::string condition_;
  std::string sqlState_;
  std::string text_;
  Parameters parameters_;
  std::string message_;
  std::shared_ptr<const Error> cause_;
  std::optional<QueryContext> queryContext_;
};

// A feature that is not built yet: condition UNSUPPORTED_FEATURE.THALWEG, its text naming `feature`.
Error unsupported(const std::string& feature);

// A broken invariant of our own: INTERNAL_ERROR, XX000. Never for input.
Error internalError(const std::string& text);

// Any exception as an Error: an Error unchanged, std::bad_alloc and others as internal errors.
// Call inside a catch block only.
Error currentExceptionAsError();

// Assertion that stays on in release builds: aborts with the place. For broken invariants, never for input.
#define THALWEG_ASSERT(condition) \
  ((condition) ? static_cast<void>(0) : ::thalweg::assertionFailed(#condition, __FILE__, __LINE__))
[[noreturn]] void assertionFailed(const char* condition, const char* file, int line);

}  // namespace thalweg
