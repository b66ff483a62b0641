// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QBoxLayout>
#include <QMargins>

namespace retro::views
{

/// A row or column (QHBoxLayout, QVBoxLayout) of a widget, or of none yet, with margins and the space between its
/// items, in pixels.
template <class Box>
[[nodiscard]] Box* makeBox(QWidget* parent, const QMargins& margins, int spacing)
{
    auto* box = new Box(parent);
    box->setContentsMargins(margins);
    box->setSpacing(spacing);
    return box;
}

} // namespace retro::views
