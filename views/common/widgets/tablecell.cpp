// SPDX-License-Identifier: Apache-2.0
#include "views/common/widgets/tablecell.h"

#include "views/common/paint/fonts.h"

#include <Qt>

namespace retro::views
{

int cellAlignment(bool isFigure) { return int((isFigure ? Qt::AlignRight : Qt::AlignLeft) | Qt::AlignVCenter); }

QFont cellFont(bool isFigure, bool isStrong)
{
    const QFont::Weight weight = isStrong ? QFont::DemiBold : QFont::Normal;
    return isFigure ? fonts::numbers(weight) : fonts::label(weight);
}

} // namespace retro::views
