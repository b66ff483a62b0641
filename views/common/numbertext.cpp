// SPDX-License-Identifier: Apache-2.0
#include "views/common/numbertext.h"

#include "core/base/bytesize.h"

#include <cmath>

namespace retro::views
{

namespace
{

const QChar kMinus(0x2212);

// Puts commas into the digits before the point and turns the hyphens into minus signs.
QString polished(QString plain)
{
    const bool isNegative = plain.startsWith(QLatin1Char('-'));
    qsizetype end = plain.indexOf(QLatin1Char('.'));
    if (end < 0) {
        end = plain.indexOf(QLatin1Char('e'));
    }
    if (end < 0) {
        end = plain.size();
    }
    for (qsizetype at = end - 3; at > (isNegative ? 1 : 0); at -= 3) {
        plain.insert(at, QLatin1Char(','));
    }
    return plain.replace(QLatin1Char('-'), kMinus);
}

bool isOddNumber(double v) { return std::isnan(v) || std::isinf(v); }

QString oddName(double v)
{
    if (std::isnan(v)) {
        return QStringLiteral("NaN");
    }
    return v > 0 ? QStringLiteral("∞") : kMinus + QStringLiteral("∞");
}

// "-0.00" says nothing: a figure that rounds to zero has no sign.
double withoutNegativeZero(double v, int decimals) { return std::abs(v) < 0.5 * std::pow(10.0, -decimals) ? 0.0 : v; }

// Of a number that is rounded to so many digits: 9.97e-6 to one digit is 1e-5.
int exponentOf(double magnitude, int digits)
{
    const int exponent = static_cast<int>(std::floor(std::log10(magnitude)));
    const double mantissa = magnitude / std::pow(10.0, exponent);
    return std::round(mantissa * std::pow(10.0, digits - 1)) < std::pow(10.0, digits) ? exponent : exponent + 1;
}

} // namespace

QString countText(std::int64_t n) { return polished(QString::number(n)); }

QString fixedText(double v, int decimals)
{
    return isOddNumber(v) ? oddName(v) : polished(QString::number(withoutNegativeZero(v, decimals), 'f', decimals));
}

QString signedText(double v, int decimals)
{
    const double shown = isOddNumber(v) ? v : withoutNegativeZero(v, decimals);
    if (shown == 0) {
        return QStringLiteral("0");
    }
    return shown > 0 ? QLatin1Char('+') + fixedText(shown, decimals) : fixedText(shown, decimals);
}

QString valueText(double v, int digits)
{
    if (isOddNumber(v)) {
        return oddName(v);
    }
    if (v == 0) {
        return QStringLiteral("0");
    }
    const int exponent = exponentOf(std::abs(v), digits);
    if (exponent < -3 || exponent >= 7) {
        const double mantissa = v / std::pow(10.0, exponent);
        return polished(QString::number(mantissa, 'f', digits - 1)) + QLatin1Char('e') +
               polished(QString::number(exponent));
    }
    return fixedText(v, std::max(0, digits - 1 - exponent));
}

QString percentText(double share, int decimals)
{
    if (isOddNumber(share)) {
        return oddName(share);
    }
    const double least = 0.5 * std::pow(10.0, -decimals);
    const double percent = share * 100;
    if (percent != 0 && std::abs(percent) < least) {
        return (percent < 0 ? QStringLiteral("> ") + kMinus : QStringLiteral("< ")) +
               QString::number(std::pow(10.0, -decimals), 'f', decimals) + QStringLiteral(" %");
    }
    return fixedText(percent, decimals) + QStringLiteral(" %");
}

QString bytesText(std::int64_t bytes)
{
    const auto size = static_cast<std::uint64_t>(std::abs(bytes));
    return (bytes < 0 ? QString(kMinus) : QString()) + QString::fromStdString(base::bytesText(size));
}

} // namespace retro::views
