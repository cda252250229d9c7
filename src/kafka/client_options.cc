#include "kafka/client_options.h"

#include <algorithm>
#include <charconv>
#include <fstream>
#include <sstream>

#include "common/error.h"
#include "common/logging.h"
#include "kafka/jaas.h"
#include "kafka/key_store.h"
#include "kafka/option_table.h"

namespace thalweg {
namespace {

constexpr std::string_view kPrefix = "kafka.";

[[noreturn]] void refuse(const std::string& text) { throw Error(ErrorKind::IllegalArgument, "INVALID_OPTION", text); }

std::string readLocalFile(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) refuse("The file '" + path + "' that a Kafka option names cannot be read.");
  std::ostringstream contents;
  contents << file.rdbuf();
  return std::move(contents).str();
}

std::vector<std::string_view> commaSeparated(std::string_view text) {
  std::vector<std::string_view> parts;
  while (!text.empty()) {
    const size_t end = std::min(text.find(','), text.size());
    std::string_view part = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    part.remove_prefix(std::min(part.find_first_not_of(" \t\r\n"), part.size()));
    part = part.substr(0, part.find_last_not_of(" \t\r\n") + 1);
    if (!part.empty()) parts.push_back(part);
  }
  return parts;
}

// As Java's client checks an address: perhaps a protocol, a name or an address (perhaps in brackets), a port.
bool isHostAndPort(std::string_view server) {
  if (const size_t protocol = server.find("://"); protocol != std::string_view::npos) server.remove_prefix(protocol + 3);
  const size_t colon = server.rfind(':');
  if (colon == std::string_view::npos) return false;
  const std::string_view digits = server.substr(colon + 1);
  uint16_t port = 0;
  const auto [stop, status] = std::from_chars(digits.data(), digits.data() + digits.size(), port);
  if (status != std::errc() || stop != digits.data() + digits.size() || port == 0) return false;
  std::string_view host = server.substr(0, colon);
  if (host.starts_with('[') && host.ends_with(']')) host = host.substr(1, host.size() - 2);
  return !host.empty() && host.find_first_not_of("0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ-%._:") == std::string_view::npos;
}

// Why Spark manages an option itself, in the words of its manual's reasons.
std::string managedReason(std::string_view name) {
  if (name == "auto.offset.reset") {
    return "Set the source option 'startingOffsets' to earliest or latest instead: it says where a new query starts, and a "
           "restarted one goes on where it stopped.";
  }
  if (name.ends_with("serializer")) return "Keys and values are read and written as bytes; convert them in the query.";
  if (name == "interceptor.classes") return "Interceptors may change what is read.";
  return "The query keeps its offsets in its checkpoint.";
}

class Translation {
 public:
  Translation(const Options& options, KafkaRole role, const KafkaEnvironment& environment)
      : options_(options), role_(role), environment_(environment) {}

  KafkaClientConfig run() {
    registerSecrets();
    setDefaults();
    for (const auto& [key, entry] : options_.entries()) {
      if (key.starts_with(kPrefix)) translate(key.substr(kPrefix.size()), entry.value);
    }
    translateBootstrapServers();
    translateProtocol();
    return std::move(config_);
  }

 private:
  std::optional<std::string> get(std::string_view name) const {
    auto value = options_.get(std::string(kPrefix) + std::string(name));
    if (value && environment_.resolveSecrets && name != "sasl.jaas.config") return environment_.resolveSecrets(*value);
    return value;
  }
  Secret secret(std::string_view name) const { return Secret(get(name).value_or("")); }

  std::string readFile(const std::string& path) const {
    return environment_.readFile ? environment_.readFile(path) : readLocalFile(path);
  }

  // Before anything can fail: whatever an error quotes is masked.
  void registerSecrets() const {
    for (const auto& [key, entry] : options_.entries()) {
      if (isSecretName(key) || key == "kafka.ssl.keystore.key") registerSecret(entry.value);
    }
  }

  void setDefaults() {
    if (role_ == KafkaRole::Producer) return;
    config_.set("isolation.level", "read_uncommitted");
    config_.set("check.crcs", "true");
  }

