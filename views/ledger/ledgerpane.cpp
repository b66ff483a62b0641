// SPDX-License-Identifier: Apache-2.0
#include "views/ledger/ledgerpane.h"

#include "views/common/paint/fonts.h"
#include "views/ledger/waterfall.h"

#include <QPainter>

namespace retro::views
{

LedgerPane::LedgerPane(QWidget* parent) : QWidget(parent) {}

void LedgerPane::setBooks(LedgerBooks books)
{
    m_books = std::move(books);
    setAccessibleDescription(booksSentence(m_books));
    updateGeometry();
    update();
}

QSize LedgerPane::sizeHint() const
{
    const double height = m_books.isEmpty() ? 0 : layoutWaterfall(m_books, {0, 0, 400, 0}).height;
    return {fonts::px(420), static_cast<int>(height) + fonts::px(8)};
}

/// With the lowest rows; the pane takes more where there is more.
QSize LedgerPane::minimumSizeHint() const
{
    const double height = m_books.isEmpty() ? 0 : layoutWaterfall(m_books, {0, 0, 400, 1}).height;
    return {fonts::px(220), static_cast<int>(height) + fonts::px(4)};
}

void LedgerPane::paintEvent(QPaintEvent* /*event*/)
{
    if (m_books.isEmpty()) {
        return;
    }
    const double margin = fonts::px(10);
    QPainter painter(this);
    paintWaterfall(painter, m_books, layoutWaterfall(m_books, QRectF(rect()).adjusted(margin, 2, -margin, 0)),
                   theme(this));
}

} // namespace retro::views
