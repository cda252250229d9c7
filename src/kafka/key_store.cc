#include "kafka/key_store.h"

#include <memory>

#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/pkcs12.h>
#include <openssl/x509.h>

#include "common/error.h"
#include "common/options.h"

namespace thalweg {
namespace {

constexpr size_t kMaxStoreBytes = 16 << 20;
constexpr std::string_view kJksMagic = "\xfe\xed\xfe\xed";
constexpr std::string_view kJceksMagic = "\xce\xce\xce\xce";

template <auto Free>
struct Freer {
  template <typename T>
  void operator()(T* value) const {
    Free(value);
  }
};
void freeStack(STACK_OF(X509) * stack) { sk_X509_pop_free(stack, X509_free); }

using BioPtr = std::unique_ptr<BIO, Freer<BIO_free_all>>;
using Pkcs12Ptr = std::unique_ptr<PKCS12, Freer<PKCS12_free>>;
using KeyPtr = std::unique_ptr<EVP_PKEY, Freer<EVP_PKEY_free>>;
using CertificatePtr = std::unique_ptr<X509, Freer<X509_free>>;
using StackPtr = std::unique_ptr<STACK_OF(X509), Freer<freeStack>>;

[[noreturn]] void fail(std::string_view optionName, const std::string& what) {
  ERR_clear_error();
  throw Error(ErrorKind::IllegalArgument, "INVALID_OPTION", "The store of option '" + std::string(optionName) + "' " + what);
}

std::string takeText(const BioPtr& bio) {
  char* data = nullptr;
  const long size = BIO_get_mem_data(bio.get(), &data);
  return size > 0 ? std::string(data, static_cast<size_t>(size)) : std::string();
}

std::string toPem(X509* certificate) {
  const BioPtr bio(BIO_new(BIO_s_mem()));
  PEM_write_bio_X509(bio.get(), certificate);
  return takeText(bio);
}

Secret toPem(EVP_PKEY* key) {
  const BioPtr bio(BIO_new(BIO_s_mem()));
  PEM_write_bio_PKCS8PrivateKey(bio.get(), key, nullptr, nullptr, 0, nullptr, nullptr);
  return Secret(takeText(bio));
}

PemStore readPkcs12(std::string_view bytes, const Secret& password, std::string_view optionName) {
  const BioPtr input(BIO_new_mem_buf(bytes.data(), static_cast<int>(bytes.size())));
  const Pkcs12Ptr store(d2i_PKCS12_bio(input.get(), nullptr));
  if (!store) fail(optionName, "is neither PKCS12 nor PEM.");
  EVP_PKEY* rawKey = nullptr;
  X509* rawCertificate = nullptr;
  STACK_OF(X509)* rawChain = nullptr;
  if (PKCS12_parse(store.get(), password.reveal().c_str(), &rawKey, &rawCertificate, &rawChain) != 1) {
    fail(optionName, PKCS12_verify_mac(store.get(), password.reveal().c_str(), -1) == 1
                         ? "uses an encryption that OpenSSL no longer reads; write it again with a current keytool."
                         : "cannot be opened: its password is wrong or it is damaged.");
  }
  const KeyPtr key(rawKey);
  const CertificatePtr certificate(rawCertificate);
  const StackPtr chain(rawChain);
  PemStore result;
  if (certificate) result.certificates += toPem(certificate.get());
  for (int i = 0; chain && i < sk_X509_num(chain.get()); ++i) result.certificates += toPem(sk_X509_value(chain.get(), i));
  if (key) result.privateKey = toPem(key.get());
  ERR_clear_error();
  return result;
}

int givePassword(char* buffer, int size, int, void* secret) {
  const std::string& value = static_cast<const Secret*>(secret)->reveal();
  if (static_cast<int>(value.size()) > size) return -1;
  std::copy(value.begin(), value.end(), buffer);
  return static_cast<int>(value.size());
}

PemStore readPem(std::string_view bytes, const Secret& password, std::string_view optionName) {
  PemStore result;
  const BioPtr certificates(BIO_new_mem_buf(bytes.data(), static_cast<int>(bytes.size())));
  while (CertificatePtr certificate{PEM_read_bio_X509(certificates.get(), nullptr, nullptr, nullptr)}) {
    result.certificates += toPem(certificate.get());
  }
  if (bytes.find("PRIVATE KEY-----") != std::string_view::npos) {
    const BioPtr keys(BIO_new_mem_buf(bytes.data(), static_cast<int>(bytes.size())));
    const KeyPtr key(PEM_read_bio_PrivateKey(keys.get(), nullptr, givePassword, const_cast<Secret*>(&password)));
    if (!key) fail(optionName, "holds a private key that cannot be read: its password is wrong or it is damaged.");
    result.privateKey = toPem(key.get());
  }
  ERR_clear_error();
  return result;
}

PemStore readStore(std::string_view bytes, std::string_view type, const Secret& password, std::string_view optionName) {
  if (bytes.size() > kMaxStoreBytes) fail(optionName, "is larger than 16 MiB.");
  if (bytes.starts_with(kJksMagic) || bytes.starts_with(kJceksMagic)) {
    fail(optionName,
         "is a JKS store, which only Java reads. Convert it: keytool -importkeystore -srckeystore OLD -destkeystore NEW.p12 "
         "-deststoretype PKCS12");
  }
  static constexpr std::string_view kTypes[] = {"", "jks", "pkcs12", "pem"};
  if (std::find(std::begin(kTypes), std::end(kTypes), toLowerAscii(type)) == std::end(kTypes)) {
    fail(optionName, "has the type '" + std::string(type) + "', which is not supported; PKCS12 and PEM are.");
  }
  if (bytes.find("-----BEGIN ") != std::string_view::npos) return readPem(bytes, password, optionName);
  return readPkcs12(bytes, password, optionName);
}

}  // namespace

PemStore readTrustStore(std::string_view bytes, std::string_view type, const Secret& password, std::string_view optionName) {
  PemStore store = readStore(bytes, type, password, optionName);
  if (store.certificates.empty()) fail(optionName, "holds no certificate.");
  store.privateKey = Secret();
  return store;
}

PemStore readKeyStore(std::string_view bytes, std::string_view type, const Secret& password, std::string_view optionName) {
  PemStore store = readStore(bytes, type, password, optionName);
  if (store.certificates.empty()) fail(optionName, "holds no certificate.");
  if (store.privateKey.empty()) fail(optionName, "holds no private key.");
  return store;
}

}  // namespace thalweg
