// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QWidget>

#include <vector>

class QAbstractButton;
class QComboBox;
class QHBoxLayout;
class QMenu;
class QToolButton;

namespace retro::views
{

/// A row of controls that are never squeezed: where it is too narrow for all, some step aside into a menu at its end.
/// The first choice stays.
class ControlRow final : public QWidget
{
    Q_OBJECT

public:
    explicit ControlRow(QWidget* parent = nullptr);

    /// A choice; `title` is what the menu calls it.
    void addChoice(QComboBox& combo, const QString& title);
    /// A check box.
    void addOption(QAbstractButton& option);
    /// Buttons at the right end, added after everything else; they step aside together.
    void addTools(const std::vector<QToolButton*>& tools);
    /// Fills the menu with what has stepped aside; the button that opens it does so each time.
    void fillMenu(QMenu& menu) const;

    [[nodiscard]] QSize minimumSizeHint() const override;

protected:
    void resizeEvent(QResizeEvent* event) override;

private:
    /// Something that steps aside as a whole.
    struct Part
    {
        std::vector<QWidget*> widgets;
        QString title;
    };
    [[nodiscard]] int widthOf(const Part& part) const;
    void arrange(int width);

    QHBoxLayout* m_row = nullptr;
    QToolButton* m_more = nullptr;
    QMenu* m_menu = nullptr;
    std::vector<Part> m_parts; ///< those that stay longest first
    std::size_t m_shown = 0;
};

} // namespace retro::views
