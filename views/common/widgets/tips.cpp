// SPDX-License-Identifier: Apache-2.0
#include "views/common/widgets/tips.h"

#include <QHelpEvent>
#include <QToolTip>

namespace retro::views
{

bool showTip(QWidget& widget, QEvent& event, const std::function<QString(const QPointF&)>& tipAt)
{
    if (event.type() != QEvent::ToolTip) {
        return false;
    }
    const auto& help = static_cast<const QHelpEvent&>(event);
    const QString tip = tipAt(help.pos());
    if (tip.isEmpty()) {
        QToolTip::hideText();
    } else {
        QToolTip::showText(help.globalPos(), tip, &widget);
    }
    return true;
}

} // namespace retro::views
