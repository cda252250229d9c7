// The text of Java's sasl.jaas.config, from which a client without a JVM takes user name and password.
#pragma once

#include <map>
#include <string>
#include <string_view>

namespace thalweg {

// One login module: `<class> <control flag> name=value … ;`.
struct JaasEntry {
  std::string loginModule;   // the class name as given
  std::string controlFlag;   // lower case: required, requisite, sufficient, optional
  std::map<std::string, std::string> options;
};

// Parses with the lexical rules of Kafka's Java client: words of letters, digits, '.', '_', '-', '$'; values may stand in
// single or double quotes, where a backslash escapes; // and /* */ comments. Exactly one entry is allowed, as in a client's
// configuration. Throws Error with kind IllegalArgument that says what is wrong and never quotes the text, which holds secrets.
JaasEntry parseJaas(std::string_view text);

enum class JaasMechanism { Plain, Scram, OAuthBearer };

// Which mechanism a login module serves. Only Kafka's own modules are known (and their copies in packages that vendors
// relocate, such as kafkashaded.*): a class name here never leads to code. Others throw Error with kind IllegalArgument.
JaasMechanism mechanismOfLoginModule(std::string_view loginModule);

}  // namespace thalweg
