// SPDX-License-Identifier: Apache-2.0
#include "views/plan/frontierchart.h"

#include "core/base/file.h"
#include "views/common/jobrunner.h"
#include "views/common/paint/fonts.h"
#include "views/common/paint/marks.h"
#include "views/common/paint/paintfile.h"
#include "views/common/paint/theme.h"
#include "views/plan/bytescale.h"

#include <QKeyEvent>
#include <QMouseEvent>
#include <QPainter>

#include <algorithm>
#include <cmath>

namespace retro::views
{

using fonts::px;

namespace
{

// Design pixels.
constexpr double kChartLeft = 62;
constexpr double kChartTop = 22;
constexpr double kChartBottom = 24;
constexpr double kChartRight = 12;
constexpr double kFigureLines = 34; // between figures of memory

QString nodeName(const trace::Run& run, base::NodeId node)
{
    return node.isValid() && node.index() < run.graph->runNodeCount() ? RunModel::placeLabel(*run.graph, node)
                                                                      : QStringLiteral("?");
}

} // namespace

FrontierPane::FrontierPane(QWidget* parent) : DrawnPane(parent, {380, 200}, {160, 50})
{
    setAccessibleName(tr("Memory over the operators"));
    setMouseTracking(true);
    setFocusPolicy(Qt::StrongFocus);
}

void FrontierPane::setCurves(FrontierCurves curves, std::shared_ptr<const trace::Run> run)
{
    m_curves = std::move(curves);
    m_run = std::move(run);
    update();
}

void FrontierPane::setVisit(std::optional<std::uint32_t> visit)
{
    if (m_visit != visit) {
        m_visit = visit;
        update();
    }
}

QRectF FrontierPane::chart(const QSizeF& size) const
{
    return {static_cast<double>(px(kChartLeft)), static_cast<double>(px(kChartTop)),
            std::max(1.0, size.width() - px(kChartLeft) - px(kChartRight)),
            std::max(1.0, size.height() - px(kChartTop) - px(kChartBottom))};
}

double FrontierPane::x(const QRectF& chart, double position) const
{
    return chart.left() + position / std::max(1.0, 2.0 * m_curves.operators) * chart.width();
}

void FrontierPane::paint(QPainter& painter, const QSizeF& size, const Theme& theme) const
{
    painter.fillRect(QRectF(QPointF(), size), theme[Role::Base]);
    const QRectF area = chart(size);
    const double most = static_cast<double>(m_curves.most()) * 1.06;
    const auto y = [&](std::uint64_t bytes) {
        return area.bottom() - static_cast<double>(bytes) / most * area.height();
    };
    const ByteScale scale = ByteScale::of(static_cast<std::uint64_t>(most));
    painter.setFont(fonts::smallNumbers());
    const int lines = std::max(1, static_cast<int>(area.height() / px(kFigureLines)));
    for (int i = 0; i <= lines; ++i) {
        const auto bytes = static_cast<std::uint64_t>(most * i / lines);
        const double at = std::round(y(bytes)) + 0.5;
        paintHairline(painter, {area.left(), at}, {area.right(), at}, theme[i == 0 ? Role::Strong : Role::Grid]);
        painter.setPen(theme[Role::Text3]);
        painter.drawText(QRectF(0, at - px(8), area.left() - px(6), px(16)), Qt::AlignRight | Qt::AlignVCenter,
                         scale.figure(bytes));
    }
    const double width = std::max(1.5, area.width() / std::max(1.0, 2.0 * m_curves.operators) * 0.8);
    for (const FrontierRow& row : m_curves.traversal) {
        const double left = x(area, row.position) - width / 2;
        std::uint64_t below = 0;
        const auto band = [&](std::int64_t bytes, Role role) {
            const double bottom = y(below);
            below += static_cast<std::uint64_t>(bytes);
            painter.fillRect(QRectF(left, y(below), width, bottom - y(below)), theme[role]);
        };
        band(row.bytes.kept, Role::Keep);
        band(row.bytes.arguments, Role::SearchLine);
        band(row.bytes.relevance, Role::Strong);
    }
    const auto curve = [&](const std::vector<FrontierPoint>& points, Role role, Qt::PenStyle style) {
        QPolygonF line;
        for (const FrontierPoint& point : points) {
            line << QPointF(x(area, point.position), y(point.bytes));
        }
        painter.setRenderHint(QPainter::Antialiasing, true);
        painter.setPen(QPen(theme[role], 1.5, style));
        painter.setBrush(Qt::NoBrush);
        painter.drawPolyline(line);
        painter.setRenderHint(QPainter::Antialiasing, false);
    };
    curve(m_curves.forward, Role::Ghost, Qt::DotLine);
    curve(m_curves.plan, Role::FulfilLine, Qt::SolidLine);
    painter.setFont(fonts::small());
    double at = area.left();
    const auto entry = [&](const QString& words, Role role) {
        painter.fillRect(QRectF(at, px(7), px(10), px(8)), theme[role]);
        painter.setPen(theme[Role::Text2]);
        const double wide = fonts::widthOf(painter.font(), words);
        painter.drawText(QRectF(at + px(14), px(2), wide + px(4), px(18)), Qt::AlignLeft | Qt::AlignVCenter, words);
        at += wide + px(28);
    };
    entry(tr("forward frontier"), Role::Ghost);
    entry(tr("plan"), Role::FulfilLine);
    if (!m_curves.traversal.empty()) {
        entry(tr("kept"), Role::Keep);
        entry(tr("arguments"), Role::SearchLine);
        entry(tr("relevance waiting"), Role::Strong);
    }
    painter.setPen(theme[Role::Text3]);
    painter.drawText(QRectF(area.left(), area.bottom() + px(4), area.width() / 2, px(16)), Qt::AlignCenter,
                     tr("forward operators"));
    painter.drawText(QRectF(area.center().x(), area.bottom() + px(4), area.width() / 2, px(16)), Qt::AlignCenter,
                     tr("the same, backwards"));
    const auto row =
        m_visit ? std::ranges::find(m_curves.traversal, *m_visit, &FrontierRow::visit) : m_curves.traversal.end();
    if (row != m_curves.traversal.end()) {
        painter.setPen(QPen(theme[Role::Accent], 2));
        const double place = x(area, row->position);
        painter.drawLine(QPointF(place, area.top()), QPointF(place, area.bottom()));
    }
}

void FrontierPane::paintEvent(QPaintEvent* /*event*/)
{
    QPainter painter(this);
    paint(painter, QSizeF(size()), theme(this));
    paintFocus(painter);
}

/// The visit nearest to a pixel.
const FrontierRow* FrontierPane::rowAt(double pixel) const
{
    const QRectF area = chart(QSizeF(size()));
    const FrontierRow* nearest = nullptr;
    double least = px(12);
    for (const FrontierRow& row : m_curves.traversal) {
        const double distance = std::abs(x(area, row.position) - pixel);
        if (distance < least) {
            least = distance;
            nearest = &row;
        }
    }
    return nearest;
}

QString FrontierPane::tipAt(const QPointF& at) const
{
    const FrontierRow* row = rowAt(at.x());
    if (row == nullptr || !m_run) {
        return {};
    }
    const auto words = [](std::int64_t bytes) { return bytesWords(static_cast<std::uint64_t>(bytes)); };
    QString text =
        tr("Visit %1: %2\nin memory %3: kept %4, arguments %5, relevance %6")
            .arg(countText(std::int64_t{row->visit} + 1), nodeName(*m_run, row->node), words(row->bytes.sum()),
                 words(row->bytes.kept), words(row->bytes.arguments), words(row->bytes.relevance));
    const auto planned = std::ranges::find(m_curves.plan, row->position, &FrontierPoint::position);
    if (planned != m_curves.plan.end()) {
        text += tr("\nby the plan %1").arg(bytesWords(planned->bytes));
    }
    return text;
}

void FrontierPane::mousePressEvent(QMouseEvent* event)
{
    const FrontierRow* row = rowAt(event->position().x());
    if (row != nullptr && event->button() == Qt::LeftButton) {
        emit visitChosen(row->visit);
    }
}

/// ← and → go from visit to visit.
void FrontierPane::keyPressEvent(QKeyEvent* event)
{
    const bool isForward = event->key() == Qt::Key_Right;
    const std::vector<FrontierRow>& rows = m_curves.traversal;
    if ((!isForward && event->key() != Qt::Key_Left) || rows.empty()) {
        QWidget::keyPressEvent(event);
        return;
    }
    const std::uint32_t now = m_visit.value_or(rows.front().visit);
    const std::uint32_t first = rows.front().visit;
    const std::uint32_t last = rows.back().visit;
    emit visitChosen(isForward ? std::min(now + 1, last) : std::max(now, first + 1) - 1);
}

FrontierChart::FrontierChart(RunModel& model, Cursor& cursor, Selection& selection, PlanModel& plan, QWidget* parent)
    : View(model, cursor, selection, parent), m_plan(plan), m_jobs(new JobRunner(this))
{
    setAccessibleName(tr("Frontier chart"));
    setEmptyText(tr("Memory over the operators appears here, once a model is open and has run."));
    m_pane = new FrontierPane(this);
    setBody(m_pane);
    connect(m_pane, &FrontierPane::visitChosen, this, [this](quint32 visit) {
        if (this->model().hasRun() && visit < this->model().run().visitCount()) {
            this->cursor().moveTo(this->model().run().endOfVisit(visit));
        }
    });
    connect(&plan, &PlanModel::planChanged, this, [this] {
        forget();
        schedule(Change::State);
    });
    connect(&model, &RunModel::runChanged, this, &FrontierChart::forget);
}

/// A closed model or run is let go at once, also while the pane is hidden. Curves that are seen stay until others are
/// drawn.
void FrontierChart::forget()
{
    if (m_shownRun != model().sharedRun() || (m_shownPlan && !m_plan.plan())) {
        m_jobs->cancel();
        m_shownPlan.reset();
        m_shownRun.reset();
    }
    if (m_pane->run() != model().sharedRun() && !(isVisible() && model().hasRun())) {
        m_pane->setCurves({}, nullptr);
    }
}

bool FrontierChart::canShow(const SelectedThing& thing) const { return std::holds_alternative<std::monostate>(thing); }

base::Result<void> FrontierChart::exportTo(const std::filesystem::path& path)
{
    if (!model().hasRun()) {
        return base::usageError("there is no run whose memory could be drawn; open a model and run it", path.string());
    }
    if (path.extension() == ".csv") {
        return base::writeFile(path, frontierCsv(model().timeline()));
    }
    m_pane->setCurves(frontierCurves(m_plan.planOfSteps().get(), &model().timeline()), model().sharedRun());
    const QSizeF size(m_pane->size().expandedTo(m_pane->sizeHint()));
    return paintToFile(
        path, size, [&](QPainter& painter) { m_pane->paint(painter, size, theme(this)); }, tr("Frontier chart"), {}, 2);
}

void FrontierChart::refresh(Changes /*changes*/)
{
    const std::uint64_t position = model().position();
    m_pane->setVisit(position == 0 ? std::nullopt : std::optional(model().run().visitOf(position - 1)));
    if (m_shownPlan == m_plan.planOfSteps() && m_shownRun == model().sharedRun()) {
        return;
    }
    m_shownPlan = m_plan.planOfSteps();
    m_shownRun = model().sharedRun();
    std::optional<trace::Timeline> timeline = model().hasRun() ? std::optional(model().timeline()) : std::nullopt;
    m_jobs->start([this, plan = m_shownPlan, run = m_shownRun,
                   timeline = std::move(timeline)](const std::stop_token&) -> JobRunner::Delivery {
        const trace::Timeline* own = timeline ? &*timeline : nullptr;
        auto curves = std::make_shared<FrontierCurves>(frontierCurves(plan.get(), own));
        return [this, curves, run] { m_pane->setCurves(std::move(*curves), run); };
    });
}

} // namespace retro::views

#include "moc_frontierchart.cpp"
