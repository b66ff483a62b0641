// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QWidget>

class QLabel;
class QToolButton;

namespace retro::views
{

/// One line in a corner of the graph, with a button: what is going on, or what is highlighted. Hidden until it says
/// something.
class GraphNote final : public QWidget
{
    Q_OBJECT

public:
    /// `button` and `tip` say what pressing it does.
    GraphNote(const QString& button, const QString& tip, QWidget* parent);

    /// Shows a line; an empty one hides the note.
    void say(const QString& text);
    void setButton(const QString& button, const QString& tip);
    [[nodiscard]] QString text() const;

signals:
    void pressed();

protected:
    void paintEvent(QPaintEvent* event) override;

private:
    QLabel* m_text = nullptr;
    QToolButton* m_button = nullptr;
};

} // namespace retro::views
