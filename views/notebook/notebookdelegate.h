// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QStyledItemDelegate>

namespace retro::views
{

/// Draws the rows of the notebook: a pin before the step of pinned rows, the mode as its mark, the present place on the
/// selection colour with an accent line at its left. Edits comments in one line.
class NotebookDelegate final : public QStyledItemDelegate
{
    Q_OBJECT

public:
    using QStyledItemDelegate::QStyledItemDelegate;
    void paint(QPainter* painter, const QStyleOptionViewItem& option, const QModelIndex& index) const override;
    [[nodiscard]] QWidget* createEditor(QWidget* parent, const QStyleOptionViewItem& option,
                                        const QModelIndex& index) const override;
};

} // namespace retro::views
