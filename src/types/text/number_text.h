// Numbers, decimals and booleans as text, by Spark's rules. Pure functions; they never throw and never read
// past the view.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include <arrow/util/decimal.h>

namespace thalweg {

// Without the blanks and ASCII control characters on both sides that Spark's casts ignore.
std::string_view trimBlanks(std::string_view text);

// CAST(text AS integer type): blanks around, a sign, digits. With `allowDecimal` (ANSI off) a fraction is
// cut: "1.9" → 1. Empty where the text is no number or lies outside [minimum, maximum].
std::optional<int64_t> parseIntegral(std::string_view text, int64_t minimum, int64_t maximum,
                                     bool allowDecimal);

// CAST(text AS DOUBLE / FLOAT): Java's parseDouble (trailing d or f, hexadecimal floats) and, in any case,
// inf, infinity and nan. Too large gives infinity, too small zero.
std::optional<double> parseDouble(std::string_view text);
std::optional<float> parseFloat(std::string_view text);

// The value of a plain number ("-12.5e3", JSON's grammar, or leading zeros); `text` must be one. Correctly
// rounded.
double plainNumberToDouble(std::string_view text);
float plainNumberToFloat(std::string_view text);

enum class DecimalParse { Ok, Invalid, Overflow };

// java.math.BigDecimal's grammar without blanks, rounded HALF_UP to `scale`; Overflow where more than
// `precision` digits are needed. `value` is set for Ok only.
DecimalParse parseDecimal(std::string_view text, int precision, int scale, arrow::Decimal128* value);

// CAST(text AS BOOLEAN): t, true, y, yes, 1, f, false, n, no, 0 in any case, blanks around.
std::optional<bool> parseBoolean(std::string_view text);

// As Java's Double.toString and Float.toString: "1.0", "1.0E10", "1.0E-5", "0.001", "NaN", "-Infinity";
// shortest digits that read back as the same value.
void appendDouble(double value, std::string* out);
void appendFloat(float value, std::string* out);
void appendLong(int64_t value, std::string* out);
// All `scale` digits and no exponent: "1.50".
void appendDecimal(const arrow::Decimal128& value, int scale, std::string* out);

}  // namespace thalweg
