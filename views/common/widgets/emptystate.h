// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QWidget>

class QLabel;
class QProgressBar;
class QPushButton;
class QTimer;

namespace retro::views
{

/// What a view shows while it has nothing to show: a sentence and a button, a job under way, or an error.
class EmptyState final : public QWidget
{
    Q_OBJECT

public:
    explicit EmptyState(QWidget* parent = nullptr);

    /// One sentence and, when `button` is not empty, one button (activated()).
    void showEmpty(const QString& sentence, const QString& button = {});
    /// Stage in words and how much is done (0…1, negative = unknown); a Cancel button (cancelled()) comes after 300 ms.
    void showLoading(const QString& stage, double fraction);
    /// First line what happened, second what to do; ✕ in the alarm colour.
    void showError(const QString& what, const QString& remedy);

signals:
    void activated();
    void cancelled();

protected:
    void paintEvent(QPaintEvent* event) override;

private:
    enum class Kind { Empty, Loading, Error };
    void setKind(Kind kind);
    void applyColors();

    Kind m_kind = Kind::Empty;
    QLabel* m_first = nullptr;
    QLabel* m_second = nullptr;
    QProgressBar* m_bar = nullptr;
    QPushButton* m_button = nullptr;
    QTimer* m_cancelDelay = nullptr;
};

} // namespace retro::views
