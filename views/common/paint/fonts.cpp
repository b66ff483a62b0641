// SPDX-License-Identifier: Apache-2.0
#include "views/common/paint/fonts.h"

#include <QFontInfo>
#include <QFontMetricsF>
#include <QGuiApplication>
#include <QHash>

#include <algorithm>
#include <cmath>

namespace retro::views::fonts
{

namespace
{

constexpr double kContent = 13;
constexpr double kLabel = 12;
constexpr double kSmall = 11;
constexpr qsizetype kKnownWidths = 4096;

const QStringList& textFamilies()
{
    static const QStringList families{QStringLiteral("Inter"), QStringLiteral("Noto Sans"),
                                      QStringLiteral("DejaVu Sans")};
    return families;
}

const QStringList& monoFamilies()
{
    static const QStringList families{QStringLiteral("JetBrains Mono"), QStringLiteral("Noto Sans Mono"),
                                      QStringLiteral("DejaVu Sans Mono")};
    return families;
}

} // namespace

void install(double scale)
{
    QFont font;
    font.setFamilies(textFamilies());
    font.setPixelSize(std::max(8, static_cast<int>(std::lround(kContent * scale))));
    font.setHintingPreference(QFont::PreferVerticalHinting);
    QGuiApplication::setFont(font);
}

double scale()
{
    const QFont font = QGuiApplication::font();
    const int pixels = font.pixelSize() > 0 ? font.pixelSize() : QFontInfo(font).pixelSize();
    return pixels / kContent;
}

int px(double designPixels) { return std::max(1, static_cast<int>(std::lround(designPixels * scale()))); }

QFont sized(double designPixels, QFont::Weight weight, bool isMono)
{
    QFont font;
    font.setFamilies(isMono ? monoFamilies() : textFamilies());
    font.setPixelSize(std::max(6, static_cast<int>(std::lround(designPixels * scale()))));
    font.setWeight(weight);
    font.setHintingPreference(QFont::PreferVerticalHinting);
    if (isMono) {
        font.setStyleHint(QFont::Monospace);
    }
    return font;
}

QFont content(QFont::Weight weight) { return sized(kContent, weight); }

QFont label(QFont::Weight weight) { return sized(kLabel, weight); }

QFont small(QFont::Weight weight) { return sized(kSmall, weight); }

QFont numbers(QFont::Weight weight) { return sized(kLabel, weight, true); }

QFont smallNumbers(QFont::Weight weight) { return sized(kSmall, weight, true); }

double widthOf(const QFont& font, const QString& text)
{
    // Shaping takes tens of microseconds, and layouts ask for the same words again and again.
    thread_local QHash<std::pair<QFont, QString>, double> known;
    const auto at = known.constFind({font, text});
    if (at != known.constEnd()) {
        return *at;
    }
    if (known.size() >= kKnownWidths) {
        known.clear();
    }
    return *known.insert({font, text}, QFontMetricsF(font).horizontalAdvance(text));
}

} // namespace retro::views::fonts
