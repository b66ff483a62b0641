// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/base/result.h"

#include <QColor>
#include <QString>
#include <QStringList>

#include <array>
#include <cstdint>
#include <vector>

namespace retro::views
{

/// A colour in OKLab.
struct Oklab
{
    double lightness = 0;
    double a = 0;
    double b = 0;
};

/// sRGB (8 bit) to OKLab and back. The way back keeps lightness and hue and lowers the chroma until the colour lies in
/// the sRGB gamut.
[[nodiscard]] Oklab toOklab(QRgb color);
[[nodiscard]] QRgb fromOklab(const Oklab& color);

/// A map from −1…1 to colours. Value type; cheap to copy.
///
/// Two families: `relevance`, our own map (OKLab, neutral at zero, blue below, red above, lightness falling by 0.515
/// with |v| on both sides, zero exactly neutral), and palettes of 256 entries given by colour stops in the notation
/// "00f,80:fff,f00": hexadecimal colours of three or six digits, each with an optional hexadecimal index before a
/// colon; stops without an index are spread evenly between their neighbours. A value v takes entry ⌊255·(v + 1)/2⌋;
/// maps for magnitudes (gray, hot, …) take entry ⌊255·|v|⌋.
class ColorMap
{
public:
    /// The relevance map.
    ColorMap();

    /// A map by name (see names()) or by colour stops. Error (Usage): neither, with the list of names.
    [[nodiscard]] static base::Result<ColorMap> find(const QString& nameOrStops);
    /// Names that find() knows, the default first.
    [[nodiscard]] static QStringList names();

    /// Name, or the stops it was made of.
    [[nodiscard]] const QString& name() const { return m_name; }
    /// Colour of a value; clamped, NaN counts as 0.
    [[nodiscard]] QRgb at(double v) const;
    /// All entries, from −1 to 1.
    [[nodiscard]] const std::vector<QRgb>& table() const { return m_table; }
    /// True for maps made for magnitudes (gray, hot, …): they show |v| and their bar runs from zero up.
    [[nodiscard]] bool isSequential() const { return m_isSequential; }

private:
    QString m_name;
    std::vector<QRgb> m_table;
    bool m_isSequential = false;
};

} // namespace retro::views
