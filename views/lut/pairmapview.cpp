// SPDX-License-Identifier: Apache-2.0
#include "views/lut/pairmapview.h"

#include "views/common/numbertext.h"
#include "views/common/paint/colormap.h"
#include "views/common/paint/fonts.h"
#include "views/common/paint/theme.h"
#include "views/common/widgets/boxes.h"
#include "views/common/widgets/elidedlabel.h"
#include "views/lut/dataflowview.h"
#include "views/lut/lutchoice.h"

#include <QKeyEvent>
#include <QMouseEvent>
#include <QPainter>
#include <QVBoxLayout>

#include <algorithm>
#include <cmath>

namespace retro::views
{

namespace
{

constexpr double kLeft = 34;
constexpr double kTop = 22;
constexpr double kLeastFrame = 6; // height of a row that is marked by a frame
constexpr double kArrow = 7;
constexpr double kMapMargin = 10;
constexpr double kBars = 84; ///< room for the names of tables
constexpr double kFigures = 76;

int stepOf(int key, int back, int forth) { return key == forth ? 1 : key == back ? -1 : 0; }

std::uint32_t moved(std::uint32_t at, int by) { return by < 0 && at == 0 ? 0U : at + static_cast<std::uint32_t>(by); }

} // namespace

PairMapPane::PairMapPane(QWidget* parent) : DrawnPane(parent, {}, {220, 160}) { setFocusPolicy(Qt::StrongFocus); }

void PairMapPane::setDetail(std::shared_ptr<const trace::LutDetail> detail)
{
    m_detail = std::move(detail);
    measure();
    update();
}

void PairMapPane::setSite(const trace::TableSite& site)
{
    const bool isOther = site.sample != m_site.sample;
    m_site = site;
    if (isOther) {
        measure();
    }
    setAccessibleDescription(sentence());
    update();
}

double PairMapPane::valueAt(const trace::TableSite& site) const
{
    const lut::LayerShape& shape = m_detail->shape;
    if (isSequence()) {
        return m_detail->relevance->pairs.at(
            static_cast<std::int64_t>((site.sample * shape.length + site.later) * shape.length + site.earlier));
    }
    return m_detail->relevance->tables.at(static_cast<std::int64_t>(site.sample * shape.tables + site.table));
}

void PairMapPane::measure()
{
    m_largest = m_sum = m_amount = 0;
    if (!hasRelevance() || m_site.sample >= m_detail->batch) {
        return;
    }
    const auto count = [this](const trace::TableSite& site) {
        const double value = valueAt(site);
        m_largest = std::isfinite(value) ? std::max(m_largest, std::abs(value)) : m_largest;
        m_sum += value;
        m_amount += std::abs(value);
    };
    const lut::LayerShape& shape = m_detail->shape;
    for (std::uint32_t later = 1; isSequence() && later < shape.length; ++later) {
        for (std::uint32_t earlier = 0; earlier < later; ++earlier) {
            count({m_site.sample, 0, later, earlier});
        }
    }
    for (std::uint32_t table = 0; !isSequence() && table < shape.tables; ++table) {
        count({m_site.sample, table, 0, 0});
    }
    drawCells();
}

/// Colours of all pairs, drawn once: painting only stretches them.
void PairMapPane::drawCells()
{
    static const ColorMap kMap;
    const auto length = static_cast<int>(m_detail->shape.length);
    m_cells = isSequence() ? QImage(length, length, QImage::Format_ARGB32_Premultiplied) : QImage();
    m_cells.fill(Qt::transparent);
    for (int later = 1; later < m_cells.height(); ++later) {
        auto* line = reinterpret_cast<QRgb*>(m_cells.scanLine(later));
        for (int earlier = 0; earlier < later; ++earlier) {
            const double value =
                valueAt({m_site.sample, 0, static_cast<std::uint32_t>(later), static_cast<std::uint32_t>(earlier)});
            line[earlier] = kMap.at(m_largest > 0 ? value / m_largest : 0);
        }
    }
}

ColorBarSpec PairMapPane::bar() const
{
    ColorBarSpec bar;
    bar.scale.limit = m_largest;
    return bar;
}

double PairMapPane::cellSide() const
{
    const double length = std::max(m_detail->shape.length, 1U);
    const double besides = fonts::px(kLeft + 2 * kMapMargin) + colorBarWidth(bar());
    const double room = std::min(width() - besides, double(height() - fonts::px(kTop + kMapMargin + 16)));
    return std::max(room / length, 1.0);
}

QRectF PairMapPane::rectOf(const trace::TableSite& site) const
{
    if (m_detail == nullptr) {
        return {};
    }
    if (isSequence()) {
        const double side = cellSide();
        return {fonts::px(kLeft) + side * site.earlier, fonts::px(kTop) + side * site.later, side, side};
    }
    const double room = height() - fonts::px(kTop + kMapMargin);
    const double each = std::clamp(room / std::max(m_detail->shape.tables, 1U), 2.0, double(fonts::px(18)));
    return {0, fonts::px(kTop) + each * site.table, double(width()), each};
}

trace::TableSite PairMapPane::siteAt(const QPointF& point) const
{
    trace::TableSite site = m_site;
    if (m_detail == nullptr) {
        return site;
    }
    const QRectF first = rectOf({m_site.sample, 0, 0, 0});
    const double row = (point.y() - first.top()) / first.height();
    if (!isSequence()) {
        const bool isOne = row >= 0 && row < m_detail->shape.tables;
        site.table = isOne ? static_cast<std::uint32_t>(row) : site.table;
        return site;
    }
    const double column = (point.x() - first.left()) / first.width();
    if (column >= 0 && row < m_detail->shape.length && std::floor(column) < std::floor(row)) {
        site.later = static_cast<std::uint32_t>(row);
        site.earlier = static_cast<std::uint32_t>(column);
    }
    return site;
}

QString PairMapPane::sentence() const
{
    if (!hasRelevance() || m_site.sample >= m_detail->batch) {
        return {};
    }
    const double value = valueAt(m_site);
    const QString share = m_amount != 0 ? percentText(std::abs(value) / m_amount) : QStringLiteral("—");
    const lut::LayerShape& shape = m_detail->shape;
    const QString sum = signedText(m_sum, 4);
    return isSequence()
               ? tr("%1 looks at %2: %3, %4 of all amounts; %5 pairs sum to %6")
                     .arg(QString::number(m_site.later), QString::number(m_site.earlier), signedText(value, 4), share,
                          countText(static_cast<std::int64_t>(lut::pairCount(shape.length))), sum)
               : tr("table %1: %2, %3 of all amounts; %4 tables sum to %5")
                     .arg(QString::number(m_site.table), signedText(value, 4), share, countText(shape.tables), sum);
}

void PairMapPane::paintEvent(QPaintEvent*)
{
    QPainter painter(this);
    painter.fillRect(rect(), theme(this)[Role::Base]);
    if (!hasRelevance() || m_site.sample >= m_detail->batch) {
        return;
    }
    isSequence() ? paintPairs(painter) : paintTables(painter);
    paintMark(painter);
}

void PairMapPane::paintPairs(QPainter& painter) const
{
    const Theme& colors = theme(this);
    const std::uint32_t length = m_detail->shape.length;
    painter.drawImage(QRectF(fonts::px(kLeft), fonts::px(kTop), cellSide() * length, cellSide() * length), m_cells);
    painter.setFont(fonts::smallNumbers());
    painter.setPen(colors[Role::Text3]);
    const std::uint32_t step = std::max(1U, length / 6);
    for (std::uint32_t at = 0; at < length; at += step) {
        const QRectF cell = rectOf({m_site.sample, 0, at, at});
        painter.drawText(QRectF(0, cell.center().y() - 8, fonts::px(kLeft) - 6, 16), Qt::AlignRight | Qt::AlignVCenter,
                         QString::number(at));
        const double bottom = fonts::px(kTop) + cellSide() * length;
        painter.drawText(QRectF(cell.center().x() - 16, bottom + 2, 32, 14), Qt::AlignCenter, QString::number(at));
    }
    const ColorBarSpec spec = bar();
    const QRectF area(fonts::px(kLeft + kMapMargin) + cellSide() * length, fonts::px(kTop), colorBarWidth(spec),
                      cellSide() * length);
    paintColorBar(painter, spec, layoutColorBar(spec, area), colors);
    painter.setFont(fonts::small());
    painter.setPen(colors[Role::Text2]);
    painter.drawText(QRectF(fonts::px(kMapMargin), 2, width(), fonts::px(kTop) - 4), Qt::AlignLeft | Qt::AlignVCenter,
                     tr("query position (down), key position (across)"));
}

void PairMapPane::paintTables(QPainter& painter) const
{
    static const ColorMap kMap;
    constexpr double kStrong = 0.75;
    const Theme& colors = theme(this);
    painter.setFont(fonts::small());
    painter.setPen(colors[Role::Text2]);
    painter.drawText(QRectF(fonts::px(kMapMargin), 2, width(), fonts::px(kTop) - 4), Qt::AlignLeft | Qt::AlignVCenter,
                     tr("relevance of each table"));
    const double left = fonts::px(kBars);
    const double half = std::max((width() - left - fonts::px(kFigures)) / 2.0, 4.0);
    for (std::uint32_t table = 0; table < m_detail->shape.tables; ++table) {
        const trace::TableSite site{m_site.sample, table, 0, 0};
        const QRectF row = rectOf(site);
        const double share = m_largest > 0 ? valueAt(site) / m_largest : 0;
        const QRectF bar(share < 0 ? left + half + share * half : left + half, row.top() + 1, std::abs(share) * half,
                         std::max(row.height() - 2, 1.0));
        painter.fillRect(bar, QColor::fromRgb(kMap.at(share < 0 ? -kStrong : kStrong)));
        if (row.height() >= fonts::px(13)) {
            painter.setFont(fonts::small());
            painter.setPen(colors[Role::Text]);
            painter.drawText(QRectF(fonts::px(kMapMargin), row.top(), left, row.height()),
                             Qt::AlignLeft | Qt::AlignVCenter, tr("table %1").arg(table));
            painter.setFont(fonts::smallNumbers());
            painter.drawText(row.adjusted(0, 0, -fonts::px(kMapMargin), 0), Qt::AlignRight | Qt::AlignVCenter,
                             signedText(valueAt(site), 3));
        }
    }
}

void PairMapPane::paintMark(QPainter& painter) const
{
    const QRectF row = rectOf(m_site);
    const QColor color = theme(this)[hasFocus() ? Role::Accent : Role::Text];
    if (row.height() >= fonts::px(kLeastFrame)) {
        painter.setBrush(Qt::NoBrush);
        painter.setPen(QPen(color, 1.5));
        painter.drawRect(row.adjusted(0.5, 0, -0.5, 0));
        return;
    }
    // A frame would be a bar itself: arrow heads at both ends.
    const double size = fonts::px(kArrow);
    painter.setRenderHint(QPainter::Antialiasing);
    painter.setPen(Qt::NoPen);
    painter.setBrush(color);
    for (const double side : {-1.0, 1.0}) {
        const QPointF tip(side < 0 ? row.left() + size + 2 : row.right() - size - 2, row.center().y());
        painter.drawPolygon(
            QPolygonF{tip, tip + QPointF(side * size, -size * 0.7), tip + QPointF(side * size, size * 0.7)});
    }
    painter.setRenderHint(QPainter::Antialiasing, false);
}

void PairMapPane::mousePressEvent(QMouseEvent* event)
{
    const trace::TableSite site = siteAt(event->position());
    if (event->button() == Qt::LeftButton && !(site == m_site)) {
        emit siteChosen(site);
    }
}

void PairMapPane::keyPressEvent(QKeyEvent* event)
{
    const int down = stepOf(event->key(), Qt::Key_Up, Qt::Key_Down);
    const int right = stepOf(event->key(), Qt::Key_Left, Qt::Key_Right);
    if (m_detail == nullptr || (down == 0 && right == 0)) {
        QWidget::keyPressEvent(event);
        return;
    }
    trace::TableSite site = m_site;
    if (isSequence()) {
        site.later = moved(site.later, down);
        site.earlier = moved(site.earlier, right);
    } else {
        site.table = moved(site.table, down + right);
    }
    emit siteChosen(site);
}

PairMapView::PairMapView(RunModel& model, Cursor& cursor, Selection& selection, LutChoice& choice, QWidget* parent)
    : View(model, cursor, selection, parent), m_choice(choice)
{
    setAccessibleName(tr("Relevance of pairs and tables"));
    setEmptyText(
        tr("Where the relevance of a LUT layer comes from appears here, once a model with one was explained."));
    auto* body = new QWidget(this);
    auto* column = makeBox<QVBoxLayout>(body, {}, 0);
    m_pane = new PairMapPane(body);
    m_pane->setAccessibleName(tr("Map of relevance"));
    auto* line = new QWidget(body);
    auto* row = new QVBoxLayout(line);
    row->setContentsMargins(fonts::px(8), fonts::px(4), fonts::px(8), fonts::px(5));
    m_message = new ElidedLabel({}, Role::Text2, fonts::label(), line);
    row->addWidget(m_message);
    column->addWidget(m_pane, 1);
    column->addWidget(line);
    setBody(body);
    connect(m_pane, &PairMapPane::siteChosen, &choice, &LutChoice::chooseSite);
    connect(&choice, &LutChoice::layerChanged, this, [this] { schedule(Change::Run); });
    connect(&choice, &LutChoice::siteChanged, this, [this] {
        if (m_pane->detail() == m_choice.detail()) { // the next key goes on from here
            m_pane->setSite(m_choice.site());
        }
        schedule(Change::Run);
    });
    connect(&choice, &LutChoice::detailChanged, this, [this] { schedule(Change::Run); });
}

QString PairMapView::subject() const
{
    const LutLayer* layer = m_choice.layer();
    return layer == nullptr                  ? QString()
           : layer->request.shape.isSequence ? tr("relevance of each pair of positions")
                                             : tr("relevance of each table");
}

QString PairMapView::hint() const
{
    const LutLayer* layer = m_choice.layer();
    return layer != nullptr && layer->request.shape.isSequence
               ? tr("Which earlier position each position looked at. Only earlier ones exist.")
               : tr("Which table gave the output what it has.");
}

bool PairMapView::canShow(const SelectedThing& thing) const
{
    const auto* node = std::get_if<base::NodeId>(&thing);
    return node != nullptr && m_choice.layer() != nullptr && m_choice.layer()->node == *node;
}

QString PairMapView::emptyReason() const { return lutEmptyReason(m_choice); }

QString PairMapView::message() const { return m_message->text(); }

void PairMapView::refresh(Changes changes)
{
    if (!changes.testFlag(Change::Run)) {
        return;
    }
    m_choice.wantDetail();
    m_pane->setDetail(m_choice.detail());
    m_pane->setSite(m_choice.site());
    m_message->setRole(m_choice.problem().isEmpty() ? Role::Text2 : Role::AlarmText);
    m_message->setText(!m_choice.problem().isEmpty()  ? m_choice.problem()
                       : m_choice.detail() == nullptr ? tr("working …")
                       : m_pane->sentence().isEmpty() ? tr("no relevance was shared among the tables of this layer")
                                                      : m_pane->sentence());
    emit captionChanged();
}

} // namespace retro::views

#include "moc_pairmapview.cpp"
