#include "kafka/jaas.h"

#include <array>
#include <optional>

#include "common/error.h"
#include "common/options.h"

namespace thalweg {
namespace {

constexpr size_t kMaxTextBytes = 64 << 10;

[[noreturn]] void fail(const std::string& what) {
  throw Error(ErrorKind::IllegalArgument, "INVALID_OPTION",
              "The option 'kafka.sasl.jaas.config' cannot be read: " + what +
                  " It takes: <login module class> required username=\"…\" password=\"…\";");
}

struct Token {
  enum class Kind { End, Word, Quoted, Symbol } kind = Kind::End;
  std::string text;
  bool isValue() const { return kind == Kind::Word || kind == Kind::Quoted; }
  bool isSymbol(char c) const { return kind == Kind::Symbol && text[0] == c; }
};

// Lexical rules of java.io.StreamTokenizer as Kafka's JaasConfig sets it up.
class Lexer {
 public:
  explicit Lexer(std::string_view text) : text_(text) {}

  Token next() {
    skipBlanksAndComments();
    if (at_ == text_.size()) return {};
    const char c = text_[at_];
    if (c == '"' || c == '\'') return {Token::Kind::Quoted, quoted(c)};
    if (isWordCharacter(c)) {
      const size_t start = at_;
      while (at_ < text_.size() && isWordCharacter(text_[at_])) ++at_;
      return {Token::Kind::Word, std::string(text_.substr(start, at_ - start))};
    }
    ++at_;
    return {Token::Kind::Symbol, std::string(1, c)};
  }

 private:
  static bool isWordCharacter(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' || c == '-' || c == '_' ||
           c == '$' || static_cast<unsigned char>(c) >= 0xa0;
  }

  bool startsWith(std::string_view prefix) const { return text_.substr(at_).starts_with(prefix); }

  void skipBlanksAndComments() {
    while (at_ < text_.size()) {
      if (static_cast<unsigned char>(text_[at_]) <= ' ') {
        ++at_;
      } else if (startsWith("//")) {
        at_ = std::min(text_.find('\n', at_), text_.size());
      } else if (startsWith("/*")) {
        const size_t end = text_.find("*/", at_ + 2);
        if (end == std::string_view::npos) fail("a comment is not closed.");
        at_ = end + 2;
      } else {
        return;
      }
    }
  }

  char octal() {
    int value = 0;
    const size_t limit = at_ + (text_[at_] <= '3' ? 3 : 2);
    while (at_ < text_.size() && at_ < limit && text_[at_] >= '0' && text_[at_] <= '7') value = value * 8 + (text_[at_++] - '0');
    return static_cast<char>(value);
  }

  char escaped() {
    const char c = text_[at_];
    if (c >= '0' && c <= '7') return octal();
    ++at_;
    switch (c) {
      case 'a': return '\a';
      case 'b': return '\b';
      case 'f': return '\f';
      case 'n': return '\n';
      case 'r': return '\r';
      case 't': return '\t';
      case 'v': return '\v';
      default: return c;
    }
  }

  std::string quoted(char quote) {
    std::string value;
    ++at_;
    while (at_ < text_.size()) {
      const char c = text_[at_];
      if (c == quote) {
        ++at_;
        return value;
      }
      if (c == '\n' || c == '\r') break;
      ++at_;
      if (c != '\\') {
        value += c;
      } else if (at_ < text_.size()) {
        value += escaped();
      }
    }
    fail("a quoted value is not closed.");
  }

  std::string_view text_;
  size_t at_ = 0;
};

std::string readControlFlag(Lexer& lexer) {
  static constexpr std::array<std::string_view, 4> kFlags = {"required", "requisite", "sufficient", "optional"};
  const Token token = lexer.next();
  const std::string flag = toLowerAscii(token.text);
  if (token.kind != Token::Kind::Word || std::find(kFlags.begin(), kFlags.end(), flag) == kFlags.end()) {
    fail("the control flag (required, requisite, sufficient or optional) is missing after the class name.");
  }
  return flag;
}

}  // namespace

JaasEntry parseJaas(std::string_view text) {
  if (text.size() > kMaxTextBytes) fail("it is longer than 64 KiB.");
  Lexer lexer(text);
  JaasEntry entry;
  const Token module = lexer.next();
  if (!module.isValue() || module.text.empty()) fail("the login module's class name is missing.");
  entry.loginModule = module.text;
  entry.controlFlag = readControlFlag(lexer);
  for (Token name = lexer.next(); !name.isSymbol(';'); name = lexer.next()) {
    if (name.kind == Token::Kind::End) fail("the entry does not end with a semicolon.");
    if (!name.isValue()) fail("an option's name is expected.");
    if (!lexer.next().isSymbol('=')) fail("an option's name is not followed by '='.");
    const Token value = lexer.next();
    if (!value.isValue()) fail("an option has no value; values with other signs than letters, digits, '.', '_', '-', '$' need quotes.");
    entry.options[name.text] = value.text;
  }
  if (lexer.next().kind != Token::Kind::End) fail("there is text after the first entry; a client takes exactly one login module.");
  return entry;
}

JaasMechanism mechanismOfLoginModule(std::string_view loginModule) {
  static constexpr std::pair<std::string_view, JaasMechanism> kModules[] = {
      {"org.apache.kafka.common.security.plain.PlainLoginModule", JaasMechanism::Plain},
      {"org.apache.kafka.common.security.scram.ScramLoginModule", JaasMechanism::Scram},
      {"org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginModule", JaasMechanism::OAuthBearer},
  };
  static constexpr std::string_view kRelocations[] = {"kafkashaded.", "shadedkafka.", "org.apache.flink.kafka.shaded."};
  std::string_view name = loginModule;
  for (std::string_view prefix : kRelocations) {
    if (name.starts_with(prefix)) {
      name.remove_prefix(prefix.size());
      break;
    }
  }
  for (const auto& [module, mechanism] : kModules) {
    if (name == module) return mechanism;
  }
  fail("its login module is not one of Kafka's PlainLoginModule and ScramLoginModule.");
}

}  // namespace thalweg
