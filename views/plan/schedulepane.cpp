// SPDX-License-Identifier: Apache-2.0
#include "views/plan/schedulepane.h"

#include "core/schedule/peaktensors.h"
#include "views/common/paint/fonts.h"
#include "views/common/paint/theme.h"
#include "views/plan/bytescale.h"
#include "views/plan/schedulepainter.h"

#include <QKeyEvent>
#include <QMouseEvent>
#include <QPainter>
#include <QWheelEvent>

#include <algorithm>
#include <cmath>

namespace retro::views
{

namespace
{

constexpr double kMostNameColumn = 148; // design pixels
constexpr double kLeastNameColumn = 46;
constexpr double kNotch = 120; // of a wheel
constexpr double kZoomPerNotch = 1.25;
constexpr std::uint32_t kMeasuredNames = 400; // names that are measured for the width of their column

} // namespace

SchedulePane::SchedulePane(PlanModel& plan, QWidget* parent) : DrawnPane(parent, {760, 480}, {360, 220}), m_plan(plan)
{
    setFocusPolicy(Qt::StrongFocus);
    setAccessibleName(tr("Schedule"));
    setAccessibleDescription(tr("Tensors from top to bottom, steps of the plan from left to right. Arrow keys go from "
                                "step to step and from tensor to tensor."));
    connect(&plan, &PlanModel::stepChanged, this, [this] {
        m_figure.step = m_plan.step();
        if (m_drag == Drag::None && !m_figure.columns.isWhole()) {
            const double before = m_figure.columns.from;
            m_figure.columns.reveal(m_figure.step);
            m_isStillValid = m_isStillValid && before == m_figure.columns.from;
        }
        update();
    });
    connect(&plan, &PlanModel::measuredChanged, this, &SchedulePane::drop);
    connect(&plan, &PlanModel::questionChanged, this, [this] {
        m_figure.budget = m_plan.question().budget;
        drop();
    });
    connect(&ThemeHub::instance(), &ThemeHub::changed, this, &SchedulePane::drop);
}

void SchedulePane::drop()
{
    m_isStillValid = false;
    update();
}

void SchedulePane::takePlan()
{
    const bool isFirst =
        m_figure.plan == nullptr || m_plan.plan() == nullptr || m_figure.plan->subject != m_plan.plan()->subject;
    const bool isSameBefore = m_figure.planBefore == m_plan.planBefore() || (m_figure.plan && m_figure.plan->axis);
    if (m_figure.plan == m_plan.plan() && isSameBefore) {
        return;
    }
    m_figure.plan = m_plan.plan();
    m_figure.planBefore = m_plan.plan() && m_plan.plan()->axis ? nullptr : m_plan.planBefore(); // of another axis
    m_figure.measured = &m_plan.measured();
    m_figure.budget = m_plan.question().budget;
    m_figure.step = m_plan.step();
    if (m_figure.plan) {
        m_figure.columns.setCount(static_cast<double>(m_figure.plan->matrix.columns().size()));
        m_figure.rows.setCount(static_cast<double>(m_figure.plan->matrix.rows().size()));
        if (isFirst) {
            m_figure.columns.fit();
            m_figure.rows.fit();
            m_figure.row.reset();
        } else if (m_figure.row && *m_figure.row >= m_figure.plan->matrix.rows().size()) {
            m_figure.row.reset();
        }
    }
    drop();
}

void SchedulePane::setRow(std::optional<std::uint32_t> row)
{
    if (m_figure.row != row) {
        m_figure.row = row;
        if (row && !m_figure.rows.isWhole()) {
            m_figure.rows.reveal(*row);
        }
        drop();
        emit rowChanged();
    }
}

void SchedulePane::setTried(std::optional<std::uint32_t> row, bool isSearching)
{
    const bool isOther = std::exchange(m_figure.isSearching, isSearching) != isSearching;
    if (std::exchange(m_figure.tried, row) != row || isOther) {
        if (row && !m_figure.rows.isWhole()) {
            m_figure.rows.reveal(*row);
            drop();
        }
        update();
    }
}

void SchedulePane::setPromise(std::optional<std::uint32_t> promise)
{
    if (m_figure.promise != promise) {
        m_figure.promise = promise;
        drop();
    }
}

const ScheduleGap* SchedulePane::gapUnder(const QPointF& at) const
{
    if (!m_figure.plan || !m_figure.plan->axis || !layoutNow().matrix.contains(at)) {
        return nullptr;
    }
    const ScheduleFigure figure = fitted();
    const std::uint32_t row = figure.rows.itemUnder(at.y());
    const std::uint32_t column = figure.columns.itemUnder(at.x());
    return figure.plan->matrix.isLive(row, column) ? nullptr : figure.plan->axis->gapAt(row, column);
}

/// The largest of what is in memory, and why it is there.
QString SchedulePane::stackTip(std::uint32_t column) const
{
    constexpr std::size_t kMost = 6;
    QStringList lines{stepTip(column)};
    if (m_figure.plan->axis) {
        const auto there = m_figure.plan->axis->stack.at(column);
        lines.append(tr("measured %1 in %2 tensors")
                         .arg(bytesWords(m_figure.plan->axis->stack.sums[column]),
                              countText(static_cast<std::int64_t>(there.size()))));
        for (std::size_t i = 0; i < std::min(kMost, there.size()); ++i) {
            lines.append(tr("%1: %2, %3")
                             .arg(QString::fromStdString(there[i]->name), bytesWords(there[i]->bytes),
                                  QString::fromStdString(there[i]->why)));
        }
        return lines.join(QLatin1Char('\n'));
    }
    const ShownPlan& plan = *m_figure.plan;
    const auto there = schedule::tensorsAt(plan.graph(), plan.plan(), plan.run, plan.matrix.columns()[column].step);
    for (std::size_t i = 0; i < std::min(kMost, there.size()); ++i) {
        lines.append(tr("%1: %2, %3")
                         .arg(QString::fromStdString(there[i].name), bytesWords(there[i].bytes),
                              QString::fromStdString(there[i].why)));
    }
    return lines.join(QLatin1Char('\n'));
}

void SchedulePane::fit()
{
    m_figure.columns.fit();
    m_figure.rows.fit();
    drop();
}

void SchedulePane::zoom(double factor)
{
    ScheduleFigure now = fitted();
    const QRectF matrix = layoutNow().matrix;
    const double row = m_figure.row ? now.rows.pixel(*m_figure.row + 0.5) : matrix.center().y();
    now.columns.zoomAt(std::clamp(now.columns.pixel(m_figure.step + 0.5), matrix.left(), matrix.right()), factor);
    now.rows.zoomAt(std::clamp(row, matrix.top(), matrix.bottom()), factor);
    m_figure.columns = now.columns;
    m_figure.rows = now.rows;
    drop();
}

double SchedulePane::nameWidth() const
{
    double width = fonts::px(kLeastNameColumn);
    const QFontMetricsF metrics(fonts::small(QFont::DemiBold));
    const auto rows = m_figure.plan ? std::min<std::size_t>(m_figure.plan->matrix.rows().size(), kMeasuredNames) : 0;
    for (std::uint32_t row = 0; row < rows; ++row) {
        width = std::max(width, metrics.horizontalAdvance(m_figure.plan->rowLabel(row)) + fonts::px(8));
    }
    return std::min<double>(width, fonts::px(kMostNameColumn));
}

ScheduleLayout SchedulePane::layoutNow() const
{
    return layoutSchedule(QSizeF(size()), m_figure.plan ? m_figure.plan->tree.levels : 0, nameWidth(), fonts::scale());
}

ScheduleFigure SchedulePane::fitted() const
{
    ScheduleFigure figure = m_figure;
    figure.fitTo(layoutNow());
    return figure;
}

void SchedulePane::paint(QPainter& painter, const QSizeF& size, const Theme& colors) const
{
    if (!m_figure.plan) {
        return;
    }
    const ScheduleLayout layout = layoutSchedule(size, m_figure.plan->tree.levels, nameWidth(), fonts::scale());
    ScheduleFigure figure = m_figure;
    figure.fitTo(layout);
    painter.fillRect(QRectF(QPointF(), size), colors[Role::Base]);
    SchedulePainter schedule(painter, figure, layout, colors);
    schedule.paintStill();
    schedule.paintMoving();
}

void SchedulePane::paintEvent(QPaintEvent* /*event*/)
{
    QPainter painter(this);
    const Theme& colors = theme(this);
    if (!m_figure.plan) {
        painter.fillRect(rect(), colors[Role::Base]);
        return;
    }
    const ScheduleLayout layout = layoutNow();
    const ScheduleFigure figure = fitted();
    const double ratio = devicePixelRatioF();
    if (!m_isStillValid || m_still.size() != size() * ratio) {
        m_still = QPixmap(size() * ratio);
        m_still.setDevicePixelRatio(ratio);
        m_still.fill(colors[Role::Base]);
        QPainter into(&m_still);
        SchedulePainter(into, figure, layout, colors).paintStill();
        m_isStillValid = true;
        ++m_paintings;
    }
    painter.drawPixmap(0, 0, m_still);
    SchedulePainter(painter, figure, layout, colors).paintMoving();
    if (hasFocus()) {
        painter.setPen(QPen(colors[Role::Accent], 1));
        painter.setBrush(Qt::NoBrush);
        painter.drawRect(layout.matrix.adjusted(-1.5, -0.5, 0.5, 0.5));
    }
}

void SchedulePane::changeEvent(QEvent* event)
{
    m_isStillValid = false;
    QWidget::changeEvent(event);
}

void SchedulePane::resizeEvent(QResizeEvent* event)
{
    m_isStillValid = false;
    QWidget::resizeEvent(event);
}

QString SchedulePane::stepTip(std::uint32_t column) const
{
    const ScheduleColumn& at = m_figure.plan->matrix.columns()[column];
    return tr("Step %1 of %2: %3\n%4 in memory, %5 tensors of the forward sweep")
        .arg(countText(std::int64_t{column} + 1),
             countText(static_cast<std::int64_t>(m_figure.plan->matrix.columns().size())),
             m_figure.plan->stepWords(column), bytesWords(at.bytes), countText(std::int64_t{at.live}));
}

QString SchedulePane::cellTip(std::uint32_t row, std::uint32_t column) const
{
    const ShownPlan& plan = *m_figure.plan;
    const bool isHere = plan.matrix.isLive(row, column);
    const QString state = isHere ? tr("in memory") : tr("not in memory");
    return tr("%1: %2, %3 at this step\n%4: %5\n%6")
        .arg(plan.rowName(row), bytesWords(plan.bytesOf(row)), state, wordOf(plan.matrix.rows()[row].decision),
             plan.reasonOf(row), stepTip(column));
}

QString SchedulePane::tipAt(const QPointF& at) const
{
    if (!m_figure.plan || m_figure.plan->matrix.columns().empty()) {
        return {};
    }
    const ScheduleLayout layout = layoutNow();
    const ScheduleFigure figure = fitted();
    const bool isRow =
        at.y() >= layout.matrix.top() && at.y() < layout.matrix.bottom() && !figure.plan->matrix.rows().empty();
    if (const ScheduleGap* gap = gapUnder(at)) {
        return tr("%1: dropped; P%2 will bring it").arg(figure.plan->rowName(gap->row)).arg(gap->promise) +
               QLatin1Char('\n') + stepTip(figure.columns.itemUnder(at.x()));
    }
    if (layout.curve.contains(at)) {
        return stackTip(figure.columns.itemUnder(at.x()));
    }
    if (layout.matrix.contains(at) && isRow) {
        return cellTip(figure.rows.itemUnder(at.y()), figure.columns.itemUnder(at.x()));
    }
    if (isRow && at.x() < layout.tree.left()) {
        const std::uint32_t row = figure.rows.itemUnder(at.y());
        return tr("%1: %2\n%3: %4")
            .arg(figure.plan->rowName(row), bytesWords(figure.plan->bytesOf(row)),
                 wordOf(figure.plan->matrix.rows()[row].decision), figure.plan->reasonOf(row));
    }
    return figure.columns.holds(at.x()) ? stepTip(figure.columns.itemUnder(at.x())) : QString();
}

void SchedulePane::chooseRow(std::uint32_t row)
{
    setRow(row);
    emit rowChosen(row);
}

void SchedulePane::mousePressEvent(QMouseEvent* event)
{
    if (!m_figure.plan || event->button() != Qt::LeftButton) {
        return;
    }
    const ScheduleLayout layout = layoutNow();
    const QPointF at = event->position();
    m_last = at;
    if (layout.matrix.contains(at) || layout.names.contains(at) || layout.tree.contains(at)) {
        m_drag = Drag::Pan;
        if (const ScheduleGap* gap = gapUnder(at)) {
            setRow(gap->row);
            emit gapChosen(gap->promise, gap->from);
            return;
        }
        chooseRow(fitted().rows.itemUnder(at.y()));
        if (layout.matrix.contains(at)) {
            scrubTo(at.x());
        }
    } else if (at.x() >= layout.matrix.left() && at.x() <= layout.matrix.right()) {
        m_drag = Drag::Scrub;
        scrubTo(at.x());
    }
}

void SchedulePane::mouseMoveEvent(QMouseEvent* event)
{
    const QPointF at = event->position();
    if (m_drag == Drag::Scrub) {
        scrubTo(at.x());
    } else if (m_drag == Drag::Pan && !(m_figure.columns.isWhole() && m_figure.rows.isWhole())) {
        ScheduleFigure now = fitted();
        now.columns.pan(at.x() - m_last.x());
        now.rows.pan(at.y() - m_last.y());
        m_figure.columns = now.columns;
        m_figure.rows = now.rows;
        drop();
    }
    m_last = at;
}

void SchedulePane::mouseReleaseEvent(QMouseEvent* /*event*/) { m_drag = Drag::None; }

void SchedulePane::mouseDoubleClickEvent(QMouseEvent* /*event*/) { fit(); }

void SchedulePane::wheelEvent(QWheelEvent* event)
{
    if (!m_figure.plan) {
        return;
    }
    event->accept();
    const QPoint turn = event->angleDelta();
    const double notches = (turn.y() != 0 ? turn.y() : turn.x()) / kNotch;
    ScheduleFigure now = fitted();
    if (event->modifiers().testFlag(Qt::ShiftModifier)) {
        now.columns.pan(notches * fonts::px(60));
    } else {
        const double factor = std::pow(kZoomPerNotch, notches);
        now.columns.zoomAt(event->position().x(), factor);
        if (!event->modifiers().testFlag(Qt::ControlModifier)) {
            now.rows.zoomAt(event->position().y(), factor);
        }
    }
    m_figure.columns = now.columns;
    m_figure.rows = now.rows;
    drop();
}

void SchedulePane::moveRow(int by)
{
    const auto rows = static_cast<std::int64_t>(m_figure.plan->matrix.rows().size());
    if (rows > 0) {
        const std::int64_t now = m_figure.row ? std::int64_t{*m_figure.row} + by : 0;
        chooseRow(static_cast<std::uint32_t>(std::clamp<std::int64_t>(now, 0, rows - 1)));
    }
}

bool SchedulePane::moveKey(int key)
{
    const std::int64_t step = m_plan.step();
    switch (key) {
    case Qt::Key_Left:
        m_plan.setStep(step - 1);
        return true;
    case Qt::Key_Right:
        m_plan.setStep(step + 1);
        return true;
    case Qt::Key_PageUp:
        m_plan.setStep(step - 10);
        return true;
    case Qt::Key_PageDown:
        m_plan.setStep(step + 10);
        return true;
    case Qt::Key_Home:
        m_plan.setStep(0);
        return true;
    case Qt::Key_End:
        m_plan.setStep(static_cast<std::int64_t>(m_figure.plan->matrix.columns().size()));
        return true;
    case Qt::Key_Up:
        moveRow(-1);
        return true;
    case Qt::Key_Down:
        moveRow(1);
        return true;
    default:
        return false;
    }
}

bool SchedulePane::zoomKey(int key)
{
    if (key == Qt::Key_Plus || key == Qt::Key_Equal) {
        zoom(kZoomPerNotch);
    } else if (key == Qt::Key_Minus) {
        zoom(1 / kZoomPerNotch);
    } else if (key == Qt::Key_0) {
        fit();
    } else {
        return false;
    }
    return true;
}

bool SchedulePane::choiceKey(int key)
{
    if (!m_figure.row || (key != Qt::Key_K && key != Qt::Key_R)) {
        return false;
    }
    m_plan.choose(m_figure.plan->matrix.rows()[*m_figure.row].value,
                  key == Qt::Key_K ? Decision::Keep : Decision::Recompute);
    return true;
}

void SchedulePane::keyPressEvent(QKeyEvent* event)
{
    const bool isPlain = (event->modifiers() & (Qt::ControlModifier | Qt::AltModifier)) == 0;
    const int key = event->key();
    if (!m_figure.plan || !isPlain || !(moveKey(key) || zoomKey(key) || choiceKey(key))) {
        QWidget::keyPressEvent(event);
    }
}

} // namespace retro::views

#include "moc_schedulepane.cpp"
