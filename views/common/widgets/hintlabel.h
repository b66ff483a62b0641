// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QLabel>

namespace retro::views
{

/// The sentence under a title: one line, or two where the pane is narrow. What needs more ends in …, with the whole
/// sentence as tool tip.
class HintLabel final : public QLabel
{
    Q_OBJECT

public:
    explicit HintLabel(QWidget* parent = nullptr);

    [[nodiscard]] QSize sizeHint() const override;
    [[nodiscard]] QSize minimumSizeHint() const override;
    /// The lines that are painted at the present width; one before the label is on screen, when its width means
    /// nothing.
    [[nodiscard]] QStringList shownLines() const;

protected:
    void paintEvent(QPaintEvent* event) override;
    void resizeEvent(QResizeEvent* event) override;
    void showEvent(QShowEvent* event) override;
    bool event(QEvent* event) override;

private:
    [[nodiscard]] int heightOf(qsizetype lines) const;
};

} // namespace retro::views
