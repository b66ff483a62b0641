// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "views/promises/promisestory.h"

#include <QWidget>

class QLabel;
class QPushButton;

namespace retro::views
{

class ElidedLabel;

/// "Why is it waiting?": the story of the selected promise with buttons that move the cursor.
class WhyPane final : public QWidget
{
    Q_OBJECT

public:
    explicit WhyPane(QWidget* parent = nullptr);

    void setStory(const PromiseStory& story, const QString& openedVisit, const QString& fulfilledVisit);
    /// No promise is selected.
    void clear();
    [[nodiscard]] const PromiseStory& story() const { return m_story; }

signals:
    void openingRequested();
    void fulfilmentRequested();
    void nodeRequested();

protected:
    void paintEvent(QPaintEvent* event) override;

private:
    void applyColors();
    PromiseStory m_story;
    ElidedLabel* m_title = nullptr;
    QWidget* m_badge = nullptr;
    QLabel* m_known = nullptr;
    QLabel* m_missing = nullptr;
    QLabel* m_details = nullptr;
    QPushButton* m_opened = nullptr;
    QPushButton* m_fulfilled = nullptr;
    QPushButton* m_node = nullptr;
};

} // namespace retro::views