  void translate(const std::string& name, const std::string& value) {
    const KafkaOptionRow* row = findKafkaOption(name);
    if (!row) {
      refuse("Kafka's client has no option 'kafka." + name +
             "'; options of the source itself are written without 'kafka.', those of the client under their Java names.");
    }
    switch (row->use) {
      case KafkaOptionUse::Managed: refuse("Kafka option '" + name + "' is not supported. " + managedReason(name));
      case KafkaOptionUse::LoadsCode:
        if (!value.empty()) refuse("Kafka option '" + name + "' names code to load, which this client never does.");
        break;
      case KafkaOptionUse::Missing:
        if (!value.empty()) throw unsupported("Kafka option '" + name + "'");
        break;
      case KafkaOptionUse::Accept: break;
      case KafkaOptionUse::Pass:
        if (servesRole(row->role)) pass(*row, value);
        break;
      case KafkaOptionUse::Special:
        if (servesRole(row->role)) translateSpecial(name, value);
        break;
    }
  }

  bool servesRole(KafkaOptionRole role) const {
    return role == KafkaOptionRole::Both || (role == KafkaOptionRole::Consumer) == (role_ == KafkaRole::Consumer);
  }

  void pass(const KafkaOptionRow& row, const std::string& value) {
    config_.set(std::string(row.target.empty() ? row.name : row.target),
                environment_.resolveSecrets ? environment_.resolveSecrets(value) : value);
  }

  static int64_t number(const std::string& name, const std::string& value) {
    int64_t parsed = 0;
    const char* end = value.data() + value.size();
    const auto [stop, status] = std::from_chars(value.data(), end, parsed);
    if (status != std::errc() || stop != end) refuse("The option 'kafka." + name + "' takes a whole number, not '" + value + "'.");
    return parsed;
  }

  void translateSpecial(const std::string& name, const std::string& value) {
    if (name == "send.buffer.bytes" || name == "receive.buffer.bytes") {
      // −1 is Java's word for the system's own size, 0 librdkafka's.
      config_.set("socket." + name, std::to_string(std::max<int64_t>(number(name, value), 0)));
    } else if (name == "buffer.memory") {
      config_.set("queue.buffering.max.kbytes", std::to_string(std::max<int64_t>(number(name, value) >> 10, 1)));
    } else if (name == "isolation.level") {
      translateIsolation(value);
    } else if (name == "group.id" && role_ == KafkaRole::Consumer) {
      config_.set("group.id", value);
    }
  }

  void translateIsolation(const std::string& value) {
    if (role_ == KafkaRole::Producer) return;
    const std::string level = toLowerAscii(value);
    if (level != "read_committed" && level != "read_uncommitted") {
      refuse("The option 'kafka.isolation.level' takes read_committed or read_uncommitted, not '" + value + "'.");
    }
    config_.set("isolation.level", level);
  }

  void translateBootstrapServers() {
    const auto servers = get("bootstrap.servers");
    if (!servers || servers->find_first_not_of(" \t,") == std::string::npos) {
      refuse("Option 'kafka.bootstrap.servers' must be specified for configuring the Kafka client: host:port, several with commas.");
    }
    for (const std::string_view server : commaSeparated(*servers)) {
      if (!isHostAndPort(server)) {
        refuse("The option 'kafka.bootstrap.servers' takes host:port, several with commas, not '" + std::string(server) + "'.");
      }
    }
    config_.bootstrapServers = *servers;
    config_.set("bootstrap.servers", *servers);
  }

  void translateProtocol() {
    std::string protocol = toLowerAscii(get("security.protocol").value_or("PLAINTEXT"));
    static constexpr std::string_view kProtocols[] = {"plaintext", "ssl", "sasl_plaintext", "sasl_ssl"};
    if (std::find(std::begin(kProtocols), std::end(kProtocols), protocol) == std::end(kProtocols)) {
      refuse("The option 'kafka.security.protocol' takes PLAINTEXT, SSL, SASL_PLAINTEXT or SASL_SSL, not '" + protocol + "'.");
    }
    config_.set("security.protocol", protocol);
    if (protocol.starts_with("sasl")) translateSasl(protocol);
    if (protocol.ends_with("ssl")) translateTls();
  }

