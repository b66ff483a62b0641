// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QStyledItemDelegate>

namespace retro::views
{

/// Draws the rows of the event log: figures in mono, the mode as its mark, rows after the cursor in text3, the row of
/// the cursor on the selection colour with an accent line at its left.
class LogDelegate final : public QStyledItemDelegate
{
    Q_OBJECT

public:
    using QStyledItemDelegate::QStyledItemDelegate;
    void paint(QPainter* painter, const QStyleOptionViewItem& option, const QModelIndex& index) const override;
};

} // namespace retro::views
