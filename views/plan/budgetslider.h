// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QSlider>

namespace retro::views
{

/// A slider from nothing to what storing everything needs, in thousandths. The part for which no plan is known is drawn
/// in the alarm colour and dashed; below it stand the per cents.
class BudgetSlider final : public QSlider
{
    Q_OBJECT

public:
    static constexpr int kSteps = 1000;

    explicit BudgetSlider(QWidget* parent = nullptr);
    /// Share (0…1) below which no plan is known.
    void setUnknown(double share);
    [[nodiscard]] double unknown() const { return m_unknown; }
    [[nodiscard]] QSize sizeHint() const override;
    [[nodiscard]] QSize minimumSizeHint() const override;

protected:
    void paintEvent(QPaintEvent* event) override;
    void mousePressEvent(QMouseEvent* event) override;
    void mouseMoveEvent(QMouseEvent* event) override;
    void mouseReleaseEvent(QMouseEvent* event) override;

private:
    [[nodiscard]] double pixelOf(double share) const;
    void goTo(double x);

    double m_unknown = 0;
};

} // namespace retro::views
