// ZeroMQ's base-85 text (RFC 32), in which Delta writes inline deletion vectors and the ids of their files.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace thalweg::delta {

// Four bytes give five characters; bytes at the end that make no four are padded with zeros.
std::string encodeZ85(std::string_view bytes);

// Five characters give four bytes, as Delta decodes them: of a number that is too large the upper bits are
// dropped (tables have such vectors). Nothing where the length or a character is wrong.
std::optional<std::string> decodeZ85(std::string_view text);

}  // namespace thalweg::delta
