#include "kafka/client_options.h"

#include <filesystem>
#include <fstream>

#include <gtest/gtest.h>
#include <openssl/evp.h>
#include <openssl/pkcs12.h>
#include <openssl/x509.h>

#include "common/error.h"
#include "common/secret.h"
#include "kafka/option_table.h"

namespace thalweg {
namespace {

const std::string kPassword = "Endpoint=sb://n/;SharedAccessKeyName=R;SharedAccessKey=c2VjcmV0LWtleQ==";

Options withServer(std::initializer_list<std::pair<std::string, std::string>> more) {
  Options options{{"kafka.bootstrap.servers", "h:9093"}, {"subscribe", "t"}};
  for (const auto& [name, value] : more) options.set(name, value);
  return options;
}

KafkaClientConfig translated(std::initializer_list<std::pair<std::string, std::string>> more) {
  return translateKafkaOptions(withServer(more), KafkaRole::Consumer);
}

std::string refusal(std::initializer_list<std::pair<std::string, std::string>> more) {
  try {
    translated(more);
  } catch (const Error& error) {
    return error.text();
  }
  return {};
}

Options eventHubs(const std::string& mechanism, const std::string& module) {
  return withServer({{"kafka.security.protocol", "SASL_SSL"},
                     {"kafka.sasl.mechanism", mechanism},
                     {"kafka.sasl.jaas.config", module + " required username=\"$ConnectionString\" password=\"" + kPassword + "\";"}});
}

TEST(KafkaClientOptions, DefaultsThatCorrectnessNeeds) {
  const auto config = translated({});
  EXPECT_EQ(config.settings.at("isolation.level"), "read_uncommitted");
  EXPECT_EQ(config.settings.at("check.crcs"), "true");
  EXPECT_EQ(translated({{"kafka.isolation.level", "READ_COMMITTED"}}).settings.at("isolation.level"), "read_committed");
}

TEST(KafkaClientOptions, JavaNamesBecomeLibrdkafkas) {
  const auto config = translated({{"kafka.fetch.max.wait.ms", "7"}, {"kafka.max.partition.fetch.bytes", "9"}, {"kafka.receive.buffer.bytes", "-1"},
                                  {"kafka.request.timeout.ms", "30000"}, {"kafka.max.poll.records", "5"}, {"kafka.acks", "all"}});
  EXPECT_EQ(config.settings.at("fetch.wait.max.ms"), "7");
  EXPECT_EQ(config.settings.at("fetch.message.max.bytes"), "9");
  EXPECT_EQ(config.settings.at("socket.receive.buffer.bytes"), "0");
  EXPECT_EQ(config.settings.at("socket.timeout.ms"), "30000");
  EXPECT_FALSE(config.settings.contains("max.poll.records"));
  EXPECT_FALSE(config.settings.contains("acks"));  // a producer's
  EXPECT_EQ(translateKafkaOptions(withServer({{"kafka.compression.type", "zstd"}}), KafkaRole::Producer).settings.at("compression.codec"), "zstd");
}

TEST(KafkaClientOptions, WhatIsNotKafkasOrNotSafeIsRefusedByName) {
  for (const char* name : {"plugin.library.paths", "ssl.engine.location", "fetch.max.byte", "ssl.ca.location", "auto.offset.reset",
                           "key.deserializer", "value.deserializer", "enable.auto.commit", "interceptor.classes",
                           "sasl.login.callback.handler.class", "sasl.kerberos.kinit.cmd", "ssl.engine.factory.class",
                           "metric.reporters", "config.providers", "security.providers"}) {
    EXPECT_NE(refusal({{std::string("kafka.") + name, "x"}}).find(name), std::string::npos) << name;
  }
  EXPECT_NE(refusal({{"kafka.isolation.level", "all"}}), "");
  EXPECT_NE(refusal({{"kafka.security.protocol", "TLS"}}), "");
  EXPECT_THROW(translateKafkaOptions(Options{{"subscribe", "t"}}, KafkaRole::Consumer), Error);
}

TEST(KafkaClientOptions, EventHubsAsItsManualWritesIt) {
  const auto config = translateKafkaOptions(eventHubs("PLAIN", "kafkashaded.org.apache.kafka.common.security.plain.PlainLoginModule"), KafkaRole::Consumer);
  EXPECT_EQ(config.settings.at("security.protocol"), "sasl_ssl");
  EXPECT_EQ(config.settings.at("sasl.mechanism"), "PLAIN");
  EXPECT_EQ(config.settings.at("sasl.username"), "$ConnectionString");
  EXPECT_EQ(config.secrets.at("sasl.password").reveal(), kPassword);
  EXPECT_EQ(config.settings.at("ssl.endpoint.identification.algorithm"), "https");
  EXPECT_EQ(maskSecrets("x " + kPassword + " y"), "x ***** y");
  EXPECT_EQ(maskSecrets("key c2VjcmV0LWtleQ=="), "key *****");
}

TEST(KafkaClientOptions, MechanismAndLoginModuleMustAgree) {
  const std::string scram = "org.apache.kafka.common.security.scram.ScramLoginModule";
  EXPECT_NO_THROW(translateKafkaOptions(eventHubs("SCRAM-SHA-512", scram), KafkaRole::Consumer));
  EXPECT_THROW(translateKafkaOptions(eventHubs("PLAIN", scram), KafkaRole::Consumer), Error);
  EXPECT_THROW(translateKafkaOptions(eventHubs("GSSAPI", scram), KafkaRole::Consumer), Error);
  EXPECT_NE(refusal({{"kafka.security.protocol", "SASL_SSL"}, {"kafka.sasl.mechanism", "PLAIN"}}).find("kafka.sasl.jaas.config"), std::string::npos);
}

TEST(KafkaClientOptions, SecretReferencesAreResolvedInsideTheJaasText) {
  KafkaEnvironment environment;
  environment.resolveSecrets = [](const std::string& value) { return value == "{{secrets/s/k}}" ? std::string("real\";-value") : value; };
  const auto config = translateKafkaOptions(
      withServer({{"kafka.security.protocol", "SASL_SSL"},
                  {"kafka.sasl.mechanism", "PLAIN"},
                  {"kafka.sasl.jaas.config", R"(org.apache.kafka.common.security.plain.PlainLoginModule required username="u" password="{{secrets/s/k}}";)"}}),
      KafkaRole::Consumer, environment);
  EXPECT_EQ(config.secrets.at("sasl.password").reveal(), "real\";-value");
}

// A PKCS12 store with one self-signed certificate and its key, made on the spot.
std::string makePkcs12(const char* password) {
  EVP_PKEY* key = EVP_EC_gen("P-256");
  X509* certificate = X509_new();
  ASN1_INTEGER_set(X509_get_serialNumber(certificate), 1);
  X509_gmtime_adj(X509_getm_notBefore(certificate), 0);
  X509_gmtime_adj(X509_getm_notAfter(certificate), 3600);
  X509_set_pubkey(certificate, key);
  X509_sign(certificate, key, EVP_sha256());
  PKCS12* store = PKCS12_create(password, "n", key, certificate, nullptr, 0, 0, 0, 0, 0);
  unsigned char* bytes = nullptr;
  const int size = i2d_PKCS12(store, &bytes);
  const std::string result(reinterpret_cast<char*>(bytes), static_cast<size_t>(size));
  OPENSSL_free(bytes);
  PKCS12_free(store);
  X509_free(certificate);
  EVP_PKEY_free(key);
  return result;
}

TEST(KafkaClientOptions, StoresAreReadThroughTheServersReader) {
  const std::string store = makePkcs12("changeit");
  KafkaEnvironment environment;
  environment.readFile = [&](const std::string& path) -> std::string {
    if (path == "/store.p12") return store;
    return path == "/old.jks" ? std::string("\xfe\xed\xfe\xed\0\0\0\2", 8) : "neither";
  };
  const auto translate = [&](const std::string& path, const std::string& password) {
    return translateKafkaOptions(withServer({{"kafka.security.protocol", "SSL"},
                                             {"kafka.ssl.truststore.location", path},
                                             {"kafka.ssl.truststore.password", password},
                                             {"kafka.ssl.keystore.location", "/store.p12"},
                                             {"kafka.ssl.keystore.password", "changeit"}}),
                                 KafkaRole::Consumer, environment);
  };
  const auto config = translate("/store.p12", "changeit");
  EXPECT_TRUE(config.settings.at("ssl.ca.pem").starts_with("-----BEGIN CERTIFICATE-----"));
  EXPECT_TRUE(config.settings.at("ssl.certificate.pem").starts_with("-----BEGIN CERTIFICATE-----"));
  EXPECT_TRUE(config.secrets.at("ssl.key.pem").reveal().starts_with("-----BEGIN PRIVATE KEY-----"));
  for (const auto& [path, word] : {std::pair{"/old.jks", "JKS"}, {"/store.p12", "password is wrong"}, {"/other", "neither PKCS12 nor PEM"}}) {
    try {
      translate(path, "guess-me-not");
      FAIL() << path;
    } catch (const Error& error) {
      EXPECT_NE(error.text().find(word), std::string::npos) << error.text();
      EXPECT_EQ(error.text().find("guess-me-not"), std::string::npos);
    }
  }
}

TEST(KafkaClientOptions, TakesBootstrapServersAsJavaDoesAndRefusesTheRest) {
  const auto translate = [](const std::string& servers) { return translateKafkaOptions(Options{{"kafka.bootstrap.servers", servers}}, KafkaRole::Consumer); };
  for (const char* good : {"h:1", "a:1,b:2", " a:1 , b:2,", "[::1]:9092", "PLAINTEXT://h.x-y_z:9092", "n.servicebus.windows.net:9093"}) {
    EXPECT_NO_THROW(translate(good)) << good;
  }
  for (const std::string& bad : {std::string(1, '\0'), std::string("h"), std::string("h:"), std::string(":1"), std::string("h:x"),
                                std::string("h:70000"), std::string("h:0"), std::string("a:1,b"), std::string("h o:1")}) {
    EXPECT_THROW(translate(bad), Error) << bad;
  }
}

}  // namespace
}  // namespace thalweg
