// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QWidget>

class QDockWidget;
class QHBoxLayout;
class QLabel;
class QToolButton;

namespace retro::views
{

/// Title bar of a dock: bold name, what it is of, tools, float and close; below it one sentence that says what the view
/// shows. Set with QDockWidget::setTitleBarWidget. The dock owns it.
class DockTitle final : public QWidget
{
    Q_OBJECT

public:
    explicit DockTitle(QDockWidget& dock);

    /// What the view is of: "3 × 96 × 96", "5 best of 6". Empty hides it.
    void setSubject(const QString& subject);
    /// One sentence in the user's words. Empty hides the line.
    void setHint(const QString& hint);
    /// Shows or hides the sentences of this title (a setting of the window).
    void setHintShown(bool isShown);
    /// A control before the float button.
    void addTool(QWidget* tool);

    [[nodiscard]] QString subject() const;
    [[nodiscard]] QString hint() const;

protected:
    void paintEvent(QPaintEvent* event) override;
    void mouseDoubleClickEvent(QMouseEvent* event) override;

private:
    void updateHint();

    QDockWidget& m_dock;
    QWidget* m_bar = nullptr;
    QHBoxLayout* m_tools = nullptr;
    QLabel* m_name = nullptr;
    QLabel* m_subject = nullptr;
    QLabel* m_hint = nullptr;
    bool m_isHintShown = true;
};

/// A button of a title: an icon, with `tip` as its name, too.
[[nodiscard]] QToolButton* makeTitleButton(const QString& icon, const QString& tip, QWidget* parent);

} // namespace retro::views
