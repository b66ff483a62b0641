// SPDX-License-Identifier: Apache-2.0
#include "views/lut/streamsview.h"

#include "views/common/numbertext.h"
#include "views/common/paint/fonts.h"
#include "views/common/paint/marks.h"
#include "views/common/paint/theme.h"
#include "views/lut/dataflowpane.h"
#include "views/lut/dataflowview.h"
#include "views/lut/flowpicture.h"
#include "views/lut/lutchoice.h"

#include <QMouseEvent>
#include <QPainter>

#include <algorithm>
#include <cmath>

namespace retro::views
{

namespace
{

constexpr double kLabels = 66;
constexpr double kRight = 16;
constexpr double kAxis = 26;
constexpr double kStreamRow = 28;
constexpr double kBar = 22;

/// A round step that gives at most about eight figures.
double stepFor(double end)
{
    if (!(end > 0)) {
        return 1;
    }
    const double power = std::pow(10.0, std::floor(std::log10(end / 4)));
    const double share = end / 4 / power;
    return power * (share > 5 ? 5 : share > 2 ? 2 : 1);
}

/// Colours of a launch: filled once it is done, lit at the cursor.
struct BarRoles
{
    Role edge = Role::Strong;
    Role fill = Role::Base;
    Role text = Role::Text;
};

BarRoles rolesOf(const std::optional<RunLaunch>& launch, const std::optional<RunLaunch>& now, std::uint64_t position)
{
    if (!launch || launch->position > position) {
        return {};
    }
    return launch == now ? BarRoles{Role::Accent, Role::Accent, Role::OnAccent}
                         : BarRoles{Role::Ink, Role::Ink, Role::Base};
}

} // namespace

StreamsPane::StreamsPane(QWidget* parent) : DrawnPane(parent) {}

void StreamsPane::setLayer(std::vector<lut::Schedule> schedules, const std::vector<RunLaunch>& launches,
                           const ops::LutDeviceTimes* measured)
{
    m_schedules = std::move(schedules);
    m_launches = launches;
    m_times = launchTimes(m_schedules, measured, [this](lut::Pass pass, std::size_t place) {
        const auto at = std::ranges::find_if(
            m_launches, [&](const RunLaunch& one) { return one.pass == pass && one.place == place && one.seconds; });
        return at == m_launches.end() ? std::nullopt : at->seconds;
    });
    updateGeometry();
    update();
}

void StreamsPane::setPosition(std::uint64_t position)
{
    m_position = position;
    update();
}

double StreamsPane::end() const
{
    double end = 0;
    for (const LaunchTime& time : m_times) {
        end = std::max(end, time.end);
    }
    return end;
}

std::uint32_t StreamsPane::streams() const
{
    std::uint32_t count = 1;
    for (const LaunchTime& time : m_times) {
        count = std::max(count, m_schedules[time.pass].launches[time.launch].stream + 1);
    }
    return count;
}

double StreamsPane::xOf(double seconds) const
{
    const double left = fonts::px(kLabels);
    const double room = std::max(width() - left - fonts::px(kRight), 1.0);
    return left + (end() > 0 ? seconds / end() * room : 0);
}

QRectF StreamsPane::barOf(const LaunchTime& time) const
{
    const double top = fonts::px(kAxis) + fonts::px(kStreamRow) * m_schedules[time.pass].launches[time.launch].stream +
                       (fonts::px(kStreamRow) - fonts::px(kBar)) / 2.0;
    return {xOf(time.start), top, std::max(xOf(time.end) - xOf(time.start), 2.0), double(fonts::px(kBar))};
}

QSize StreamsPane::minimumSizeHint() const
{
    return {fonts::px(260), fonts::px(kAxis) + fonts::px(kStreamRow) * static_cast<int>(streams()) + fonts::px(8)};
}

std::optional<RunLaunch> StreamsPane::launchOf(const LaunchTime& time) const
{
    return launchOfKernel(m_launches, m_schedules[time.pass].pass, time.launch, m_position);
}

const LaunchTime* StreamsPane::timeAt(const QPointF& point) const
{
    const auto at = std::ranges::find_if(
        m_times, [&](const LaunchTime& time) { return barOf(time).adjusted(-1, 0, 1, 0).contains(point); });
    return at == m_times.end() ? nullptr : &*at;
}

void StreamsPane::paintEvent(QPaintEvent*)
{
    QPainter painter(this);
    painter.fillRect(rect(), theme(this)[Role::Base]);
    paintAll(painter);
}

void StreamsPane::paintAll(QPainter& painter) const
{
    paintAxis(painter);
    for (const LaunchTime& time : m_times) {
        paintBar(painter, time);
    }
    for (const LaunchTime& time : m_times) {
        if (time.waitsUntil > 0) {
            paintWait(painter, time);
        }
    }
}

void StreamsPane::paintAxis(QPainter& painter) const
{
    const Theme& colors = theme(this);
    painter.setFont(fonts::smallNumbers());
    const double bottom = fonts::px(kAxis) + fonts::px(kStreamRow) * streams();
    for (std::uint32_t stream = 0; stream < streams(); ++stream) {
        const QRectF row(0, fonts::px(kAxis) + fonts::px(kStreamRow) * stream, width(), fonts::px(kStreamRow));
        painter.fillRect(row.adjusted(fonts::px(kLabels), 2, -fonts::px(kRight), -2), colors[Role::Alt]);
        painter.setPen(colors[Role::Text2]);
        painter.setFont(fonts::label());
        painter.drawText(row.adjusted(fonts::px(8), 0, 0, 0), Qt::AlignVCenter | Qt::AlignLeft,
                         tr("Stream %1").arg(stream));
    }
    painter.setFont(fonts::smallNumbers());
    const double step = stepFor(end());
    for (double at = 0; at <= end() && end() > 0; at += step) {
        const double x = std::round(xOf(at)) + 0.5;
        paintHairline(painter, {x, double(fonts::px(kAxis))}, {x, bottom}, colors[Role::Grid]);
        painter.setPen(colors[Role::Text3]);
        painter.drawText(QRectF(x - 40, 4, 80, fonts::px(kAxis) - 6), Qt::AlignCenter, valueText(at * 1e6, 3));
    }
    painter.setPen(colors[Role::Text3]);
    painter.drawText(QRectF(fonts::px(8), 4, fonts::px(kLabels), fonts::px(kAxis) - 6),
                     Qt::AlignVCenter | Qt::AlignLeft, QStringLiteral("µs"));
}

void StreamsPane::paintBar(QPainter& painter, const LaunchTime& time) const
{
    const Theme& colors = theme(this);
    const std::optional<RunLaunch> launch = launchOf(time);
    const BarRoles roles = rolesOf(launch, latestLaunch(m_launches, m_position), m_position);
    const QRectF bar = barOf(time).adjusted(0.5, 0.5, -0.5, -0.5);
    painter.setPen(colors[roles.edge]);
    painter.setBrush(colors[roles.fill]);
    painter.drawRect(bar);
    const lut::Launch& one = m_schedules[time.pass].launches[time.launch];
    const QString number = QString::number(launchNumber(m_schedules, time.pass, time.launch));
    const QString name = number + QLatin1Char(' ') + textOf(lut::nameOf(one.kernel));
    painter.setFont(fonts::small());
    const double room = bar.width() - fonts::px(6);
    const QString text = fonts::widthOf(fonts::small(), name) < room     ? name
                         : fonts::widthOf(fonts::small(), number) < room ? number
                                                                         : QString();
    painter.setPen(colors[roles.text]);
    painter.drawText(bar.adjusted(fonts::px(4), 0, 0, 0), Qt::AlignVCenter | Qt::AlignLeft, text);
}

/// An arrow from the end of what is waited for to the start of who waits.
void StreamsPane::paintWait(QPainter& painter, const LaunchTime& time) const
{
    const lut::Launch& launch = m_schedules[time.pass].launches[time.launch];
    painter.setPen(QPen(theme(this)[Role::SearchLine], 1.5, Qt::DotLine));
    for (const LaunchTime& other : m_times) {
        const bool isWaitedFor =
            other.pass == time.pass && std::ranges::find(launch.waitsFor, other.launch) != launch.waitsFor.end();
        if (isWaitedFor) {
            const QRectF from = barOf(other);
            const QRectF to = barOf(time);
            const double y = from.top() < to.top() ? to.top() : to.bottom();
            painter.drawLine(QPointF(from.right(), from.center().y()), QPointF(to.left(), from.center().y()));
            painter.drawLine(QPointF(to.left(), from.center().y()), QPointF(to.left(), y));
        }
    }
}

QString StreamsPane::tipAt(const QPointF& at) const
{
    const LaunchTime* time = timeAt(at);
    if (time == nullptr) {
        return {};
    }
    const lut::Launch& launch = m_schedules[time->pass].launches[time->launch];
    return (time->isMeasured   ? tr("%1, %2\nmoves %3 in %4 µs (measured on the GPU)")
            : time->isRecorded ? tr("%1, %2\nmoves %3 in %4 µs (in this run)")
            : time->isIdle     ? tr("%1, %2\nmoves %3 in %4 µs (another kernel did its work)")
                               : tr("%1, %2\nmoves %3 in %4 µs (modelled)"))
        .arg(passWord(m_schedules[time->pass].pass), textOf(lut::nameOf(launch.kernel)),
             bytesText(static_cast<std::int64_t>(time->bytes)), valueText((time->end - time->start) * 1e6, 3));
}

void StreamsPane::mousePressEvent(QMouseEvent* event)
{
    const LaunchTime* time = timeAt(event->position());
    const std::optional<RunLaunch> launch = time != nullptr ? launchOf(*time) : std::nullopt;
    if (launch && event->button() == Qt::LeftButton) {
        emit launchChosen(launch->position);
        return;
    }
    QWidget::mousePressEvent(event);
}

StreamsView::StreamsView(RunModel& model, Cursor& cursor, Selection& selection, LutChoice& choice, QWidget* parent)
    : View(model, cursor, selection, parent), m_choice(choice)
{
    setAccessibleName(tr("Streams of a LUT layer"));
    setEmptyText(tr("What runs beside what appears here, once a model with a LUT layer was explained."));
    m_pane = new StreamsPane(this);
    m_pane->setAccessibleName(tr("Launches over time"));
    setBody(m_pane);
    connect(m_pane, &StreamsPane::launchChosen, this,
            [this](std::uint64_t position) { this->cursor().moveTo(position); });
    connect(&choice, &LutChoice::layerChanged, this, [this] { schedule(Change::Run); });
    connect(&choice, &LutChoice::deviceTimesChanged, this, [this] { schedule(Change::Run); });
}

QString StreamsView::subject() const
{
    const auto measured = std::ranges::count_if(m_pane->times(), &LaunchTime::isMeasured);
    const bool isRecorded = std::ranges::any_of(m_pane->times(), &LaunchTime::isRecorded);
    if (isRecorded) {
        return measured == 0 ? tr("as it ran") : tr("measured on the GPU; relevance as it ran");
    }
    return measured == 0                             ? tr("modelled, not measured")
           : measured == std::ssize(m_pane->times()) ? tr("measured on the GPU")
                                                     : tr("measured on the GPU; relevance modelled");
}

QString StreamsView::hint() const
{
    if (std::ranges::any_of(m_pane->times(), &LaunchTime::isMeasured)) {
        return tr("How long each kernel takes by the GPU's clock, one at a time; dotted lines are waits.");
    }
    if (std::ranges::any_of(m_pane->times(), &LaunchTime::isRecorded)) {
        return tr("How long each kernel took in this run; dotted lines are waits.");
    }
    return tr("When each kernel would run on a processor that copies 10 GB each second; dotted lines are waits.");
}

bool StreamsView::canShow(const SelectedThing& thing) const
{
    const auto* node = std::get_if<base::NodeId>(&thing);
    return node != nullptr && m_choice.layer() != nullptr && m_choice.layer()->node == *node;
}

QString StreamsView::emptyReason() const { return lutEmptyReason(m_choice); }

void StreamsView::refresh(Changes changes)
{
    if (changes.testFlag(Change::Run)) {
        const LutLayer* layer = m_choice.layer();
        const bool hasRun = layer != nullptr && m_choice.path() == layer->path;
        m_pane->setLayer(m_choice.schedules(), hasRun ? layer->launches : std::vector<RunLaunch>(),
                         m_choice.deviceTimes().get());
        m_choice.wantDeviceTimes();
        emit captionChanged();
    }
    m_pane->setPosition(model().position());
}

} // namespace retro::views

#include "moc_streamsview.cpp"
