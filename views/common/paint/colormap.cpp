// SPDX-License-Identifier: Apache-2.0
#include "views/common/paint/colormap.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <optional>

namespace retro::views
{

namespace
{

constexpr std::size_t kRelevanceEntries = 511; // odd: zero has an entry of its own
constexpr std::size_t kPaletteEntries = 256;

struct LinearRgb
{
    double r = 0;
    double g = 0;
    double b = 0;
};

double decoded(double c) { return c <= 0.04045 ? c / 12.92 : std::pow((c + 0.055) / 1.055, 2.4); }

double encoded(double c) { return c <= 0.0031308 ? 12.92 * c : 1.055 * std::pow(c, 1 / 2.4) - 0.055; }

LinearRgb linearOf(const Oklab& lab)
{
    const double l = std::pow(lab.lightness + 0.3963377774 * lab.a + 0.2158037573 * lab.b, 3);
    const double m = std::pow(lab.lightness - 0.1055613458 * lab.a - 0.0638541728 * lab.b, 3);
    const double s = std::pow(lab.lightness - 0.0894841775 * lab.a - 1.2914855480 * lab.b, 3);
    return {4.0767416621 * l - 3.3077115913 * m + 0.2309699292 * s,
            -1.2684380046 * l + 2.6097574011 * m - 0.3413193965 * s,
            -0.0041960863 * l - 0.7034186147 * m + 1.7076147010 * s};
}

bool isInGamut(const LinearRgb& c)
{
    constexpr double kSlack = 1e-6;
    const auto fits = [](double v) { return v >= -kSlack && v <= 1 + kSlack; };
    return fits(c.r) && fits(c.g) && fits(c.b);
}

int byteOf(double linear) { return static_cast<int>(std::lround(255 * encoded(std::clamp(linear, 0.0, 1.0)))); }

// Our relevance map: neutral lightness 0.965; hue 252° below zero, 27° above.
QRgb relevanceColor(double v)
{
    const double magnitude = std::abs(v);
    const double hue = (v < 0 ? 252.0 : 27.0) * std::numbers::pi / 180;
    const double chroma = (v < 0 ? 0.17 : 0.19) * std::pow(magnitude, 0.85);
    return fromOklab({0.965 - 0.515 * magnitude, chroma * std::cos(hue), chroma * std::sin(hue)});
}

struct Stop
{
    std::optional<int> index;
    std::array<double, 3> rgb{};
};

std::optional<std::array<double, 3>> colorOf(QStringView digits)
{
    bool ok = false;
    const uint number = digits.toUInt(&ok, 16);
    if (!ok) {
        return std::nullopt;
    }
    if (digits.size() == 3) {
        return std::array<double, 3>{17.0 * ((number >> 8) & 15), 17.0 * ((number >> 4) & 15), 17.0 * (number & 15)};
    }
    if (digits.size() == 6) {
        return std::array<double, 3>{double((number >> 16) & 255), double((number >> 8) & 255), double(number & 255)};
    }
    return std::nullopt;
}

std::optional<Stop> stopOf(QStringView text)
{
    Stop stop;
    const qsizetype colon = text.indexOf(QLatin1Char(':'));
    if (colon >= 0) {
        bool ok = false;
        const int index = text.left(colon).toInt(&ok, 16);
        if (!ok || index < 0 || index > 255) {
            return std::nullopt;
        }
        stop.index = index;
    }
    const auto rgb = colorOf(text.mid(colon + 1));
    if (!rgb) {
        return std::nullopt;
    }
    stop.rgb = *rgb;
    return stop;
}

// Gives every stop an index: ends are 0 and 255, runs without one are spread evenly.
bool spreadStops(std::vector<Stop>& stops)
{
    stops.front().index = stops.front().index.value_or(0);
    stops.back().index = stops.back().index.value_or(255);
    std::size_t last = 0;
    for (std::size_t i = 1; i < stops.size(); ++i) {
        if (!stops[i].index) {
            continue;
        }
        const int from = *stops[last].index;
        const int span = *stops[i].index - from;
        if (span <= 0) {
            return false;
        }
        for (std::size_t k = last + 1; k < i; ++k) {
            stops[k].index = from + span * static_cast<int>(k - last) / static_cast<int>(i - last);
        }
        last = i;
    }
    return true;
}

QRgb between(const Stop& low, const Stop& high, int index)
{
    const double t = std::clamp(double(index - *low.index) / (*high.index - *low.index), 0.0, 1.0);
    const auto mix = [&](std::size_t c) {
        return static_cast<int>(low.rgb[c] + t * (high.rgb[c] - low.rgb[c]) + 1e-9); // truncated to a byte
    };
    return qRgb(mix(0), mix(1), mix(2));
}

std::optional<std::vector<QRgb>> paletteOf(const QString& text)
{
    std::vector<Stop> stops;
    for (const QString& part : text.split(QLatin1Char(','))) {
        const auto stop = stopOf(QStringView(part).trimmed());
        if (!stop) {
            return std::nullopt;
        }
        stops.push_back(*stop);
    }
    if (stops.size() < 2 || !spreadStops(stops)) {
        return std::nullopt;
    }
    std::vector<QRgb> table(kPaletteEntries);
    std::size_t segment = 0;
    for (int i = 0; i < static_cast<int>(kPaletteEntries); ++i) {
        while (segment + 2 < stops.size() && i >= *stops[segment + 1].index) {
            ++segment;
        }
        table[static_cast<std::size_t>(i)] = between(stops[segment], stops[segment + 1], i);
    }
    return table;
}

struct Named
{
    const char* name;
    const char* stops;
    bool isSequential;
};

constexpr std::array<Named, 11> kNamed{{
    {"bwr", "00f,80:fff,f00", false},
    {"seismic", "0000d0,80:d0d0d0,d00000", false},
    {"coldnhot", "0ff,00f,80:000,f00,ff0,fff", false},
    {"france", "0055a4,80:fff,ef4135", false},
    {"coolio", "00d0d0,80:d0d0d0,d000d0", false},
    {"coleus", "00d000,80:d0d0d0,d000d0", false},
    {"gray", "000,fff", true},
    {"wred", "fff,f00", true},
    {"wblue", "fff,00f", true},
    {"hot", "000,f00,ff0,fff", true},
    {"cold", "000,00f,0ff", true},
}};

} // namespace

Oklab toOklab(QRgb color)
{
    const double r = decoded(qRed(color) / 255.0);
    const double g = decoded(qGreen(color) / 255.0);
    const double b = decoded(qBlue(color) / 255.0);
    const double l = std::cbrt(0.4122214708 * r + 0.5363325363 * g + 0.0514459929 * b);
    const double m = std::cbrt(0.2119034982 * r + 0.6806995451 * g + 0.1073969566 * b);
    const double s = std::cbrt(0.0883024619 * r + 0.2817188376 * g + 0.6299787005 * b);
    return {0.2104542553 * l + 0.7936177850 * m - 0.0040720468 * s,
            1.9779984951 * l - 2.4285922050 * m + 0.4505937099 * s,
            0.0259040371 * l + 0.7827717662 * m - 0.8086757660 * s};
}

QRgb fromOklab(const Oklab& color)
{
    double inside = 0;
    double outside = 1;
    if (isInGamut(linearOf(color))) {
        inside = 1;
    }
    for (int i = 0; i < 24 && inside < 1; ++i) {
        const double middle = (inside + outside) / 2;
        const bool fits = isInGamut(linearOf({color.lightness, middle * color.a, middle * color.b}));
        (fits ? inside : outside) = middle;
    }
    const LinearRgb c = linearOf({color.lightness, inside * color.a, inside * color.b});
    return qRgb(byteOf(c.r), byteOf(c.g), byteOf(c.b));
}

ColorMap::ColorMap() : m_name(QStringLiteral("relevance"))
{
    static const std::vector<QRgb> table = [] {
        std::vector<QRgb> made(kRelevanceEntries);
        const double half = (kRelevanceEntries - 1) / 2.0;
        for (std::size_t i = 0; i < made.size(); ++i) {
            made[i] = relevanceColor((static_cast<double>(i) - half) / half);
        }
        return made;
    }();
    m_table = table;
}

base::Result<ColorMap> ColorMap::find(const QString& nameOrStops)
{
    ColorMap map;
    if (nameOrStops == map.m_name) {
        return map;
    }
    QString stops = nameOrStops;
    for (const Named& named : kNamed) {
        if (nameOrStops == QLatin1String(named.name)) {
            stops = QLatin1String(named.stops);
            map.m_isSequential = named.isSequential;
        }
    }
    auto table = paletteOf(stops);
    if (!table) {
        return base::usageError("unknown colour map; use one of " + names().join(QStringLiteral(", ")).toStdString() +
                                    ", or colour stops such as 00f,80:fff,f00",
                                nameOrStops.toStdString());
    }
    map.m_name = nameOrStops;
    map.m_table = std::move(*table);
    return map;
}

QStringList ColorMap::names()
{
    QStringList all{QStringLiteral("relevance")};
    for (const Named& named : kNamed) {
        all.append(QLatin1String(named.name));
    }
    return all;
}

QRgb ColorMap::at(double v) const
{
    const double safe = std::isnan(v) ? 0.0 : std::clamp(v, -1.0, 1.0);
    const double t = m_isSequential ? std::abs(safe) : (safe + 1) / 2;
    const double position = t * static_cast<double>(m_table.size() - 1);
    const double index = m_table.size() == kPaletteEntries ? std::floor(position) : std::round(position);
    return m_table[static_cast<std::size_t>(index)];
}

} // namespace retro::views
