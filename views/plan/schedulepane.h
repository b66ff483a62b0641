// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "views/common/widgets/drawnpane.h"
#include "views/plan/planmodel.h"
#include "views/plan/schedulefigure.h"

#include <QPixmap>

#include <optional>

namespace retro::views
{

class Theme;

/// The painted schedule: interval tree, matrix and memory on shared axes. A click selects a tensor and goes to the
/// step, a drag over ruler or curve scrubs, a drag over the matrix moves what is in sight, the wheel zooms at the
/// pointer (Ctrl: steps alone, Shift: moves), a double click shows all. Keys: ← → step, ↑ ↓ tensor, Home, End, + −, 0
/// shows all, K keeps, R recomputes.
class SchedulePane final : public DrawnPane
{
    Q_OBJECT

public:
    SchedulePane(PlanModel& plan, QWidget* parent = nullptr);

    /// Another plan, or another one before it.
    void takePlan();
    /// The row that is selected elsewhere; none = no row.
    void setRow(std::optional<std::uint32_t> row);
    [[nodiscard]] std::optional<std::uint32_t> row() const { return m_figure.row; }
    /// The row whose value a search for a plan lets go, or makes again, just now.
    void setTried(std::optional<std::uint32_t> row, bool isSearching);
    /// The promise that is selected elsewhere; the rows that it brings are marked.
    void setPromise(std::optional<std::uint32_t> promise);
    /// Shows the whole plan.
    void fit();
    void zoom(double factor);
    /// Draws the pane at any size.
    void paint(QPainter& painter, const QSizeF& size, const Theme& theme) const;
    /// What stands under a point, in words; empty where nothing is.
    [[nodiscard]] QString tipAt(const QPointF& at) const override;
    [[nodiscard]] const ScheduleFigure& figure() const { return m_figure; }
    [[nodiscard]] ScheduleLayout layoutNow() const;
    /// How often the still part was painted.
    [[nodiscard]] int paintings() const { return m_paintings; }

signals:
    /// Another tensor is marked.
    void rowChanged();
    /// A tensor was chosen here.
    void rowChosen(quint32 row);
    /// The time in which a promise waits was chosen.
    void gapChosen(quint32 promise, quint32 column);

protected:
    void paintEvent(QPaintEvent* event) override;
    void changeEvent(QEvent* event) override;
    void resizeEvent(QResizeEvent* event) override;
    void mousePressEvent(QMouseEvent* event) override;
    void mouseMoveEvent(QMouseEvent* event) override;
    void mouseReleaseEvent(QMouseEvent* event) override;
    void mouseDoubleClickEvent(QMouseEvent* event) override;
    void wheelEvent(QWheelEvent* event) override;
    void keyPressEvent(QKeyEvent* event) override;

private:
    enum class Drag : std::uint8_t { None, Scrub, Pan };
    [[nodiscard]] ScheduleFigure fitted() const;
    [[nodiscard]] double nameWidth() const;
    [[nodiscard]] QString cellTip(std::uint32_t row, std::uint32_t column) const;
    [[nodiscard]] QString stepTip(std::uint32_t column) const;
    [[nodiscard]] bool zoomKey(int key);
    [[nodiscard]] bool moveKey(int key);
    [[nodiscard]] bool choiceKey(int key);
    [[nodiscard]] const ScheduleGap* gapUnder(const QPointF& at) const;
    [[nodiscard]] QString stackTip(std::uint32_t column) const;
    void chooseRow(std::uint32_t row);
    void moveRow(int by);
    void scrubTo(double x) { m_plan.setStep(fitted().columns.itemUnder(x)); }
    void drop();

    PlanModel& m_plan;
    ScheduleFigure m_figure;
    QPixmap m_still;
    bool m_isStillValid = false;
    int m_paintings = 0;
    Drag m_drag = Drag::None;
    QPointF m_last;
};

} // namespace retro::views
