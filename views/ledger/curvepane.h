// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "views/common/paint/theme.h"
#include "views/common/run/timerange.h"
#include "views/common/widgets/drawnpane.h"
#include "views/ledger/ledgercurve.h"

#include <QRectF>

#include <memory>
#include <optional>

class QPainter;

namespace retro::views
{

/// A curve with what of it is drawn.
struct CurveFigure
{
    std::shared_ptr<const LedgerCurve> curve = std::make_shared<const LedgerCurve>();
    std::optional<VisitRange> range; ///< none = the whole run
    double cursorVisit = 0;          ///< where the line of the cursor stands, in visits from 0

    /// Visits that are drawn: from the first to behind the last.
    [[nodiscard]] std::uint32_t first() const;
    [[nodiscard]] std::uint32_t end() const;
};

/// Room of the chart within an area: beside the figures of its axis, below the legend.
[[nodiscard]] QRectF curveChart(const QRectF& area);
/// Shares of what started over the visits: at the bottom what has arrived, above it what is on its way, hatched on top
/// what was absorbed (or, above 100 %, added).
void paintCurve(QPainter& painter, const CurveFigure& figure, const QRectF& area, const Theme& theme);
/// "Visit 12: 34.0 % arrived, 63.9 % on its way, 2.1 % absorbed". `visits` are done.
[[nodiscard]] QString curveWords(const LedgerCurve& curve, std::uint32_t visits);

/// The ledger over time. A click or ← → moves the cursor; the pointer at rest gets the figures of a visit.
class CurvePane final : public DrawnPane
{
    Q_OBJECT

public:
    explicit CurvePane(QWidget* parent = nullptr);
    void setFigure(CurveFigure figure);
    [[nodiscard]] const CurveFigure& figure() const { return m_figure; }
    /// The visit at a pixel, within what is drawn.
    [[nodiscard]] std::uint32_t visitAt(double x) const;
    [[nodiscard]] QString tipAt(const QPointF& at) const override;

signals:
    /// The end of this visit is wanted.
    void visitWanted(quint32 visit);

protected:
    void paintEvent(QPaintEvent* event) override;
    void mousePressEvent(QMouseEvent* event) override;
    void keyPressEvent(QKeyEvent* event) override;

private:
    CurveFigure m_figure;
};

} // namespace retro::views
