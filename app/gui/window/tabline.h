// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QWidget>

namespace retro::views
{
class HintLabel;
} // namespace retro::views

namespace retro::app
{

/// What is written above a dock.
struct DockCaption
{
    QString name;    ///< "Relevance for “mug”"
    QString subject; ///< what it is of: "at the input"; may be empty
    QString hint;    ///< one sentence; may be empty
    bool operator==(const DockCaption&) const = default;
};

/// Under a row of tabs, in place of a title bar: what the tab does not say of the caption, as one text that goes on in
/// a second line where it needs one. No height without words. GUI thread.
class TabLine final : public QWidget
{
    Q_OBJECT

public:
    explicit TabLine(QWidget* parent = nullptr);

    /// `tab` is what the tab says.
    void setCaption(const DockCaption& caption, const QString& tab);
    /// What it says, as it is read.
    [[nodiscard]] QString words() const;
    [[nodiscard]] QSize sizeHint() const override;
    [[nodiscard]] QSize minimumSizeHint() const override;

protected:
    void paintEvent(QPaintEvent* event) override;

private:
    views::HintLabel* m_words = nullptr;
};

} // namespace retro::app
