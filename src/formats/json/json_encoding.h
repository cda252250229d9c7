// Encodings of JSON files other than UTF-8.
#pragma once

#include <string>
#include <string_view>

namespace thalweg {

// The encoding that a record's first bytes tell, by the rules of Jackson and RFC 4627: "UTF-8", "UTF-16LE",
// "UTF-16BE", "UTF-32LE" or "UTF-32BE". `*markSize` is the size of its byte order mark.
std::string_view detectJsonEncoding(std::string_view bytes, size_t* markSize);

// `bytes` as UTF-8; what is malformed becomes U+FFFD. Takes UTF-8, UTF-16 (big-endian unless a mark says
// otherwise), UTF-16LE, UTF-16BE, UTF-32 (likewise), UTF-32LE, UTF-32BE, ISO-8859-1 and US-ASCII.
void decodeText(std::string_view bytes, std::string_view encoding, std::string* out);

// ASCII text in an encoding (a line separator's bytes).
std::string encodeAscii(std::string_view text, std::string_view encoding);

}  // namespace thalweg
