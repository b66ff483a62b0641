// SPDX-License-Identifier: Apache-2.0
#include "views/common/run/gradientnote.h"

#include <QCoreApplication>

namespace retro::views
{

QString gradientSentence()
{
    return QCoreApplication::translate(
        "retro::views::GradientNote",
        "A gradient is not conserved: its sum at a layer is no share of the score, so there are no books to keep.");
}

} // namespace retro::views