  void translateSasl(const std::string& protocol) {
    const std::string mechanism = get("sasl.mechanism").value_or("GSSAPI");
    if (mechanism != "PLAIN" && mechanism != "SCRAM-SHA-256" && mechanism != "SCRAM-SHA-512") {
      throw unsupported("Kafka's SASL mechanism '" + mechanism +
                        "' (option 'kafka.sasl.mechanism', GSSAPI unless set; PLAIN, SCRAM-SHA-256 and SCRAM-SHA-512 are)");
    }
    const auto jaas = get("sasl.jaas.config");
    if (!jaas) refuse("SASL needs the option 'kafka.sasl.jaas.config' with the login module, user name and password.");
    const JaasEntry entry = parseJaas(*jaas);
    const JaasMechanism module = mechanismOfLoginModule(entry.loginModule);
    if (module != (mechanism == "PLAIN" ? JaasMechanism::Plain : JaasMechanism::Scram)) {
      refuse("The login module of 'kafka.sasl.jaas.config' does not serve the mechanism " + mechanism + ".");
    }
    config_.set("sasl.mechanism", mechanism);
    setCredential(entry, "username", "sasl.username");
    setCredential(entry, "password", "sasl.password");
    if (protocol == "sasl_plaintext") logWarn("Kafka credentials are sent without TLS (kafka.security.protocol is SASL_PLAINTEXT)");
  }

  void setCredential(const JaasEntry& entry, const std::string& name, const std::string& target) {
    const auto found = entry.options.find(name);
    if (found == entry.options.end()) refuse("The option 'kafka.sasl.jaas.config' has no " + name + ".");
    const std::string value = environment_.resolveSecrets ? environment_.resolveSecrets(found->second) : found->second;
    if (name == "username") {
      config_.set(target, value);
      return;
    }
    registerParts(value);
    config_.secrets[target] = Secret(value);
  }

  // An Event Hubs connection string leaks as well by its key alone.
  static void registerParts(const std::string& value) {
    constexpr std::string_view kKey = "SharedAccessKey=";
    const size_t at = value.find(kKey);
    if (at == std::string::npos) return;
    registerSecret(std::string_view(value).substr(at + kKey.size(), value.find(';', at) - at - kKey.size()));
  }

  void translateTls() {
    const std::string algorithm = toLowerAscii(get("ssl.endpoint.identification.algorithm").value_or("https"));
    if (algorithm != "https" && !algorithm.empty()) {
      refuse("The option 'kafka.ssl.endpoint.identification.algorithm' takes https or an empty text.");
    }
    if (algorithm.empty()) logWarn("the host names of Kafka brokers' certificates are not checked (empty ssl.endpoint.identification.algorithm)");
    config_.set("ssl.endpoint.identification.algorithm", algorithm.empty() ? "none" : "https");
    translateTrustStore();
    translateKeyStore();
  }

  void translateTrustStore() {
    const std::string type = get("ssl.truststore.type").value_or("");
    if (const auto inlined = get("ssl.truststore.certificates")) {
      config_.set("ssl.ca.pem", readTrustStore(*inlined, "PEM", Secret(), "kafka.ssl.truststore.certificates").certificates);
    } else if (const auto location = get("ssl.truststore.location")) {
      config_.set("ssl.ca.pem", readTrustStore(readFile(*location), type, secret("ssl.truststore.password"),
                                               "kafka.ssl.truststore.location").certificates);
    }
  }

  void translateKeyStore() {
    PemStore store;
    const auto key = get("ssl.keystore.key");
    const auto chain = get("ssl.keystore.certificate.chain");
    if (key.has_value() != chain.has_value()) {
      refuse("The options 'kafka.ssl.keystore.key' and 'kafka.ssl.keystore.certificate.chain' go together.");
    }
    if (key) {
      store = readKeyStore(*key + "\n" + *chain, "PEM", secret("ssl.key.password"), "kafka.ssl.keystore.key");
    } else if (const auto location = get("ssl.keystore.location")) {
      const std::string bytes = readFile(*location);
      const bool pem = bytes.find("-----BEGIN ") != std::string::npos;
      store = readKeyStore(bytes, get("ssl.keystore.type").value_or(""),
                           secret(pem ? "ssl.key.password" : "ssl.keystore.password"), "kafka.ssl.keystore.location");
    } else {
      return;
    }
    config_.set("ssl.certificate.pem", store.certificates);
    config_.secrets["ssl.key.pem"] = store.privateKey;
  }

  const Options& options_;
  const KafkaRole role_;
  const KafkaEnvironment& environment_;
  KafkaClientConfig config_;
};

}  // namespace

KafkaClientConfig translateKafkaOptions(const Options& options, KafkaRole role, const KafkaEnvironment& environment) {
  return Translation(options, role, environment).run();
}

}  // namespace thalweg
