// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "views/common/numbertext.h"

#include <QString>

#include <array>
#include <cstdint>

namespace retro::views
{

/// One unit of bytes for all figures of a column or an axis (1 kB = 1000 bytes).
/// Bytes of a plan as bytesText() writes them.
[[nodiscard]] inline QString bytesWords(std::uint64_t bytes) { return bytesText(static_cast<std::int64_t>(bytes)); }

struct ByteScale
{
    double divisor = 1;
    QString unit = QStringLiteral("B");

    /// The unit in which `largest` has at most four digits before the point.
    [[nodiscard]] static ByteScale of(std::uint64_t largest)
    {
        static constexpr std::array kUnits{"B", "kB", "MB", "GB", "TB", "PB"};
        ByteScale scale;
        std::size_t unit = 0;
        while (static_cast<double>(largest) / scale.divisor >= 2000 && unit + 1 < kUnits.size()) {
            scale.divisor *= 1000;
            ++unit;
        }
        scale.unit = QString::fromLatin1(kUnits[unit]);
        return scale;
    }
    /// The figure alone.
    [[nodiscard]] QString figure(std::uint64_t bytes) const
    {
        return fixedText(static_cast<double>(bytes) / divisor, divisor == 1 ? 0 : 1);
    }
    /// Figure and unit.
    [[nodiscard]] QString text(std::uint64_t bytes) const { return figure(bytes) + QLatin1Char(' ') + unit; }
};

} // namespace retro::views
