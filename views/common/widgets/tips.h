// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>

class QEvent;
class QPointF;
class QString;
class QWidget;

namespace retro::views
{

/// Answers the question for a tip, in event() of a widget that paints what it shows: the tip of the place under the
/// pointer, or none where there are no words for it. False for any other event.
[[nodiscard]] bool showTip(QWidget& widget, QEvent& event, const std::function<QString(const QPointF&)>& tipAt);

} // namespace retro::views
