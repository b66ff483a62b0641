// SPDX-License-Identifier: Apache-2.0
#include "app/common/exportplan.h"

#include "app/common/guiapplication.h"
#include "core/base/file.h"
#include "views/common/paint/paintfile.h"
#include "views/common/paint/theme.h"
#include "views/plan/planmodel.h"
#include "views/plan/schedulepane.h"
#include "views/plan/scheduleview.h"

namespace retro::app
{

base::Result<void> exportPlan(const views::ShownPlanPointer& plan, const std::filesystem::path& path, bool isDark,
                              const QSize& size)
{
    if (path.extension() == ".csv") {
        return base::writeFile(path, views::scheduleCsv(*plan, {}));
    }
    ensureGuiApplication();
    views::PlanModel model;
    model.setSubject(plan->subject);
    model.setBudget(plan->question.budget);
    model.takePlan(plan);
    views::SchedulePane pane(model);
    pane.takePlan();
    const views::Theme& theme = views::Theme::of(isDark ? views::ThemeKind::Dark : views::ThemeKind::Light);
    return views::paintToFile(
        path, QSizeF(size), [&](QPainter& painter) { pane.paint(painter, QSizeF(size), theme); },
        QStringLiteral("Plan"), {{"model", plan->subject->model.toStdString()}, {"planner", plan->result.planner}}, 2);
}

} // namespace retro::app
