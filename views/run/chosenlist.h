// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QStringList>
#include <QWidget>

class QHBoxLayout;
class QListWidget;
class QToolButton;

namespace retro::views
{

/// A short list under a heading, of what was chosen elsewhere: here it is seen and taken back, by button or Del. As
/// high as its lines, up to six. GUI thread.
class ChosenList final : public QWidget
{
    Q_OBJECT

public:
    struct Words
    {
        QString title;
        QString removeTip;
        QString listName; ///< for screen readers
        QString itemTip;  ///< %1 = the item; may be empty
    };

    explicit ChosenList(const Words& words, QWidget* parent = nullptr);

    /// Other items, without saying removed().
    void setTexts(const QStringList& texts);
    [[nodiscard]] QStringList texts() const;
    /// Puts a button before the one that removes.
    void addButton(QToolButton& button);

signals:
    /// The person took one away.
    void removed();

private:
    void removeChosen();
    void showState();

    QString m_itemTip;
    QHBoxLayout* m_head = nullptr;
    QListWidget* m_list = nullptr;
    QToolButton* m_remove = nullptr;
};

} // namespace retro::views
