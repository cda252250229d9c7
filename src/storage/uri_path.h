// Paths in URI form, as Spark and Delta write them into logs.
#pragma once

#include <string>
#include <string_view>

namespace thalweg {

// Percent-encodes what a URI's path may not hold (space, %, #, ?, quotes, brackets, controls …) and keeps the
// rest raw, non-ASCII included: what Java's multi-argument URI constructor does.
std::string encodeUriPath(std::string_view path);

// Percent-encodes the bytes of a text that `keeps` refuses, in capitals.
std::string percentEncoded(std::string_view text, bool (*keeps)(unsigned char));

// Decodes each %XX once; a '%' without two hexadecimal digits stays as it is. Any bytes in, any bytes out.
std::string decodeUriPath(std::string_view text);

// Resolves '.', '..' and repeated '/' in an absolute path by text alone, without a '/' at the end:
// "/a//b/../c/" → "/a/c".
// '..' above the root stays at the root.
std::string normalizeAbsolutePath(std::string_view path);

}  // namespace thalweg
