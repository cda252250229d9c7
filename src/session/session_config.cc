// Settings of a session: Spark's configuration calls.
#include <spark/connect/base.pb.h>

#include "common/config_keys.h"
#include "common/options.h"
#include "common/secret.h"
#include "session/session.h"
#include "streaming/watermark/watermark_tracker.h"
#include "types/time_zone.h"

namespace thalweg {
namespace {

namespace proto = spark::connect;

// Settings that are fixed once a server runs.
bool isStatic(const std::string& key) {
  return key.starts_with("spark.driver.") || key.starts_with("spark.executor.") || key == "spark.master" ||
         key == "spark.sql.warehouse.dir" || key == "spark.sql.extensions" || key.starts_with("spark.sql.catalog.spark_catalog");
}

// What a setting's default says of its type holds for every value of it.
void checkSettingValue(const std::string& key, const std::string& value) {
  if (key == "spark.sql.session.timeZone") TimeZone::parse(value);
  if (key == "spark.sql.streaming.multipleWatermarkPolicy") parseWatermarkPolicy(value);
  const auto standard = configDefault(key);
  if (!standard) return;
  const bool isFlag = *standard == "true" || *standard == "false";
  const bool isNumber = !standard->empty() && standard->find_first_not_of("0123456789") == std::string::npos;
  const bool fits = isFlag     ? equalsIgnoreCase(value, "true") || equalsIgnoreCase(value, "false")
                    : isNumber ? parseDurationMs(value).has_value()
                               : true;
  if (fits) return;
  throw Error("INVALID_CONF_VALUE.TYPE_MISMATCH",
              "The setting " + key + " takes " + (isFlag ? "true or false" : "a number that is not negative") + ", not '" + value + "'.",
              {{"confName", key}, {"confValue", value}, {"confType", isFlag ? "boolean" : "number"}});
}

void setPair(proto::ConfigResponse* response, const std::string& key, const std::optional<std::string>& value) {
  auto* pair = response->add_pairs();
  pair->set_key(key);
  if (value) pair->set_value(*value);
}

}  // namespace

std::optional<std::string> Session::lookUp(const std::string& key) const {
  std::lock_guard lock(mutex_);
  if (auto it = settings_.find(key); it != settings_.end()) return it->second;
  for (const auto& [name, value] : server_->options.configuration) {
    if (name == key) return value;
  }
  if (key == "spark.sql.session.timeZone") return "UTC";
  if (key == "spark.sql.warehouse.dir") return server_->catalog.places().warehouse;
  return configDefault(key);
}

std::string Session::setting(const std::string& key) const { return lookUp(key).value_or(""); }

void Session::setSetting(const std::string& key, const std::string& value) {
  if (isStatic(key)) {
    throw Error("CANNOT_MODIFY_CONFIG", "The setting " + key + " is fixed when the server starts.", {{"key", "\"" + key + "\""}, {"docroot", ""}});
  }
  checkSettingValue(key, value);
  if (isSecretName(key)) registerSecret(value);
  std::lock_guard lock(mutex_);
  settings_[key] = value;
}

std::string Session::configValue(std::string_view key) { return setting(std::string(key)); }

void Session::config(const proto::ConfigRequest& request, proto::ConfigResponse* response) {
  const auto& operation = request.operation();
  switch (operation.op_type_case()) {
    case proto::ConfigRequest::Operation::kSet:
      for (const auto& pair : operation.set().pairs()) {
        try {
          setSetting(pair.key(), pair.value());
        } catch (const Error& error) {
          if (!operation.set().silent()) throw;
          response->add_warnings(error.text());
        }
      }
      return;
    case proto::ConfigRequest::Operation::kGet:
      for (const std::string& key : operation.get().keys()) {
        const auto value = lookUp(key);
        if (!value) {
          throw Error("SQL_CONF_NOT_FOUND", "The setting \"" + key + "\" has no value and no default.", {{"sqlConf", "\"" + key + "\""}});
        }
        setPair(response, key, shownSetting(key, value));
      }
      return;
    case proto::ConfigRequest::Operation::kGetWithDefault:
      for (const auto& pair : operation.get_with_default().pairs()) {
        const auto value = lookUp(pair.key());
        setPair(response, pair.key(), value ? shownSetting(pair.key(), value) : pair.has_value() ? std::optional(pair.value()) : std::nullopt);
      }
      return;
    case proto::ConfigRequest::Operation::kGetOption:
      for (const std::string& key : operation.get_option().keys()) setPair(response, key, shownSetting(key, lookUp(key)));
      return;
    case proto::ConfigRequest::Operation::kGetAll: {
      const std::string prefix = operation.get_all().has_prefix() ? operation.get_all().prefix() : "";
      std::map<std::string, std::string> all;
      for (const auto& [key, value] : server_->options.configuration) all[key] = value;
      {
        std::lock_guard lock(mutex_);
        for (const auto& [key, value] : settings_) all[key] = value;
      }
      for (const auto& [key, value] : all) {
        if (key.starts_with(prefix)) setPair(response, key.substr(prefix.size()), *shownSetting(key, value));
      }
      return;
    }
    case proto::ConfigRequest::Operation::kUnset: {
      std::lock_guard lock(mutex_);
      for (const std::string& key : operation.unset().keys()) settings_.erase(key);
      return;
    }
    case proto::ConfigRequest::Operation::kIsModifiable:
      for (const std::string& key : operation.is_modifiable().keys()) {
        setPair(response, key, !isStatic(key) && configDefault(key) ? "true" : "false");
      }
      return;
    default: throw Error("CONNECT_INVALID_PLAN.CONFIG", "The configuration request has no operation.");
  }
}

}  // namespace thalweg
