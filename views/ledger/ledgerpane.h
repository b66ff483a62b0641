// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "views/ledger/ledgerfigures.h"

#include <QWidget>

namespace retro::views
{

/// Paints the waterfall of books.
class LedgerPane final : public QWidget
{
    Q_OBJECT

public:
    explicit LedgerPane(QWidget* parent = nullptr);
    void setBooks(LedgerBooks books);
    [[nodiscard]] const LedgerBooks& books() const { return m_books; }
    [[nodiscard]] QSize sizeHint() const override;
    [[nodiscard]] QSize minimumSizeHint() const override;

protected:
    void paintEvent(QPaintEvent* event) override;

private:
    LedgerBooks m_books;
};

} // namespace retro::views
