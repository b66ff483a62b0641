// SPDX-License-Identifier: Apache-2.0
#include "app/gui/shell/problemscontroller.h"

#include "views/common/actions.h"
#include "views/common/paint/fonts.h"
#include "views/common/paint/icons.h"
#include "views/common/paint/theme.h"
#include "views/common/widgets/docktitle.h"
#include "views/problems/problemspanel.h"

#include <QDockWidget>
#include <QMainWindow>
#include <QPainter>
#include <QStatusBar>
#include <QTableView>

#include <cmath>

namespace retro::app
{

namespace
{

using views::Problem;
using views::ProblemOrigin;
using views::Role;
using views::Severity;
using views::fonts::px;

constexpr int kFirstHeight = 156;

} // namespace

ProblemBadge::ProblemBadge(const views::ProblemList& list, QWidget* parent) : QAbstractButton(parent), m_list(list)
{
    setFocusPolicy(Qt::TabFocus);
    setCheckable(true);
    connect(&list, &views::ProblemList::changed, this, &ProblemBadge::take);
    take();
}

void ProblemBadge::take()
{
    const int errors = m_list.count(Severity::Error);
    const int warnings = m_list.count(Severity::Warning);
    QStringList parts;
    if (errors > 0) {
        parts << (errors == 1 ? tr("1 error") : tr("%1 errors").arg(errors));
    }
    if (warnings > 0) {
        parts << (warnings == 1 ? tr("1 warning") : tr("%1 warnings").arg(warnings));
    }
    setText(parts.isEmpty() ? tr("No problems") : parts.join(QStringLiteral(", ")));
    setAccessibleName(tr("Problems: %1").arg(text()));
    updateGeometry();
    update();
}

QString ProblemBadge::iconName() const
{
    return m_list.count(Severity::Error) > 0     ? QStringLiteral("close")
           : m_list.count(Severity::Warning) > 0 ? QStringLiteral("warning")
                                                 : QStringLiteral("check");
}

QSize ProblemBadge::sizeHint() const
{
    const double width = views::fonts::widthOf(views::fonts::label(), text());
    return {static_cast<int>(std::ceil(width)) + px(16 + 14 + 6), px(22)};
}

void ProblemBadge::paintGround(QPainter& painter) const
{
    const views::Theme& colors = views::theme(this);
    if (underMouse() || isChecked() || hasFocus()) {
        painter.setPen(hasFocus() ? QPen(colors[Role::Accent], 1) : QPen(Qt::NoPen));
        painter.setBrush(colors[isChecked() ? Role::Sel : Role::Button]);
        painter.drawRoundedRect(QRectF(rect()).adjusted(1.5, 1.5, -1.5, -1.5), 3, 3);
    }
}

void ProblemBadge::paintEvent(QPaintEvent* /*event*/)
{
    const views::Theme& colors = views::theme(this);
    QPainter painter(this);
    painter.setRenderHint(QPainter::Antialiasing);
    paintGround(painter);
    const bool isError = m_list.count(Severity::Error) > 0;
    const bool isWarning = !isError && m_list.count(Severity::Warning) > 0;
    const QString icon = iconName();
    const Role calm = isWarning ? Role::SearchText : Role::Text3;
    QRectF box = QRectF(rect()).adjusted(px(8), 0, -px(6), 0);
    const int side = px(14);
    painter.drawPixmap(QPointF(box.left(), box.center().y() - side / 2.0),
                       views::icons::pixmap(icon, side, colors[isError ? Role::AlarmText : calm], devicePixelRatioF()));
    box.setLeft(box.left() + side + px(6));
    painter.setFont(views::fonts::label());
    painter.setPen(colors[isError ? Role::AlarmText : Role::Text]);
    painter.drawText(box, Qt::AlignVCenter | Qt::AlignLeft, text());
}

ProblemsController::ProblemsController(QMainWindow& window, views::ActionRegistry& actions,
                                       const WorkspaceContext& context)
    : QObject(&window), m_window(window), m_model(context.model)
{
    m_panel = new views::ProblemsPanel(m_list, context.model, context.cursor, context.selection, &window);
    m_dock = new QDockWidget(tr("Problems"), &window);
    m_dock->setObjectName(QStringLiteral("problems"));
    m_dock->setFeatures(QDockWidget::DockWidgetClosable);
    m_dock->setAllowedAreas(Qt::BottomDockWidgetArea);
    m_dock->setWidget(m_panel);
    auto* title = new views::DockTitle(*m_dock);
    m_dock->setTitleBarWidget(title);
    window.addDockWidget(Qt::BottomDockWidgetArea, m_dock);
    m_dock->hide();
    auto* badge = new ProblemBadge(m_list, &window);
    window.statusBar()->addPermanentWidget(badge);
    QAction& action = actions.at(QStringLiteral("window.problems"));
    badge->setToolTip(action.toolTip());
    connect(&action, &QAction::triggered, this, &ProblemsController::showList);
    connect(badge, &QAbstractButton::clicked, &action, &QAction::trigger);
    connect(m_dock, &QDockWidget::visibilityChanged, this, [this, &action, badge] {
        action.setChecked(!m_dock->isHidden());
        badge->setChecked(!m_dock->isHidden());
    });
    connect(&m_list, &views::ProblemList::changed, title, [this, title] {
        title->setSubject(m_list.all().empty() ? QString() : QString::number(m_list.all().size()));
    });
    connect(&m_list, &views::ProblemList::errorAdded, this, [this] {
        m_cameByItself = m_cameByItself || m_dock->isHidden();
        open();
    });
    // Queued: a list may be emptied and filled again.
    connect(&m_list, &views::ProblemList::changed, this, &ProblemsController::goAgain, Qt::QueuedConnection);
}

/// What opened by itself does not stay to say that there is nothing.
void ProblemsController::goAgain()
{
    if (m_cameByItself && m_list.all().empty()) {
        m_cameByItself = false;
        m_dock->hide();
    }
}

void ProblemsController::open()
{
    m_dock->show();
    if (!m_hasHeight) {
        m_hasHeight = true;
        m_window.resizeDocks({m_dock}, {px(kFirstHeight)}, Qt::Vertical);
    }
}

void ProblemsController::showList(bool isShown)
{
    m_cameByItself = false;
    if (!isShown) {
        m_dock->hide();
        return;
    }
    open();
    m_panel->table().setFocus(Qt::ShortcutFocusReason);
}

void ProblemsController::addError(ProblemOrigin origin, const QString& what, const QString& remedy)
{
    m_list.add({Severity::Error, origin, what, remedy});
}

void ProblemsController::clear()
{
    for (const auto origin : {ProblemOrigin::Job, ProblemOrigin::File, ProblemOrigin::Model, ProblemOrigin::Run,
                              ProblemOrigin::Layout, ProblemOrigin::Diagnosis}) {
        m_list.clear(origin);
    }
}

void ProblemsController::takeModel(std::vector<Problem> problems)
{
    m_list.clear(ProblemOrigin::Run);
    m_list.clear(ProblemOrigin::Layout);
    m_list.clear(ProblemOrigin::Diagnosis);
    m_list.replace(ProblemOrigin::Model, std::move(problems));
}

void ProblemsController::takeRun(const std::vector<std::string>& warnings)
{
    std::vector<Problem> problems = m_model.derived<RunProblems>()->all;
    for (const std::string& warning : warnings) {
        problems.push_back({Severity::Warning, ProblemOrigin::Run, QString::fromStdString(warning)});
    }
    m_list.clear(ProblemOrigin::Job);
    m_list.replace(ProblemOrigin::Run, std::move(problems));
}

} // namespace retro::app

#include "moc_problemscontroller.cpp"
