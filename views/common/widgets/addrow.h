// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QWidget>

class QLineEdit;
class QToolButton;

namespace retro::views
{

/// The row above or below a list in which something new is typed, with the button that adds it. GUI thread.
class AddRow final : public QWidget
{
    Q_OBJECT

public:
    struct Words
    {
        QString example; ///< stands in the empty line
        QString lineName;
        QString lineTip;
        QString buttonName; ///< for screen readers
        QString buttonTip;
    };

    explicit AddRow(const Words& words, QWidget* parent = nullptr);

    [[nodiscard]] QLineEdit& line() const { return *m_line; }
    [[nodiscard]] QToolButton& button() const { return *m_button; }

signals:
    /// Return in the line.
    void typed();
    /// The button, also with an empty line.
    void pressed();

private:
    QLineEdit* m_line = nullptr;
    QToolButton* m_button = nullptr;
};

} // namespace retro::views
