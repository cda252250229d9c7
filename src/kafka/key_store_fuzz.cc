// Any bytes as a key or trust store (PEM, PKCS12, JKS): its keys and certificates, or an Error without the
// password.
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "common/error.h"
#include "kafka/key_store.h"

namespace {

constexpr const char* kPassword = "changeit";

template <typename Read>
void mustHideThePassword(const Read& read) {
  try {
    read();
  } catch (const thalweg::Error& error) {
    if (error.text().find(kPassword) != std::string::npos) std::abort();
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  const thalweg::Secret password(kPassword);
  mustHideThePassword([&] { thalweg::readTrustStore(bytes, "", password, "kafka.ssl.truststore.location"); });
  mustHideThePassword([&] { thalweg::readKeyStore(bytes, "", password, "kafka.ssl.keystore.location"); });
  mustHideThePassword([&] { thalweg::readKeyStore(bytes, "PEM", password, "kafka.ssl.keystore.key"); });
  return 0;
}
