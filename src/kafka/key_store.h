// Java's key and trust stores as PEM, the form that librdkafka takes from memory.
#pragma once

#include <string>
#include <string_view>

#include "common/secret.h"

namespace thalweg {

struct PemStore {
  std::string certificates;  // the owner's certificate first, then its chain; or all trusted ones
  Secret privateKey;         // unencrypted PKCS#8; empty for a trust store
};

// Reads the bytes of a store. `type` is Java's option (JKS, PKCS12, PEM; empty: Java's default), but the bytes decide, as in
// Java, whose default store type reads PKCS12 too. A JKS store (by its magic number) is refused by name with the command
// that converts it. `optionName` ("kafka.ssl.truststore.location") names the store in errors. Throws Error with kind
// IllegalArgument; the password is never in it.
PemStore readTrustStore(std::string_view bytes, std::string_view type, const Secret& password, std::string_view optionName);
PemStore readKeyStore(std::string_view bytes, std::string_view type, const Secret& password, std::string_view optionName);

}  // namespace thalweg
