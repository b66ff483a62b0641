// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "views/common/view.h"
#include "views/plan/planmodel.h"

class QTreeWidget;
class QTreeWidgetItem;

namespace retro::views
{

/// What is true of the planned graph whatever the plan: orders of the forward operators, bounds, the criteria of
/// height-compressibility, cut sets and the longest skip; and what fills the peak of the plan on screen. A click on an
/// order plans in it.
class AnalysisView final : public View
{
    Q_OBJECT

public:
    AnalysisView(RunModel& model, Cursor& cursor, Selection& selection, PlanModel& plan, QWidget* parent = nullptr);

    [[nodiscard]] QString title() const override { return tr("Analysis"); }
    [[nodiscard]] QString subject() const override;
    [[nodiscard]] QString hint() const override { return tr("What is true of this graph, whatever the plan."); }
    [[nodiscard]] bool canShow(const SelectedThing& thing) const override;
    [[nodiscard]] QTreeWidget& table() const { return *m_table; }

protected:
    void refresh(Changes changes) override;
    void resizeEvent(QResizeEvent* event) override;
    [[nodiscard]] QString emptyReason() const override { return m_plan.whyNoSubject(tr("Nothing to analyse: %1")); }

private:
    QTreeWidgetItem& addPart(const QString& title, const QString& figure, const QString& note);
    void addOrders(const PlanAnalysis& analysis);
    void addLimits(const PlanAnalysis& analysis);
    void addVerdict(const PlanAnalysis& analysis);
    void addCuts(const PlanAnalysis& analysis);
    void addPeak(const ShownPlan& plan);
    void use(const QTreeWidgetItem& item);
    void fitNames();

    PlanModel& m_plan;
    QTreeWidget* m_table = nullptr;
};

} // namespace retro::views
