#include "common/error_conditions.h"

#include <iterator>
#include <unordered_map>

namespace thalweg {
namespace {

using enum ErrorKind;

// Names and SQLSTATEs are Spark's and Delta's; sorted by name.
constexpr ErrorCondition kConditions[] = {
    {"ALL_PARTITION_COLUMNS_NOT_ALLOWED", "KD005", Analysis},
    {"AMBIGUOUS_COLUMN_REFERENCE", "42702", Analysis},
    {"AMBIGUOUS_LATERAL_COLUMN_ALIAS", "42702", Analysis},
    {"AMBIGUOUS_REFERENCE", "42704", Analysis},
    {"ARITHMETIC_OVERFLOW", "22003", Arithmetic},
    {"BINARY_ARITHMETIC_OVERFLOW", "22003", Arithmetic},
    {"CALL_ON_STREAMING_DATASET_UNSUPPORTED", "42KDE", Analysis},
    {"CANNOT_LOAD_STATE_STORE", "58030", Spark},
    {"CANNOT_MODIFY_CONFIG", "46110", Analysis},
    {"CANNOT_PARSE_INTERVAL", "22006", IllegalArgument},
    {"CANNOT_PARSE_TIMESTAMP", "22007", DateTime},
    {"CANNOT_RESOLVE_DATAFRAME_COLUMN", "42704", Analysis},
    {"CANNOT_RESOLVE_STAR_EXPAND", "42704", Analysis},
    {"CAST_INVALID_INPUT", "22018", NumberFormat},
    {"CAST_OVERFLOW", "22003", Arithmetic},
    {"COLLECTION_SIZE_LIMIT_EXCEEDED", "54000", IllegalArgument},
    {"COLUMN_ALREADY_EXISTS", "42711", Analysis},
    {"COLUMN_NOT_FOUND", "42703", Analysis},
    {"COLUMN_NUMBER_MISMATCH", "42802", IllegalArgument},
    {"CONCURRENT_QUERY", "XXKST", Spark},
    {"CONCURRENT_STREAM_LOG_UPDATE", "40000", Spark},
    {"CONFLICTING_DIRECTORY_STRUCTURES", "KD009", Spark},
    {"CONFLICTING_PARTITION_COLUMN_NAMES", "KD009", Spark},
    {"CONNECT_INVALID_PLAN", "56K00", InvalidPlanInput},
    {"DATATYPE_MISMATCH", "42K09", Analysis},
    {"DATA_SOURCE_NOT_FOUND", "42K02", Analysis},
    {"DATETIME_FIELD_OUT_OF_BOUNDS", "22023", DateTime},
    {"DATETIME_OVERFLOW", "22008", Arithmetic},
    {"DECIMAL_PRECISION_EXCEEDS_MAX_PRECISION", "22003", Arithmetic},
    {"DELTA_CANNOT_MODIFY_APPEND_ONLY", "42809", Unsupported},
    {"DELTA_CONCURRENT_APPEND", "2D521", ConcurrentModification},
    {"DELTA_CONCURRENT_DELETE_DELETE", "2D521", ConcurrentModification},
    {"DELTA_CONCURRENT_DELETE_READ", "2D521", ConcurrentModification},
    {"DELTA_CONCURRENT_TRANSACTION", "2D521", ConcurrentModification},
    {"DELTA_DELETION_VECTOR_CARDINALITY_MISMATCH", "XXKDS", Spark},
    {"DELTA_DELETION_VECTOR_CHECKSUM_MISMATCH", "XXKDS", Spark},
    {"DELTA_DELETION_VECTOR_INVALID", "XXKDS", Spark},
    {"DELTA_DELETION_VECTOR_SIZE_MISMATCH", "XXKDS", Spark},
    {"DELTA_DUPLICATE_ACTIONS_FOUND", "2D521", Spark},
    {"DELTA_DUPLICATE_COLUMNS_FOUND", "42711", Analysis},
    {"DELTA_FAILED_TO_MERGE_FIELDS", "22005", Analysis},
    {"DELTA_INVALID_CHARACTERS_IN_COLUMN_NAMES", "42K05", Analysis},
    {"DELTA_INVALID_PROTOCOL_VERSION", "KD004", Unsupported},
    {"DELTA_MAX_COMMIT_RETRIES_EXCEEDED", "40000", Spark},
    {"DELTA_METADATA_CHANGED", "2D521", ConcurrentModification},
    {"DELTA_METADATA_MISMATCH", "42KDG", Analysis},
    {"DELTA_NOT_NULL_CONSTRAINT_VIOLATED", "23502", Spark},
    {"DELTA_NO_RECREATABLE_HISTORY_FOUND", "KD009", Analysis},
    {"DELTA_NULL_SCHEMA_IN_STREAMING_WRITE", "42P18", Analysis},
    {"DELTA_PATH_DOES_NOT_EXIST", "42K03", Analysis},
    {"DELTA_PATH_EXISTS", "42K04", Analysis},
    {"DELTA_PROTOCOL_CHANGED", "2D521", ConcurrentModification},
    {"DELTA_SCHEMA_CHANGE_SINCE_ANALYSIS", "KD007", Analysis},
    {"DELTA_STATE_RECOVER_ERROR", "XXKDS", Spark},
    {"DELTA_TABLE_NOT_FOUND", "42P01", Analysis},
    {"DELTA_TIMESTAMP_EARLIER_THAN_COMMIT_RETENTION", "42816", Analysis},
    {"DELTA_TIMESTAMP_GREATER_THAN_COMMIT", "42816", Analysis},
    {"DELTA_TRUNCATED_TRANSACTION_LOG", "42K03", Spark},
    {"DELTA_UNSUPPORTED_FEATURES_FOR_READ", "56038", Unsupported},
    {"DELTA_UNSUPPORTED_FEATURES_FOR_WRITE", "56038", Unsupported},
    {"DELTA_VERSIONS_NOT_CONTIGUOUS", "KD00C", Spark},
    {"DELTA_VERSION_NOT_FOUND", "22003", Analysis},
    {"DIVIDE_BY_ZERO", "22012", Arithmetic},
    {"DUPLICATED_MAP_KEY", "23505", SparkRuntime},
    {"EVENT_TIME_IS_NOT_ON_TIMESTAMP_TYPE", "42K09", Analysis},
    {"EVENT_TIME_MUST_BE_TOP_LEVEL_COLUMN", "42K09", Analysis},
    {"FAILED_READ_FILE", "KD001", Spark},
    {"FAULT_INJECTED", "XX000", Spark},
    {"FIELD_NOT_FOUND", "42704", Analysis},
    {"GROUP_BY_AGGREGATE", "42903", Analysis},
    {"GROUP_BY_POS_AGGREGATE", "42903", Analysis},
    {"GROUP_BY_POS_OUT_OF_RANGE", "42805", Analysis},
    {"IDENTIFIER_TOO_MANY_NAME_PARTS", "42601", Parse},
    {"ILLEGAL_DAY_OF_WEEK", "22009", IllegalArgument},
    {"INCOMPATIBLE_COLUMN_TYPE", "42825", Analysis},
    {"INCONSISTENT_BEHAVIOR_CROSS_VERSION", "42K0B", IllegalArgument},
    {"INTERNAL_ERROR", "XX000", Spark},
    {"INTERVAL_ARITHMETIC_OVERFLOW", "22015", Arithmetic},
    {"INVALID_ARRAY_INDEX", "22003", ArrayIndexOutOfBounds},
    {"INVALID_ARRAY_INDEX_IN_ELEMENT_AT", "22003", ArrayIndexOutOfBounds},
    {"INVALID_CONF_VALUE", "22022", IllegalArgument},
    {"INVALID_CORRUPT_RECORD_TYPE", "42804", Analysis},
    {"INVALID_CURSOR", "HY109", Spark},
    {"INVALID_ESCAPE_CHAR", "42604", Parse},
    {"INVALID_EXTRACT_BASE_FIELD_TYPE", "42000", Analysis},
    {"INVALID_EXTRACT_FIELD", "42601", Analysis},
    {"INVALID_FORMAT", "42601", Analysis},
    {"INVALID_HANDLE", "HY000", Spark},
    {"INVALID_INDEX_OF_ZERO", "22003", SparkRuntime},
    {"INVALID_INLINE_TABLE", "42000", Analysis},
    {"INVALID_INTERVAL_FORMAT", "22006", IllegalArgument},
    {"INVALID_LIMIT_LIKE_EXPRESSION", "42K0E", Analysis},
    {"INVALID_NON_DETERMINISTIC_EXPRESSIONS", "42K0E", Analysis},
    {"INVALID_NUMERIC_LITERAL_RANGE", "22003", Parse},
    {"INVALID_OPTION", "22023", IllegalArgument},
    {"INVALID_OPTIONS", "42K06", Analysis},
    {"INVALID_PARAMETER_VALUE", "22023", SparkRuntime},
    {"INVALID_PARTITION_VALUE", "42846", SparkRuntime},
    {"INVALID_RANGE_STEP", "22023", IllegalArgument},
    {"INVALID_REGEXP_REPLACE", "22023", SparkRuntime},
    {"INVALID_SCHEMA", "42K07", Analysis},
    {"INVALID_TIMEZONE", "22009", DateTime},
    {"INVALID_TIME_TRAVEL_TIMESTAMP_EXPR", "42K0E", Analysis},
    {"INVALID_TRIGGER_INTERVAL", "22023", IllegalArgument},
    {"INVALID_TYPED_LITERAL", "42604", Parse},
    {"INVALID_USAGE_OF_STAR_OR_REGEX", "42000", Analysis},
    {"INVALID_WATERMARK_DELAY", "22003", IllegalArgument},
    {"INVALID_WHERE_CONDITION", "42903", Analysis},
    {"JOIN_CONDITION_IS_NOT_BOOLEAN_TYPE", "42K0E", Analysis},
    {"KAFKA_CLIENT_FAILURE", "58030", Spark},
    {"KAFKA_DATA_LOSS", "22000", Spark},
    {"MALFORMED_CHARACTER_CODING", "22000", SparkRuntime},
    {"MALFORMED_RECORD_IN_PARSING", "22023", Spark},
    {"MERGE_WITHOUT_WHEN", "42601", Parse},
    {"MISSING_AGGREGATION", "42803", Analysis},
    {"MISSING_WINDOW_SPECIFICATION", "42P20", Parse},
    {"NON_FOLDABLE_ARGUMENT", "42K08", Analysis},
    {"NON_LAST_MATCHED_CLAUSE_OMIT_CONDITION", "42613", Parse},
    {"NON_LAST_NOT_MATCHED_BY_TARGET_CLAUSE_OMIT_CONDITION", "42613", Parse},
    {"NULLABLE_COLUMN_OR_FIELD", "42000", Analysis},
    {"NULL_MAP_KEY", "2200E", SparkRuntime},
    {"NUMERIC_VALUE_OUT_OF_RANGE", "22003", Arithmetic},
    {"NUM_COLUMNS_MISMATCH", "42826", Analysis},
    {"OPERATION_CANCELED", "HY008", Spark},
    {"ORDER_BY_POS_OUT_OF_RANGE", "42805", Analysis},
    {"OUT_OF_MEMORY", "53200", Spark},
    {"PARSE_EMPTY_STATEMENT", "42617", Parse},
    {"PARSE_MODE_UNSUPPORTED", "42601", Analysis},
    {"PARSE_SYNTAX_ERROR", "42601", Parse},
    {"PATH_NOT_ALLOWED", "42501", Analysis},
    {"PATH_NOT_FOUND", "42K03", Analysis},
    {"REGEX_MATCH_LIMIT", "54000", SparkRuntime},
    {"REMAINDER_BY_ZERO", "22012", Arithmetic},
    {"SERVER_LIMIT_EXCEEDED", "54000", Spark},
    {"SQL_CONF_NOT_FOUND", "42K0I", SparkNoSuchElement},
    {"SQL_TEXT_TOO_LONG", "54000", Parse},
    {"STORAGE_FAILURE", "58030", Spark},
    {"STREAMING_CHECKPOINT_BEHIND_SINK", "XXKST", Spark},
    {"STREAMING_CHECKPOINT_LOG_CORRUPT", "XXKST", Spark},
    {"STREAMING_CHECKPOINT_MISSING_METADATA_FILE", "42K03", Spark},
    {"STREAMING_CHECKPOINT_SOURCES_CHANGED", "42K03", Spark},
    {"STREAMING_OUTPUT_MODE", "42KDE", Analysis},
    {"STREAM_FAILED", "XXKST", StreamingQuery},
    {"TABLE_OR_VIEW_NOT_FOUND", "42P01", Analysis},
    {"TEMP_TABLE_OR_VIEW_ALREADY_EXISTS", "42P07", Analysis},
    {"TOO_DEEPLY_NESTED", "54001", Parse},
    {"UNBOUND_SQL_PARAMETER", "42P02", Analysis},
    {"UNCLOSED_BRACKETED_COMMENT", "42601", Parse},
    {"UNEQUAL_LENGTHS_OF_MAP_ARRAYS", "22023", SparkRuntime},
    {"UNKNOWN_TOPIC_OR_PARTITION", "42K03", Spark},
    {"UNRESOLVED_COLUMN", "42703", Analysis},
    {"UNRESOLVED_ROUTINE", "42883", Analysis},
    {"UNRESOLVED_USING_COLUMN_FOR_JOIN", "42703", Analysis},
    {"UNSUPPORTED_DATATYPE", "0A000", Parse},
    {"UNSUPPORTED_EXPR_FOR_OPERATOR", "42K0E", Analysis},
    {"UNSUPPORTED_FEATURE", "0A000", Unsupported},
    {"WRITE_STREAM_NOT_ALLOWED", "42601", Analysis},
    {"WRONG_NUM_ARGS", "42605", Analysis},
    {"_LEGACY_ERROR_TEMP_0029", "", Parse},
    {"_LEGACY_ERROR_TEMP_1194", "", Analysis},
    {"_LEGACY_ERROR_TEMP_1298", "", Analysis},
    {"_LEGACY_ERROR_TEMP_2047", "", IllegalArgument},
    {"_LEGACY_ERROR_TEMP_2048", "", IllegalArgument},
    {"_LEGACY_ERROR_TEMP_3102", "", Analysis},
};

const std::unordered_map<std::string_view, const ErrorCondition*>& conditionIndex() {
  static const auto index = [] {
    std::unordered_map<std::string_view, const ErrorCondition*> map;
    for (const ErrorCondition& condition : kConditions) map.emplace(condition.name, &condition);
    return map;
  }();
  return index;
}

const ErrorCondition* lookUp(std::string_view name) {
  const auto& index = conditionIndex();
  if (auto it = index.find(name); it != index.end()) return it->second;
  if (auto it = index.find(name.substr(0, name.find('.'))); it != index.end()) return it->second;
  return nullptr;
}

}  // namespace

const ErrorCondition& findErrorCondition(std::string_view name) {
  const ErrorCondition* found = lookUp(name);
  return found ? *found : *lookUp("INTERNAL_ERROR");
}

bool hasErrorCondition(std::string_view name) { return lookUp(name) != nullptr; }

}  // namespace thalweg
