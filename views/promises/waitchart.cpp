// SPDX-License-Identifier: Apache-2.0
#include "views/promises/waitchart.h"

#include "views/common/numbertext.h"
#include "views/common/paint/fonts.h"
#include "views/common/paint/marks.h"
#include "views/common/paint/theme.h"
#include "views/promises/promisefigures.h"

#include <QPainter>

#include <algorithm>
#include <bit>
#include <numeric>

namespace retro::views
{

namespace
{

// Design pixels.
constexpr double kHeight = 86;
constexpr double kQuestion = 76; ///< room for the question at the left
constexpr double kMargin = 10;
constexpr double kAxis = 32;   ///< figures and a line of words below the bars
constexpr double kColumn = 34; ///< a bar with the gap behind it, at most

std::size_t placeOf(std::uint32_t visits)
{
    return visits < 2 ? 0 : static_cast<std::size_t>(std::bit_width(visits)) - 1;
}

std::uint32_t sumOf(const std::vector<std::uint32_t>& counts)
{
    return std::accumulate(counts.begin(), counts.end(), std::uint32_t{0});
}

} // namespace

std::uint32_t WaitCounts::total() const { return sumOf(fulfilled) + sumOf(waiting); }

WaitCounts waitCounts(const trace::Run& run, const PromiseForest& forest, std::uint64_t position)
{
    WaitCounts counts;
    for (const PromiseFacts& facts : forest.promises()) {
        const std::optional<PromiseAge> age = ageOf(facts, position);
        if (!age) {
            continue;
        }
        const std::size_t place = placeOf(age->visits(run));
        if (place >= counts.fulfilled.size()) {
            counts.fulfilled.resize(place + 1, 0);
            counts.waiting.resize(place + 1, 0);
        }
        ++(age->isAnswered ? counts.fulfilled : counts.waiting)[place];
    }
    return counts;
}

WaitChart::WaitChart(QWidget* parent) : QWidget(parent)
{
    setSizePolicy(QSizePolicy::Expanding, QSizePolicy::Maximum); // a low pane stays low
    setAccessibleName(tr("How long promises wait"));
}

void WaitChart::setCounts(WaitCounts counts)
{
    if (counts == m_counts) {
        return;
    }
    m_counts = std::move(counts);
    QStringList lines;
    for (std::size_t i = 0; i < m_counts.fulfilled.size(); ++i) {
        const std::int64_t from = i == 0 ? 0 : std::int64_t{1} << i;
        const std::int64_t to = (std::int64_t{2} << i) - 1;
        lines.append(tr("%1 – %2 visits: %3 fulfilled, %4 wait")
                         .arg(countText(from), countText(to), countText(std::int64_t{m_counts.fulfilled[i]}),
                              countText(std::int64_t{m_counts.waiting[i]})));
    }
    setToolTip(lines.join(QLatin1Char('\n')));
    setAccessibleDescription(lines.join(QStringLiteral("; ")));
    update();
}

QSize WaitChart::sizeHint() const { return {fonts::px(260), fonts::px(kHeight)}; }

QSize WaitChart::minimumSizeHint() const { return {fonts::px(180), 0}; }

void WaitChart::paintEvent(QPaintEvent* /*event*/)
{
    QPainter painter(this);
    const Theme& colors = theme(this);
    painter.fillRect(QRect(0, 0, width(), 1), colors[Role::Line]);
    const QRectF question(fonts::px(kMargin), fonts::px(10), fonts::px(kQuestion), height() - fonts::px(14));
    painter.setFont(fonts::label(QFont::DemiBold));
    painter.setPen(colors[Role::Text2]);
    painter.drawText(question, Qt::AlignLeft | Qt::AlignTop | Qt::TextWordWrap, tr("How long do they wait?"));
    const double left = question.right() + fonts::px(8);
    const QRectF chart(left, fonts::px(10), width() - left - fonts::px(kMargin), height() - fonts::px(10 + kAxis));
    painter.setFont(fonts::small());
    painter.setPen(colors[Role::Text3]);
    const QRectF words(left, chart.bottom() + fonts::px(15), chart.width(), fonts::px(15));
    const std::uint32_t total = m_counts.total();
    painter.drawText(words, Qt::AlignLeft | Qt::AlignVCenter | Qt::TextSingleLine,
                     total == 0 ? tr("none is opened until here")
                                : tr("visits, %1 that wait or waited").arg(countText(std::int64_t{total})));
    paintHairline(painter, chart.bottomLeft(), chart.bottomRight(), colors[Role::Strong]);
    const std::size_t places = m_counts.fulfilled.size();
    std::uint32_t most = 1;
    for (std::size_t i = 0; i < places; ++i) {
        most = std::max(most, m_counts.fulfilled[i] + m_counts.waiting[i]);
    }
    const double wide =
        places == 0 ? 0 : std::min<double>(fonts::px(kColumn), chart.width() / static_cast<double>(places));
    const ModeColors search = colors.mode(event::Mode::Search);
    painter.setFont(fonts::smallNumbers());
    double taken = chart.left() - 1; // by figures
    for (std::size_t i = 0; i < places; ++i) {
        const double x = chart.left() + wide * static_cast<double>(i);
        const double done = chart.height() * m_counts.fulfilled[i] / most;
        const double open = chart.height() * m_counts.waiting[i] / most;
        const double bar = std::max(3.0, wide - 2);
        painter.fillRect(QRectF(x, chart.bottom() - done, bar, done), search.line);
        if (open > 0) {
            const QRectF top(x, chart.bottom() - done - open, bar, open);
            painter.save();
            painter.setClipRect(top);
            painter.fillRect(top, search.tint);
            paintHatch(painter, top, search.line, fonts::px(4));
            painter.restore();
            painter.setPen(search.line);
            painter.setBrush(Qt::NoBrush);
            painter.drawRect(top.adjusted(0.5, 0.5, -0.5, -0.5));
        }
        const QString figure = countText(std::int64_t{1} << i);
        const double room = fonts::widthOf(fonts::smallNumbers(), figure);
        const double from = x + (bar - room) / 2;
        if (from > taken) {
            painter.setPen(colors[Role::Text3]);
            painter.drawText(QPointF(from, chart.bottom() + fonts::px(12)), figure);
            taken = from + room + fonts::px(4);
        }
    }
}

} // namespace retro::views

#include "moc_waitchart.cpp"
