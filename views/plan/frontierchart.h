// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "views/common/view.h"
#include "views/common/widgets/drawnpane.h"
#include "views/plan/frontiercurve.h"
#include "views/plan/planmodel.h"

#include <QRectF>

namespace retro::views
{

class JobRunner;
class Theme;

/// The three curves, painted. A click goes to the visit nearest to a place; hovering says operator and figures.
class FrontierPane final : public DrawnPane
{
    Q_OBJECT

public:
    explicit FrontierPane(QWidget* parent = nullptr);

    void setCurves(FrontierCurves curves, std::shared_ptr<const trace::Run> run);
    /// The visit of the cursor; none = no mark.
    void setVisit(std::optional<std::uint32_t> visit);
    [[nodiscard]] const FrontierCurves& curves() const { return m_curves; }
    /// That the curves are of; null = none.
    [[nodiscard]] const std::shared_ptr<const trace::Run>& run() const { return m_run; }
    void paint(QPainter& painter, const QSizeF& size, const Theme& theme) const;
    /// What stands at a place, in words; empty where nothing is.
    [[nodiscard]] QString tipAt(const QPointF& at) const override;

signals:
    void visitChosen(quint32 visit);

protected:
    void paintEvent(QPaintEvent* event) override;
    void mousePressEvent(QMouseEvent* event) override;
    void keyPressEvent(QKeyEvent* event) override;

private:
    [[nodiscard]] QRectF chart(const QSizeF& size) const;
    [[nodiscard]] double x(const QRectF& chart, double position) const;
    [[nodiscard]] const FrontierRow* rowAt(double pixel) const;

    FrontierCurves m_curves;
    std::shared_ptr<const trace::Run> m_run;
    std::optional<std::uint32_t> m_visit;
};

/// Memory over the operators of the forward pass: any forward pass in the chosen order, the plan, and the run.
class FrontierChart final : public View
{
    Q_OBJECT

public:
    FrontierChart(RunModel& model, Cursor& cursor, Selection& selection, PlanModel& plan, QWidget* parent = nullptr);

    [[nodiscard]] QString title() const override { return tr("Frontier chart"); }
    [[nodiscard]] QString hint() const override
    {
        return tr("Memory over the forward operators, the second half mirrored.");
    }
    [[nodiscard]] bool canShow(const SelectedThing& thing) const override;
    [[nodiscard]] bool canBeWritten() const override { return model().hasRun(); }
    [[nodiscard]] base::Result<void> exportTo(const std::filesystem::path& path) override;
    [[nodiscard]] FrontierPane& pane() const { return *m_pane; }

protected:
    void refresh(Changes changes) override;

private:
    void forget();

    PlanModel& m_plan;
    FrontierPane* m_pane = nullptr;
    JobRunner* m_jobs = nullptr;
    ShownPlanPointer m_shownPlan;
    std::shared_ptr<const trace::Run> m_shownRun;
};

} // namespace retro::views
