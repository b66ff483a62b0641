// SPDX-License-Identifier: Apache-2.0
#include "views/plan/snapshotview.h"

#include "core/base/file.h"
#include "core/formats/memorysnapshot.h"
#include "views/common/csv.h"
#include "views/common/jobrunner.h"
#include "views/common/numbertext.h"
#include "views/common/paint/fonts.h"
#include "views/common/paint/marks.h"
#include "views/common/paint/paintfile.h"
#include "views/common/paint/theme.h"
#include "views/common/widgets/boxes.h"
#include "views/common/widgets/listtable.h"
#include "views/plan/bytescale.h"
#include "views/plan/scheduleaxis.h"

#include <QComboBox>
#include <QFileInfo>
#include <QHeaderView>
#include <QPainter>
#include <QSplitter>
#include <QTableWidget>
#include <QVBoxLayout>

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>

namespace retro::views
{

using fonts::px;

namespace
{

constexpr std::uint64_t kBlock = 512;    ///< an allocator of PyTorch rounds up to that
constexpr std::size_t kMostAhead = 1024; ///< allocations that a result is looked for among

std::vector<LineAtPeak> linesOf(const formats::MemorySnapshot& snapshot, const formats::MemoryCourse& course)
{
    std::map<std::string, LineAtPeak> byLine;
    for (const formats::StackAtPeak& one : course.atPeak) {
        const std::string text = formats::frameText(snapshot, one.stack);
        LineAtPeak& line = byLine[text];
        line.line = QString::fromStdString(text);
        line.bytes += one.bytes;
        line.blocks += one.blocks;
    }
    std::vector<LineAtPeak> lines;
    for (auto& [text, line] : byLine) {
        lines.push_back(std::move(line));
    }
    std::ranges::stable_sort(lines, [](const LineAtPeak& a, const LineAtPeak& b) { return a.bytes > b.bytes; });
    return lines;
}

/// Between neighbours that are known, in equal steps; before the first and behind the last to the ends.
std::vector<double> filledIn(const std::vector<std::optional<double>>& known, double end)
{
    std::vector<double> all(known.size());
    std::size_t from = 0; // one past the last known column
    double at = 0;
    for (std::size_t i = 0; i <= known.size(); ++i) {
        if (i < known.size() && !known[i]) {
            continue;
        }
        const double next = i < known.size() ? *known[i] : end;
        const double steps = static_cast<double>(i - from + 1);
        for (std::size_t k = from; k < i; ++k) {
            all[k] = at + (next - at) * static_cast<double>(k - from + 1) / steps;
        }
        if (i < known.size()) {
            all[i] = next;
        }
        at = next;
        from = i + 1;
    }
    return all;
}

// Design pixels.
constexpr double kTraceLeft = 62;
constexpr double kTraceTop = 22;
constexpr double kTraceBottom = 22;
constexpr double kTraceRight = 12;
constexpr double kTraceLines = 36; // between figures of memory

} // namespace

std::vector<DeviceMemoryPointer> deviceMemories(const formats::MemorySnapshot& snapshot, const QString& file)
{
    std::vector<DeviceMemoryPointer> all;
    for (formats::MemoryCourse& course : formats::memoryCourses(snapshot)) {
        auto memory = std::make_shared<DeviceMemory>();
        memory->file = file;
        memory->atPeak = linesOf(snapshot, course);
        if (course.device < snapshot.traces.size()) {
            const std::vector<formats::AllocatorEvent>& trace = snapshot.traces[course.device];
            for (std::size_t i = 0; i < trace.size(); ++i) {
                if (trace[i].action == formats::AllocatorAction::Alloc) {
                    memory->allocations.emplace_back(i + 1, trace[i].size);
                }
            }
        }
        memory->course = std::move(course);
        all.push_back(std::move(memory));
    }
    return all;
}

PlanOverTrace planOverTrace(const ShownPlan& plan, const DeviceMemory& memory)
{
    PlanOverTrace over;
    const auto columns = plan.matrix.columns();
    std::vector<std::optional<double>> known(columns.size());
    std::size_t next = 0; // the first allocation that is free
    for (std::size_t i = 0; i < columns.size(); ++i) {
        if (columns[i].op == analysis::kNone) {
            continue;
        }
        ++over.columns;
        for (const analysis::OpValueId id : plan.graph().op(columns[i].op).outputs) {
            const std::uint64_t bytes = plan.graph().value(id).bytes;
            const std::uint64_t most = (bytes + kBlock - 1) / kBlock * kBlock;
            const auto begin = memory.allocations.begin() + static_cast<std::ptrdiff_t>(next);
            const auto end = memory.allocations.begin() +
                             static_cast<std::ptrdiff_t>(std::min(next + kMostAhead, memory.allocations.size()));
            const auto found = std::find_if(
                begin, end, [&](const auto& one) { return one.second >= bytes && one.second <= most && bytes > 0; });
            if (found != end) {
                next = static_cast<std::size_t>(found - memory.allocations.begin()) + 1;
                known[i] = static_cast<double>(found->first);
            }
        }
        over.matched += known[i] ? 1 : 0;
    }
    over.events = filledIn(known, static_cast<double>(memory.course.events));
    return over;
}

SnapshotChart::SnapshotChart(QWidget* parent) : DrawnPane(parent, {420, 190}, {180, 80})
{
    setAccessibleName(tr("Memory of the device over its trace"));
    setMouseTracking(true);
}

void SnapshotChart::setMemory(DeviceMemoryPointer memory)
{
    m_memory = std::move(memory);
    layOver();
}

void SnapshotChart::setPlan(ShownPlanPointer plan)
{
    m_plan = std::move(plan);
    layOver();
}

void SnapshotChart::layOver()
{
    m_over = m_memory && m_plan ? planOverTrace(*m_plan, *m_memory) : PlanOverTrace();
    update();
}

QRectF SnapshotChart::area(const QSizeF& size) const
{
    return {static_cast<double>(px(kTraceLeft)), static_cast<double>(px(kTraceTop)),
            std::max(1.0, size.width() - px(kTraceLeft) - px(kTraceRight)),
            std::max(1.0, size.height() - px(kTraceTop) - px(kTraceBottom))};
}

std::uint64_t SnapshotChart::most() const
{
    const std::uint64_t plan = m_over.isEmpty() ? 0 : m_plan->matrix.peak();
    return std::max<std::uint64_t>({m_memory->course.reservedPeak, m_memory->course.peak.allocated, plan, 1});
}

void SnapshotChart::paint(QPainter& painter, const QSizeF& size, const Theme& theme) const
{
    painter.fillRect(QRectF(QPointF(), size), theme[Role::Base]);
    if (!m_memory) {
        return;
    }
    const QRectF chart = area(size);
    const double top = static_cast<double>(most()) * 1.05;
    const double end = std::max(1.0, static_cast<double>(m_memory->course.events));
    const auto x = [&](double event) { return chart.left() + event / end * chart.width(); };
    const auto y = [&](std::uint64_t bytes) {
        return chart.bottom() - static_cast<double>(bytes) / top * chart.height();
    };
    const ByteScale scale = ByteScale::of(static_cast<std::uint64_t>(top));
    painter.setFont(fonts::smallNumbers());
    const double step = markStep(chart.height() / (top / scale.divisor), px(kTraceLines));
    for (double figure = 0; figure * scale.divisor <= top; figure += step) {
        const double at = std::round(y(static_cast<std::uint64_t>(figure * scale.divisor))) + 0.5;
        paintHairline(painter, {chart.left(), at}, {chart.right(), at}, theme[figure == 0 ? Role::Strong : Role::Grid]);
        painter.setPen(theme[Role::Text3]);
        const QString text = fixedText(figure, step < 1 ? 1 : 0);
        painter.drawText(QRectF(0, at - px(8), chart.left() - px(6), px(16)), Qt::AlignRight | Qt::AlignVCenter,
                         figure == 0 ? text + QLatin1Char(' ') + scale.unit : text);
    }
    QPolygonF allocated{QPointF(chart.left(), chart.bottom())};
    QPolygonF reserved;
    for (const formats::MemoryMoment& moment : m_memory->course.moments) {
        allocated << QPointF(x(static_cast<double>(moment.event)), y(moment.allocated));
        reserved << QPointF(x(static_cast<double>(moment.event)), y(moment.reserved));
    }
    if (!m_memory->course.moments.empty()) {
        allocated << QPointF(allocated.back().x(), chart.bottom());
    }
    painter.setRenderHint(QPainter::Antialiasing, true);
    painter.setPen(Qt::NoPen);
    painter.setBrush(theme[Role::Keep]);
    painter.drawPolygon(allocated);
    painter.setBrush(Qt::NoBrush);
    painter.setPen(QPen(theme[Role::Text3], 1.2, Qt::DotLine));
    painter.drawPolyline(reserved);
    if (!m_over.isEmpty()) {
        QPolygonF planned;
        const auto columns = m_plan->matrix.columns();
        for (std::size_t i = 0; i < columns.size(); ++i) {
            planned << QPointF(x(m_over.events[i]), y(columns[i].bytes));
        }
        painter.setPen(QPen(theme[Role::FulfilLine], 1.6));
        painter.drawPolyline(planned);
    }
    painter.setRenderHint(QPainter::Antialiasing, false);
    const double peak = std::round(x(static_cast<double>(m_memory->course.peak.event))) + 0.5;
    paintHairline(painter, {peak, chart.top()}, {peak, chart.bottom()}, theme[Role::Accent]);
    painter.setFont(fonts::small());
    double at = chart.left();
    const auto entry = [&](const QString& words, Role role) {
        painter.fillRect(QRectF(at, px(7), px(10), px(8)), theme[role]);
        painter.setPen(theme[Role::Text2]);
        const double wide = fonts::widthOf(painter.font(), words);
        painter.drawText(QRectF(at + px(14), px(2), wide + px(4), px(18)), Qt::AlignLeft | Qt::AlignVCenter, words);
        at += wide + px(28);
    };
    entry(tr("allocated"), Role::Keep);
    entry(tr("reserved"), Role::Text3);
    if (!m_over.isEmpty()) {
        entry(tr("plan"), Role::FulfilLine);
    }
    painter.setPen(theme[Role::Text3]);
    painter.drawText(
        QRectF(chart.left(), chart.bottom() + 2, chart.width(), px(18)), Qt::AlignRight | Qt::AlignVCenter,
        tr("%1 events of the allocator").arg(countText(static_cast<std::int64_t>(m_memory->course.events))));
}

QString SnapshotChart::tipAt(const QPointF& at) const
{
    const QRectF chart = area(size());
    if (!m_memory || m_memory->course.moments.empty() || !chart.adjusted(-2, -2, 2, 2).contains(at)) {
        return {};
    }
    const double event =
        (at.x() - chart.left()) / chart.width() * std::max(1.0, static_cast<double>(m_memory->course.events));
    const auto after = std::ranges::upper_bound(m_memory->course.moments, event, {},
                                                [](const auto& moment) { return static_cast<double>(moment.event); });
    const formats::MemoryMoment& moment = after == m_memory->course.moments.begin() ? *after : *(after - 1);
    QString text = tr("after event %1: %2 allocated, %3 reserved")
                       .arg(countText(static_cast<std::int64_t>(moment.event)), bytesWords(moment.allocated),
                            bytesWords(moment.reserved));
    if (!m_over.isEmpty()) {
        const auto column = std::ranges::lower_bound(m_over.events, event);
        const std::size_t i =
            std::min(static_cast<std::size_t>(column - m_over.events.begin()), m_over.events.size() - 1);
        text += QLatin1Char('\n') + tr("plan: %1 at %2")
                                        .arg(bytesWords(m_plan->matrix.columns()[i].bytes),
                                             m_plan->stepWords(static_cast<std::uint32_t>(i)));
    }
    return text;
}

void SnapshotChart::paintEvent(QPaintEvent*)
{
    QPainter painter(this);
    paint(painter, size(), theme(this));
}

SnapshotView::SnapshotView(RunModel& model, Cursor& cursor, Selection& selection, PlanModel& plan, QWidget* parent)
    : View(model, cursor, selection, parent), m_plan(plan), m_jobs(new JobRunner(this))
{
    setAccessibleName(tr("Snapshot of PyTorch's memory"));
    setEmptyText(tr("Open a memory snapshot of PyTorch (.pickle) to see it here, below the plan."));
    auto* body = new QWidget(this);
    auto* column = makeBox<QVBoxLayout>(body, {}, 0);
    m_device = new QComboBox(body);
    m_device->setAccessibleName(tr("Device"));
    column->addWidget(m_device, 0, Qt::AlignLeft);
    auto* parts = new QSplitter(Qt::Horizontal, body);
    parts->setChildrenCollapsible(false);
    m_chart = new SnapshotChart(parts);
    m_lines = new QTableWidget(parts);
    m_lines->setAccessibleName(tr("Lines of source at the peak"));
    m_lines->setColumnCount(3);
    m_lines->setHorizontalHeaderLabels({tr("At the peak"), tr("Blocks"), tr("Asked for by")});
    m_lines->horizontalHeader()->setStretchLastSection(true);
    m_lines->horizontalHeader()->setMinimumSectionSize(px(40));
    m_lines->setEditTriggers(QAbstractItemView::NoEditTriggers);
    makeList(*m_lines, px(22));
    parts->addWidget(m_chart);
    parts->addWidget(m_lines);
    parts->setStretchFactor(0, 3);
    parts->setStretchFactor(1, 2);
    column->addWidget(parts, 1);
    setBody(body);
    connect(m_device, &QComboBox::currentIndexChanged, this, &SnapshotView::showDevice);
    connect(&plan, &PlanModel::planChanged, this, [this] {
        if (!m_plan.plan()) {
            m_chart->setPlan(nullptr); // a closed model is let go at once, also while the pane is hidden
        }
        schedule(Change::State);
    });
}

void SnapshotView::open(const QString& path)
{
    m_jobs->start([this, path](const std::stop_token&) -> JobRunner::Delivery {
        const auto snapshot = formats::readMemorySnapshot(path.toStdString());
        if (!snapshot.ok()) {
            const QString what = QString::fromStdString(snapshot.error().text());
            return [this, what] { emit failed(what); };
        }
        std::vector<DeviceMemoryPointer> memories = deviceMemories(*snapshot, QFileInfo(path).fileName());
        return [this, memories = std::move(memories)]() mutable { setMemories(std::move(memories)); };
    });
}

void SnapshotView::setMemories(std::vector<DeviceMemoryPointer> memories)
{
    m_memories = std::move(memories);
    m_device->clear();
    for (const DeviceMemoryPointer& one : m_memories) {
        m_device->addItem(tr("device %1").arg(one->course.device));
    }
    m_device->setVisible(m_memories.size() > 1);
    if (m_memories.empty()) {
        emit failed(tr("The snapshot has no trace and no block in use."));
        return;
    }
    showDevice();
    emit opened();
}

DeviceMemoryPointer SnapshotView::memory() const
{
    const int at = m_device->currentIndex();
    return at >= 0 && static_cast<std::size_t>(at) < m_memories.size() ? m_memories[static_cast<std::size_t>(at)]
                                                                       : nullptr;
}

void SnapshotView::showDevice()
{
    const DeviceMemoryPointer shown = memory();
    m_chart->setMemory(shown);
    m_lines->setRowCount(shown ? static_cast<int>(shown->atPeak.size()) : 0);
    for (int row = 0; row < m_lines->rowCount(); ++row) {
        const LineAtPeak& line = shown->atPeak[static_cast<std::size_t>(row)];
        auto* bytes = new QTableWidgetItem(bytesWords(line.bytes));
        bytes->setTextAlignment(Qt::AlignRight | Qt::AlignVCenter);
        auto* blocks = new QTableWidgetItem(countText(static_cast<std::int64_t>(line.blocks)));
        blocks->setTextAlignment(Qt::AlignRight | Qt::AlignVCenter);
        m_lines->setItem(row, 0, bytes);
        m_lines->setItem(row, 1, blocks);
        m_lines->setItem(row, 2, new QTableWidgetItem(line.line));
        m_lines->item(row, 2)->setToolTip(line.line);
    }
    m_lines->resizeColumnToContents(0);
    m_lines->resizeColumnToContents(1);
    m_chart->setPlan(m_plan.planOfSteps());
    schedule(Change::Run);
    emit captionChanged();
}

QString SnapshotView::subject() const
{
    const DeviceMemoryPointer shown = memory();
    if (!shown) {
        return {};
    }
    const PlanOverTrace& over = m_chart->over();
    const QString peak = tr("%1, peak %2").arg(shown->file, bytesWords(shown->course.peak.allocated));
    return over.isEmpty() ? peak
                          : tr("%1; %2 of %3 steps of the plan found")
                                .arg(peak, countText(static_cast<std::int64_t>(over.matched)),
                                     countText(static_cast<std::int64_t>(over.columns)));
}

QString SnapshotView::hint() const
{
    return tr("What PyTorch allocated, with the plan laid over it where its results were found.");
}

base::Result<void> SnapshotView::exportTo(const std::filesystem::path& path)
{
    const DeviceMemoryPointer shown = memory();
    if (!shown) {
        return base::usageError("there is no snapshot to write; open one first", path.string());
    }
    if (path.extension() == ".csv") {
        CsvText text({"event", "allocated", "reserved"});
        for (const formats::MemoryMoment& moment : shown->course.moments) {
            text.row(moment.event, moment.allocated, moment.reserved);
        }
        return base::writeFile(path, text.take());
    }
    const QSizeF size(m_chart->size().expandedTo(m_chart->sizeHint()));
    return paintToFile(
        path, size, [&](QPainter& painter) { m_chart->paint(painter, size, theme(this)); }, title(), {}, 2);
}

QString SnapshotView::emptyReason() const
{
    return memory() ? QString() : tr("Open a memory snapshot of PyTorch (.pickle) to see it here, below the plan.");
}

void SnapshotView::refresh(Changes)
{
    m_chart->setPlan(m_plan.planOfSteps());
    emit captionChanged();
}

} // namespace retro::views

#include "moc_snapshotview.cpp"
