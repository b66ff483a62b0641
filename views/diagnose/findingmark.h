// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/diagnosis/finding.h"

#include <QWidget>

class QPainter;
class QPointF;

namespace retro::views
{

class Theme;

/// The mark of a level, a shape and a colour: ✕ error, ◆ difference, ▲ warning, ● note.
void paintFindingMark(QPainter& painter, const QPointF& center, double radius, diagnosis::Level level,
                      const Theme& theme);

/// The mark as a widget of a fixed size.
class FindingMark final : public QWidget
{
    Q_OBJECT

public:
    explicit FindingMark(diagnosis::Level level, QWidget* parent = nullptr);
    [[nodiscard]] QSize sizeHint() const override;

protected:
    void paintEvent(QPaintEvent* event) override;

private:
    diagnosis::Level m_level;
};

/// The number of a finding as a bar with a line at its limit, both in figures beside it.
class NumberBar final : public QWidget
{
    Q_OBJECT

public:
    NumberBar(const diagnosis::Finding& finding, QWidget* parent = nullptr);
    /// There is a finite number with a limit.
    [[nodiscard]] static bool fits(const diagnosis::Finding& finding);

    [[nodiscard]] QSize sizeHint() const override;
    [[nodiscard]] QSize minimumSizeHint() const override;
    /// "97.5 %, limit 60 %".
    [[nodiscard]] QString figures() const { return m_number + QStringLiteral(", ") + m_limit; }

protected:
    void paintEvent(QPaintEvent* event) override;

private:
    QString m_number;
    QString m_limit;
    double m_at = 0;
    double m_limitAt = 0;
    diagnosis::Level m_level;
};

} // namespace retro::views
