// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "views/promises/promisestory.h"

#include <QWidget>

class QBoxLayout;
class QLabel;
class QPushButton;

namespace retro::views
{

class ElidedLabel;

/// The story of the selected promise or node, with buttons that move the cursor.
class WhyPane final : public QWidget
{
    Q_OBJECT

public:
    explicit WhyPane(QWidget* parent = nullptr);

    void setStory(const PromiseStory& story, const QString& openedVisit, const QString& fulfilledVisit);
    /// Nothing is selected.
    void clear();
    [[nodiscard]] const PromiseStory& story() const { return m_story; }
    /// Narrower than the buttons side by side: they go below each other.
    [[nodiscard]] QSize minimumSizeHint() const override;

signals:
    void openingRequested();
    void fulfilmentRequested();
    void nodeRequested();

protected:
    void paintEvent(QPaintEvent* event) override;
    void resizeEvent(QResizeEvent* event) override;

private:
    void applyColors();
    PromiseStory m_story;
    ElidedLabel* m_title = nullptr;
    QWidget* m_badge = nullptr;
    QLabel* m_known = nullptr;
    QLabel* m_missing = nullptr;
    QLabel* m_details = nullptr;
    QLabel* m_operands = nullptr;
    QBoxLayout* m_buttons = nullptr;
    QPushButton* m_opened = nullptr;
    QPushButton* m_fulfilled = nullptr;
    QPushButton* m_node = nullptr;
};

} // namespace retro::views
