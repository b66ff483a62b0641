// SPDX-License-Identifier: Apache-2.0
#include "views/lut/dataflowpane.h"

#include "views/common/numbertext.h"
#include "views/common/paint/fonts.h"
#include "views/common/paint/theme.h"

#include <QCoreApplication>
#include <QKeyEvent>
#include <QMouseEvent>
#include <QPainter>

#include <algorithm>
#include <cmath>

namespace retro::views
{

namespace
{

constexpr double kBoxHeight = 38;
constexpr double kNumberWidth = 24;
constexpr double kPadding = 9;
/// Of a row of buffers that a kernel starts from, or ends with: the first with which the picture fits.
constexpr double kRowWidths[]{480, 400, 320, 240};

QString translated(const char* text) { return QCoreApplication::translate("retro::views::DataFlowPane", text); }

QString kernelName(const lut::Launch& launch)
{
    const QString variant = textOf(lut::nameOf(launch.variant));
    const QString name = textOf(lut::nameOf(launch.kernel));
    return variant.isEmpty() ? name : name + QStringLiteral(", ") + variant;
}

/// "15", "0.04565".
QString wholeOrValue(double value)
{
    constexpr double kMostWhole = 1e6;
    return value == std::floor(value) && std::abs(value) < kMostWhole ? QString::number(static_cast<int>(value))
                                                                      : valueText(value);
}

QString elementWord(lut::Element element, std::uint64_t bytes)
{
    switch (element) {
    case lut::Element::Real:
        return bytes == 8 ? QStringLiteral("f64") : QStringLiteral("f32");
    case lut::Element::Float16:
        return QStringLiteral("f16");
    case lut::Element::BFloat16:
        return QStringLiteral("bf16");
    case lut::Element::Int32:
        return QStringLiteral("i32");
    case lut::Element::UInt32:
        return QStringLiteral("u32");
    case lut::Element::UInt64:
        return QStringLiteral("u64");
    case lut::Element::AnchorPair:
        return QStringLiteral("u32×2");
    case lut::Element::Event:
        return QStringLiteral("16 B");
    }
    return {};
}

QString listOf(const std::vector<lut::BufferId>& buffers)
{
    QStringList names;
    for (const lut::BufferId id : buffers) {
        names << textOf(lut::nameOf(id));
    }
    return names.join(QStringLiteral(", "));
}

QSizeF kernelSize(const lut::Launch& launch)
{
    const double name = fonts::widthOf(fonts::label(QFont::DemiBold), kernelName(launch));
    return {std::ceil(name) + fonts::px(kNumberWidth + 2 * kPadding), double(fonts::px(kBoxHeight))};
}

QSizeF bufferSize(const lut::Buffer& buffer)
{
    const double name = fonts::widthOf(fonts::label(QFont::DemiBold), textOf(buffer.name)) + fonts::px(16) +
                        fonts::widthOf(fonts::smallNumbers(), bytesText(static_cast<std::int64_t>(buffer.bytes)));
    const double shape = fonts::widthOf(fonts::smallNumbers(), shapeWord(buffer));
    return {std::ceil(std::max(name, shape)) + fonts::px(2 * kPadding + 4), double(fonts::px(kBoxHeight))};
}

void paintArrow(QPainter& painter, const QPointF& from, const QPointF& to, const QColor& color)
{
    const QPointF way = to - from;
    const double length = std::hypot(way.x(), way.y());
    if (length == 0) {
        return;
    }
    const QPointF unit = way / length;
    const QPointF across(-unit.y(), unit.x());
    const double size = fonts::px(6);
    const QPointF base = to - unit * size;
    const QPointF corners[]{to, base + across * size * 0.5, base - across * size * 0.5};
    painter.setPen(Qt::NoPen);
    painter.setBrush(color);
    painter.drawConvexPolygon(corners, 3);
}

} // namespace

QString textOf(std::string_view name) { return QString::fromUtf8(name.data(), static_cast<qsizetype>(name.size())); }

QString passWord(lut::Pass pass)
{
    switch (pass) {
    case lut::Pass::Forward:
        return translated("forward");
    case lut::Pass::Backward:
        return translated("backward");
    case lut::Pass::Relevance:
        return translated("relevance");
    }
    return {};
}

QString shapeWord(const lut::Buffer& buffer)
{
    std::uint64_t elements = 1;
    QStringList extents;
    for (const std::uint64_t extent : buffer.shape) {
        extents << QString::number(extent);
        elements *= extent;
    }
    return QStringLiteral("%1 [%2]").arg(elementWord(buffer.element, elements == 0 ? 4 : buffer.bytes / elements),
                                         extents.join(QStringLiteral(", ")));
}

DataFlowPane::DataFlowPane(QWidget* parent) : DrawnPane(parent)
{
    setFocusPolicy(Qt::StrongFocus);
    setMouseTracking(true);
}

void DataFlowPane::setLayer(std::vector<lut::Schedule> schedules, const std::vector<RunLaunch>& launches)
{
    m_schedules = std::move(schedules);
    m_launches = launches;
    lay();
    setPosition(m_position);
}

void DataFlowPane::setRoom(int width)
{
    if (m_room != width) {
        m_room = width;
        lay();
    }
}

void DataFlowPane::lay()
{
    // Passes beside each other, else the widest rows with which the picture fits, else the narrowest.
    bool fits = false;
    for (const double width : kRowWidths) {
        FlowPicture picture =
            flowPicture(m_schedules, {kernelSize, bufferSize, double(fonts::px(width)), double(m_room)});
        const bool isBetter = picture.isBeside || !fits;
        fits = fits || m_room == 0 || picture.size.width() <= m_room;
        if (isBetter) {
            m_picture = std::move(picture);
        }
        if (m_picture.isBeside || m_room == 0) {
            break;
        }
    }
    updateGeometry();
    resize(sizeHint());
    update();
}

void DataFlowPane::setPosition(std::uint64_t position)
{
    m_position = position;
    const std::optional<RunLaunch> current = latestLaunch(m_launches, position);
    if (!current || !m_current || current->position != m_current->position) {
        m_buffers = nullptr;
    }
    m_current = current;
    setAccessibleDescription(sentence());
    update();
}

void DataFlowPane::setBuffers(std::shared_ptr<const trace::LaunchDetail> buffers)
{
    m_buffers = std::move(buffers);
    setAccessibleDescription(sentence());
    update();
}

QString DataFlowPane::contentOf(const FlowBox& box) const
{
    const bool isOfPass = !box.isKernel && m_buffers != nullptr &&
                          m_buffers->schedule.pass == m_picture.schedules[box.pass].pass &&
                          m_buffers->schedule.path == m_picture.schedules[box.pass].path;
    if (!isOfPass) {
        return {};
    }
    const auto at = std::ranges::find(m_buffers->buffers, m_picture.buffer(box).id, &ops::TableBuffer::id);
    if (at == m_buffers->buffers.end()) {
        return {};
    }
    return tr("%1 of %2 not 0, %3 to %4")
        .arg(countText(static_cast<std::int64_t>(at->nonZeros)), countText(static_cast<std::int64_t>(at->count)),
             wholeOrValue(at->least), wholeOrValue(at->most));
}

QRectF DataFlowPane::currentRect() const
{
    const auto now = std::ranges::find_if(
        m_picture.boxes, [this](const FlowBox& box) { return box.isKernel && stateOf(box) == State::Now; });
    return now != m_picture.boxes.end() ? now->rect : QRectF();
}

QString DataFlowPane::sentence() const
{
    for (const FlowBox& box : m_picture.boxes) {
        if (box.isKernel && stateOf(box) == State::Now) {
            const lut::Launch& launch = m_picture.launch(box);
            return tr("%1 on stream %2: reads %3; writes %4")
                .arg(kernelName(launch), QString::number(launch.stream), listOf(launch.reads), listOf(launch.writes));
        }
    }
    return {};
}

QSize DataFlowPane::sizeHint() const
{
    return {static_cast<int>(std::ceil(m_picture.size.width())), static_cast<int>(std::ceil(m_picture.size.height()))};
}

std::optional<RunLaunch> DataFlowPane::launchOf(const FlowBox& box) const
{
    return launchOfKernel(m_launches, m_picture.schedules[box.pass].pass, box.index, m_position);
}

DataFlowPane::State DataFlowPane::stateOf(const FlowBox& box) const
{
    const std::optional<RunLaunch> launch = launchOf(box);
    if (!launch || launch->position > m_position) {
        return State::ToCome;
    }
    return launch == m_current ? State::Now : State::Done;
}

bool DataFlowPane::touchesCurrent(const FlowBox& box) const
{
    if (!m_current || m_picture.schedules[box.pass].pass != m_current->pass ||
        m_current->place >= m_picture.schedules[box.pass].launches.size()) {
        return false;
    }
    const lut::Launch& launch = m_picture.schedules[box.pass].launches[m_current->place];
    const lut::BufferId id = m_picture.buffer(box).id;
    return std::ranges::find(launch.reads, id) != launch.reads.end() ||
           std::ranges::find(launch.writes, id) != launch.writes.end();
}

void DataFlowPane::paintEvent(QPaintEvent*)
{
    QPainter painter(this);
    painter.fillRect(rect(), theme(this)[Role::Base]);
    paintAll(painter);
    if (hasFocus()) {
        painter.setRenderHint(QPainter::Antialiasing, false);
        painter.setPen(theme(this)[Role::Accent]);
        painter.setBrush(Qt::NoBrush);
        painter.drawRect(visibleRegion().boundingRect().adjusted(0, 0, -1, -1));
    }
}

void DataFlowPane::paintAll(QPainter& painter) const
{
    const Theme& colors = theme(this);
    painter.setRenderHint(QPainter::Antialiasing);
    for (std::size_t i = 0; i < m_picture.passes.size(); ++i) {
        painter.setFont(fonts::label(QFont::DemiBold));
        painter.setPen(colors[Role::Text2]);
        painter.drawText(m_picture.passes[i].topLeft() + QPointF(0, fonts::px(13)),
                         passWord(m_picture.schedules[i].pass));
        if (m_picture.isBeside && i > 0) {
            const double x = std::round((m_picture.passes[i - 1].right() + m_picture.passes[i].left()) / 2) + 0.5;
            painter.setPen(colors[Role::Line]);
            painter.drawLine(QPointF(x, 0), QPointF(x, m_picture.size.height()));
        }
    }
    for (const FlowEdge& edge : m_picture.edges) {
        paintEdge(painter, edge, colors);
    }
    for (const FlowBox& box : m_picture.boxes) {
        box.isKernel ? paintKernel(painter, box, colors) : paintBuffer(painter, box, colors);
    }
}

void DataFlowPane::paintEdge(QPainter& painter, const FlowEdge& edge, const Theme& colors) const
{
    if (edge.points.size() < 2) {
        return;
    }
    const FlowBox& kernel = m_picture.boxes[edge.isWrite ? edge.from : edge.to];
    const State state = stateOf(kernel);
    const QColor color = state == State::Now    ? colors[Role::Accent]
                         : state == State::Done ? colors[Role::Ink]
                                                : colors[Role::Ghost];
    QPen pen(color, state == State::Now ? 2 : 1);
    pen.setStyle(edge.isWrite ? Qt::SolidLine : Qt::DashLine);
    painter.setPen(pen);
    painter.setBrush(Qt::NoBrush);
    painter.drawPolyline(edge.points.data(), static_cast<int>(edge.points.size()));
    paintArrow(painter, edge.points[edge.points.size() - 2], edge.points.back(), color);
}

void DataFlowPane::paintKernel(QPainter& painter, const FlowBox& box, const Theme& colors) const
{
    const lut::Launch& launch = m_picture.launch(box);
    const State state = stateOf(box);
    const QRectF r = box.rect.adjusted(0.5, 0.5, -0.5, -0.5);
    const QColor line = state == State::Now    ? colors[Role::Accent]
                        : state == State::Done ? colors[Role::Ink]
                                               : colors[Role::Strong];
    painter.setPen(QPen(line, state == State::Now ? 2 : 1));
    painter.setBrush(state == State::ToCome ? colors[Role::Base] : colors[Role::Alt]);
    painter.drawRect(r);
    const QRectF number(r.left(), r.top(), fonts::px(kNumberWidth), r.height());
    painter.setBrush(state == State::ToCome ? colors[Role::Alt] : line);
    painter.drawRect(number);
    painter.setFont(fonts::label(QFont::DemiBold));
    painter.setPen(state == State::Now    ? colors[Role::OnAccent]
                   : state == State::Done ? colors[Role::Base]
                                          : colors[Role::Text2]);
    painter.drawText(number, Qt::AlignCenter, QString::number(m_picture.numberOf(box)));
    const QRectF text = r.adjusted(fonts::px(kNumberWidth + kPadding), fonts::px(4), -fonts::px(4), -fonts::px(4));
    painter.setPen(colors[Role::Text]);
    painter.drawText(text, Qt::AlignLeft | Qt::AlignTop, kernelName(launch));
    painter.setFont(fonts::small());
    painter.setPen(colors[Role::Text2]);
    painter.drawText(text, Qt::AlignLeft | Qt::AlignBottom, tr("stream %1").arg(launch.stream));
}

void DataFlowPane::paintBuffer(QPainter& painter, const FlowBox& box, const Theme& colors) const
{
    const lut::Buffer& buffer = m_picture.buffer(box);
    const bool isNow = touchesCurrent(box);
    const QRectF r = box.rect.adjusted(0.5, 0.5, -0.5, -0.5);
    painter.setPen(QPen(isNow ? colors[Role::Accent] : colors[Role::Strong], isNow ? 2 : 1));
    painter.setBrush(isNow ? colors[Role::Sel] : colors[Role::Base]);
    painter.drawRoundedRect(r, fonts::px(10), fonts::px(10));
    const QRectF text = r.adjusted(fonts::px(kPadding), fonts::px(4), -fonts::px(kPadding), -fonts::px(4));
    painter.setFont(fonts::label(QFont::DemiBold));
    painter.setPen(colors[Role::Text]);
    painter.drawText(text, Qt::AlignLeft | Qt::AlignTop, textOf(buffer.name));
    painter.setFont(fonts::smallNumbers());
    painter.drawText(text, Qt::AlignRight | Qt::AlignTop, bytesText(static_cast<std::int64_t>(buffer.bytes)));
    painter.setPen(colors[Role::Text2]);
    // In place of the shape, which the tip has: a box is as wide as its shape, so that nothing moves as one steps.
    const QString content = contentOf(box);
    const bool fits = !content.isEmpty() && fonts::widthOf(fonts::smallNumbers(), content) <= text.width();
    painter.drawText(text, Qt::AlignLeft | Qt::AlignBottom, fits ? content : shapeWord(buffer));
}

QString DataFlowPane::tipOf(const FlowBox& box) const
{
    if (!box.isKernel) {
        const lut::Buffer& buffer = m_picture.buffer(box);
        const QString shared = buffer.sharesMemoryWith
                                   ? tr("\nlies in the memory of %1").arg(textOf(lut::nameOf(*buffer.sharesMemoryWith)))
                                   : QString();
        return tr("%1\n%2, %3")
                   .arg(textOf(buffer.name), shapeWord(buffer), bytesText(static_cast<std::int64_t>(buffer.bytes))) +
               shared + (contentOf(box).isEmpty() ? QString() : QStringLiteral("\n") + contentOf(box));
    }
    const lut::Launch& launch = m_picture.launch(box);
    return tr("%1\nreads %2\nwrites %3\n%4 threads in blocks of %5")
        .arg(kernelName(launch), listOf(launch.reads), listOf(launch.writes),
             countText(static_cast<std::int64_t>(launch.items)), QString::number(launch.blockSize));
}

QString DataFlowPane::tipAt(const QPointF& at) const
{
    const std::size_t box = m_picture.boxAt(at);
    return box < m_picture.boxes.size() ? tipOf(m_picture.boxes[box]) : QString();
}

void DataFlowPane::mousePressEvent(QMouseEvent* event)
{
    const std::size_t box = m_picture.boxAt(event->position());
    if (event->button() != Qt::LeftButton || box >= m_picture.boxes.size() || !m_picture.boxes[box].isKernel) {
        QWidget::mousePressEvent(event);
        return;
    }
    if (const std::optional<RunLaunch> launch =
            launchOfKernel(m_launches, m_picture.schedules[m_picture.boxes[box].pass].pass, m_picture.boxes[box].index,
                           0)) { // the first of them
        choose(launch->position);
    }
}

void DataFlowPane::keyPressEvent(QKeyEvent* event)
{
    const int by = event->key() == Qt::Key_Right || event->key() == Qt::Key_Down ? 1
                   : event->key() == Qt::Key_Left || event->key() == Qt::Key_Up  ? -1
                                                                                 : 0;
    by == 0 ? QWidget::keyPressEvent(event) : step(by);
}

/// The next key goes on from there, also before the view has heard of it.
void DataFlowPane::choose(std::uint64_t position)
{
    m_position = position;
    emit launchChosen(position);
}

void DataFlowPane::step(int by)
{
    const auto after = std::ranges::find_if(m_launches, [this, by](const RunLaunch& one) {
        return by > 0 ? one.position > m_position : one.position >= m_position;
    });
    if (by > 0 && after != m_launches.end()) {
        choose(after->position);
    } else if (by < 0 && after != m_launches.begin()) {
        choose((after - 1)->position);
    }
}

void DataFlowPane::changeEvent(QEvent* event)
{
    if (event->type() == QEvent::FontChange || event->type() == QEvent::StyleChange) {
        lay();
    }
    QWidget::changeEvent(event);
}

} // namespace retro::views

#include "moc_dataflowpane.cpp"
