#include "common/error.h"

#include <cstdio>
#include <cstdlib>
#include <new>

#include "common/error_conditions.h"

namespace thalweg {
namespace {

std::string formatMessage(const std::string& condition, const std::string& text, const std::string& sqlState) {
  return "[" + condition + "] " + text + (sqlState.empty() ? "" : " SQLSTATE: " + sqlState);
}

}  // namespace

Error::Error(std::string condition, std::string text, Parameters parameters)
    : Error(findErrorCondition(condition).kind, condition, std::move(text), std::move(parameters)) {}

Error::Error(ErrorKind kind, std::string condition, std::string text, Parameters parameters)
    : kind_(kind),
      condition_(std::move(condition)),
      sqlState_(findErrorCondition(condition_).sqlState),
      text_(std::move(text)),
      parameters_(std::move(parameters)),
      message_(formatMessage(condition_, text_, sqlState_)) {}

Error&& Error::withCause(const Error& cause) && {
  cause_ = std::make_shared<const Error>(cause);
  return std::move(*this);
}

Error&& Error::withQueryContext(QueryContext context) && {
  queryContext_ = std::move(context);
  return std::move(*this);
}

Error unsupported(const std::string& feature) {
  return Error("UNSUPPORTED_FEATURE.THALWEG", feature + " is not supported by Thalweg yet.", {{"feature", feature}});
}

Error internalError(const std::string& text) { return Error("INTERNAL_ERROR", text, {{"message", text}}); }

Error currentExceptionAsError() {
  try {
    throw;
  } catch (const Error& error) {
    return error;
  } catch (const std::bad_alloc&) {
    return Error("OUT_OF_MEMORY", "The server has no memory left for this operation; lower the batch size or raise its limit.");
  } catch (const std::exception& other) {
    return internalError(other.what());
  } catch (...) {
    return internalError("An exception of an unknown type was thrown.");
  }
}

void assertionFailed(const char* condition, const char* file, int line) {
  std::fprintf(stderr, "%s:%d: invariant broken: %s\n", file, line, condition);
  std::abort();
}

}  // namespace thalweg
