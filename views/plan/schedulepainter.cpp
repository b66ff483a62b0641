// SPDX-License-Identifier: Apache-2.0
#include "views/plan/schedulepainter.h"

#include "views/common/paint/fonts.h"
#include "views/common/paint/marks.h"
#include "views/common/paint/theme.h"
#include "views/plan/bytescale.h"
#include "views/plan/decisionmarks.h"

#include <QCoreApplication>
#include <QImage>
#include <QPainter>
#include <QPainterPath>

#include <algorithm>
#include <array>
#include <cmath>

namespace retro::views
{

namespace
{

using fonts::px;

constexpr double kLeastNameRow = 11.5; // design pixels a row needs for its name
constexpr double kLeastLabel = 40;     // height that a box of the tree needs for its words
constexpr double kSmallCell = 1.6;     // least side of a mark that stands for a cell
constexpr double kRulerMarks = 56;     // between numbers of steps
constexpr double kLegendSample = 16;

QString painterText(const char* text) { return QCoreApplication::translate("retro::views::SchedulePainter", text); }

QColor blended(const QColor& ground, const QColor& over, float share)
{
    const auto mix = [&](int a, int b) {
        return static_cast<int>(std::lround(static_cast<float>(a) + static_cast<float>(b - a) * share));
    };
    return {mix(ground.red(), over.red()), mix(ground.green(), over.green()), mix(ground.blue(), over.blue())};
}

} // namespace

SchedulePainter::SchedulePainter(QPainter& painter, const ScheduleFigure& figure, const ScheduleLayout& layout,
                                 const Theme& theme)
    : m_painter(painter), m_figure(figure), m_layout(layout), m_theme(theme), m_plan(*figure.plan),
      m_curve(painter, figure, layout, theme)
{}

void SchedulePainter::paintStill()
{
    m_painter.setRenderHint(QPainter::Antialiasing, false);
    paintMatrix();
    paintHeads();
    paintNames();
    paintTree();
    paintRuler();
    m_curve.paint();
    paintLegend();
}

bool SchedulePainter::isDetailed() const
{
    return m_figure.columns.pitch() >= kLeastCell && m_figure.rows.pitch() >= kLeastCell;
}

void SchedulePainter::paintHeads()
{
    m_painter.setFont(fonts::label(QFont::DemiBold));
    m_painter.setPen(m_theme[Role::Text2]);
    const QRectF head(m_layout.names.left(), 0, m_layout.names.width(), m_layout.ruler.height());
    m_painter.drawText(head, Qt::AlignLeft | Qt::AlignVCenter, painterText("Tensor"));
    const QString words = m_plan.tree.isOfPlan ? painterText("Blocks") : painterText("Cuts");
    const QRectF tree(m_layout.tree.left(), 0, m_layout.matrix.left() - m_layout.tree.left(), m_layout.ruler.height());
    if (m_layout.tree.width() > 0) {
        m_painter.drawText(tree, Qt::AlignLeft | Qt::AlignVCenter, words);
    }
    const ByteScale scale = ByteScale::of(static_cast<std::uint64_t>(m_figure.mostBytes()));
    const QRectF memory(m_layout.names.left(), m_layout.curve.top(), m_layout.names.width(), px(16));
    m_painter.drawText(memory, Qt::AlignLeft | Qt::AlignTop, painterText("Memory"));
    m_painter.setFont(fonts::label());
    m_painter.drawText(memory.translated(0, px(16)), Qt::AlignLeft | Qt::AlignTop, scale.unit);
}

void SchedulePainter::paintNames()
{
    const ScheduleAxis& rows = m_figure.rows;
    const auto every = static_cast<std::uint32_t>(std::max(1.0, std::ceil(px(kLeastNameRow) / rows.pitch())));
    const auto first = static_cast<std::uint32_t>(std::max(0.0, std::floor(rows.from)));
    const auto last = static_cast<std::uint32_t>(std::min(rows.count, std::ceil(rows.to)));
    const auto isUnderMarked = [&](std::uint32_t row) {
        return m_figure.row && std::abs(rows.pixel(row) - rows.pixel(*m_figure.row)) < px(kLeastNameRow + 1);
    };
    for (std::uint32_t row = first - first % every; row < last; row += every) {
        if (!isUnderMarked(row)) {
            paintName(row, false);
        }
    }
    if (m_figure.row) {
        paintName(*m_figure.row, true);
    }
}

void SchedulePainter::paintName(std::uint32_t row, bool isMarked)
{
    const double center = m_figure.rows.pixel(row + 0.5);
    if (row >= m_plan.matrix.rows().size() || center < m_layout.names.top() || center > m_layout.names.bottom()) {
        return;
    }
    const QRectF line(m_layout.names.left(), center - px(7), m_layout.names.width() - px(4), px(14));
    if (isMarked) {
        m_painter.fillRect(line.adjusted(-px(2), 0, px(2), 0), m_theme[Role::Sel]);
    }
    m_painter.setFont(fonts::small(isMarked ? QFont::DemiBold : QFont::Normal));
    m_painter.setPen(m_theme[isMarked ? Role::Text : Role::Text2]);
    // Both weights are cut at the same letter, so that a name does not change when it is marked.
    m_painter.drawText(
        line, Qt::AlignLeft | Qt::AlignVCenter,
        QFontMetricsF(fonts::small()).elidedText(m_plan.rowLabel(row), Qt::ElideLeft, line.width() - px(2)));
}

void SchedulePainter::paintTree()
{
    if (m_layout.tree.width() <= 0) {
        return;
    }
    m_painter.save();
    m_painter.setClipRect(m_layout.tree.adjusted(-1, -1, 1, 1));
    const int marked = m_figure.row ? m_plan.tree.boxAt(*m_figure.row) : -1;
    for (std::size_t i = 0; i < m_plan.tree.boxes.size(); ++i) {
        if (static_cast<int>(i) != marked) {
            paintBox(m_plan.tree.boxes[i], false);
        }
    }
    if (marked >= 0) {
        paintBox(m_plan.tree.boxes[static_cast<std::size_t>(marked)], true);
    }
    m_painter.restore();
}

void SchedulePainter::paintBox(const TreeBox& box, bool isMarked)
{
    const double left = m_layout.tree.left() + box.level * m_layout.treeColumn;
    const double top = m_figure.rows.pixel(box.from);
    const double bottom = m_figure.rows.pixel(box.until);
    const QRectF rect = QRectF(left + 0.5, std::round(top) + 0.5, m_layout.treeColumn - px(4), 0)
                            .adjusted(0, 0, 0, std::max(2.0, std::round(bottom - top) - 2));
    if (left + m_layout.treeColumn > m_layout.tree.right() + 1 || rect.bottom() < m_layout.tree.top() ||
        rect.top() > m_layout.tree.bottom()) {
        return;
    }
    m_painter.setPen(QPen(m_theme[isMarked ? Role::Accent : Role::Strong], isMarked ? 1.5 : 1));
    m_painter.setBrush(m_theme[isMarked ? Role::Sel : Role::Group]);
    m_painter.drawRect(rect);
    const QRectF seen = rect.intersected(m_layout.tree);
    const QFont font = fonts::small();
    if (fonts::widthOf(font, box.label) + px(6) > seen.height() || seen.height() < px(kLeastLabel)) {
        return;
    }
    m_painter.save();
    m_painter.setFont(font);
    m_painter.setPen(m_theme[Role::Text2]);
    m_painter.translate(seen.center());
    m_painter.rotate(-90);
    m_painter.drawText(QRectF(-seen.height() / 2, -seen.width() / 2, seen.height(), seen.width()), Qt::AlignCenter,
                       box.label);
    m_painter.restore();
}

void SchedulePainter::paintRuler()
{
    const ScheduleAxis& columns = m_figure.columns;
    const double step = std::max(1.0, markStep(columns.pitch(), px(kRulerMarks)));
    m_painter.setFont(fonts::smallNumbers());
    for (double number = std::floor(columns.from / step) * step; number <= columns.to; number += step) {
        const double item = number == 0 ? 0 : number - 1; // steps count from 1
        const double x = columns.pixel(item + 0.5);
        if (x < m_layout.ruler.left() || x > m_layout.ruler.right() || item >= columns.count) {
            continue;
        }
        m_painter.setPen(m_theme[Role::Text3]);
        m_painter.drawText(QRectF(x - px(40), m_layout.ruler.top(), px(80), m_layout.ruler.height() - px(4)),
                           Qt::AlignHCenter | Qt::AlignVCenter, countText(static_cast<std::int64_t>(item) + 1));
        paintHairline(m_painter, {x, m_layout.ruler.bottom() - px(3)}, {x, m_layout.ruler.bottom()},
                      m_theme[Role::Strong]);
    }
}

void SchedulePainter::paintMatrix()
{
    m_painter.save();
    m_painter.setClipRect(m_layout.matrix);
    if (isDetailed()) {
        paintRowGrounds();
        paintDetails();
    } else {
        m_painter.fillRect(m_layout.matrix, m_theme[Role::Alt]);
        paintSummary();
        paintSmallCells();
    }
    if (m_plan.run.error) { // behind the last column that holds
        const double x = m_figure.columns.pixel(static_cast<double>(m_plan.matrix.columns().size()));
        const double left = std::clamp(x - px(3), m_layout.matrix.left(), m_layout.matrix.right() - px(6));
        m_painter.fillRect(QRectF(left, m_layout.matrix.top(), px(6), m_layout.matrix.height()),
                           m_theme[Role::AlarmLine]);
    }
    if (m_figure.row && !isDetailed()) { // its row is too thin to be tinted
        const double center = m_figure.rows.pixel(*m_figure.row + 0.5);
        paintHairline(m_painter, {m_layout.matrix.left(), center}, {m_layout.matrix.right(), center},
                      m_theme[Role::Accent]);
    }
    m_painter.restore();
}

void SchedulePainter::paintRowGrounds()
{
    const ScheduleAxis& rows = m_figure.rows;
    const auto last = static_cast<std::uint32_t>(std::min(rows.count, std::ceil(rows.to)));
    for (auto row = static_cast<std::uint32_t>(std::max(0.0, std::floor(rows.from))); row < last; ++row) {
        const bool isMarked = m_figure.row == row || isBroughtByMarked(row);
        const QRectF line(m_layout.matrix.left(), rows.pixel(row) + (isMarked ? 0 : 1), m_layout.matrix.width(),
                          rows.pitch() - (isMarked ? 0 : 1.5));
        m_painter.fillRect(line, m_theme[isMarked ? Role::Sel : Role::Alt]);
    }
}

/// The promise that is selected brings this row's value.
bool SchedulePainter::isBroughtByMarked(std::uint32_t row) const
{
    return m_plan.axis && m_figure.promise && std::ranges::any_of(m_plan.axis->gaps, [&](const ScheduleGap& gap) {
               return gap.row == row && gap.promise == *m_figure.promise;
           });
}

void SchedulePainter::paintDetails()
{
    const ScheduleAxis& rows = m_figure.rows;
    const ScheduleAxis& columns = m_figure.columns;
    const auto last = std::min(m_plan.matrix.rows().size(), static_cast<std::size_t>(std::ceil(rows.to)));
    for (auto row = static_cast<std::uint32_t>(std::max(0.0, std::floor(rows.from))); row < last; ++row) {
        paintSpans(row);
        paintGaps(row);
        for (const ScheduleCell& cell : m_plan.matrix.cellsOf(row)) {
            if (cell.column + 1.0 >= columns.from && cell.column <= columns.to) {
                paintCell(cell);
            }
        }
    }
}

void SchedulePainter::paintSpans(std::uint32_t row)
{
    const ScheduleAxis& columns = m_figure.columns;
    const double pitch = m_figure.rows.pitch();
    const double inset = std::clamp(pitch * 0.24, 0.5, 4.0 * px(1));
    for (const ScheduleSpan& span : m_plan.matrix.spansOf(row)) {
        if (span.until < columns.from || span.from > columns.to) {
            continue;
        }
        const double left = std::max(columns.pixel(span.from), m_layout.matrix.left());
        const double right = std::min(columns.pixel(span.until), m_layout.matrix.right());
        m_painter.fillRect(QRectF(left, m_figure.rows.pixel(row) + inset, right - left, pitch - 2 * inset),
                           m_theme[Role::Keep]);
    }
}

/// The promise of a gap in the middle of its line at `y`, where there is room between the diamonds, `half` as wide, and
/// in the row.
void SchedulePainter::paintGapName(const ScheduleGap& gap, double left, double right, double half, double y)
{
    const QFont font = fonts::small();
    const QString name = QStringLiteral("P%1").arg(gap.promise);
    const double width = fonts::widthOf(font, name) + px(6);
    if (right - left > width + 3 * half && m_figure.rows.pitch() >= px(kLeastNameRow)) {
        const QRectF box((left + right - width) / 2, y - px(6), width, px(12));
        m_painter.fillRect(box, m_theme[m_figure.row == gap.row ? Role::Sel : Role::Alt]);
        m_painter.setFont(font);
        m_painter.setPen(m_theme[Role::SearchText]);
        m_painter.drawText(box, Qt::AlignCenter, name);
    }
}

/// From the promise that will bring a value to where it found it, with its name where there is room.
void SchedulePainter::paintGaps(std::uint32_t row)
{
    if (!m_plan.axis) {
        paintWaits(row);
        return;
    }
    const ScheduleAxis& columns = m_figure.columns;
    const auto& gaps = m_plan.axis->gaps;
    const double y = std::round(m_figure.rows.pixel(row + 0.5)) + 0.5;
    const double half = std::min(m_figure.rows.pitch() * 0.32, static_cast<double>(px(4)));
    for (auto at = std::ranges::lower_bound(gaps, row, {}, &ScheduleGap::row); at != gaps.end() && at->row == row;
         ++at) {
        if (at->until + 1.0 < columns.from || at->from > columns.to) {
            continue;
        }
        const double left = columns.pixel(at->from + 0.5);
        const double right = std::max(left, columns.pixel(at->until + 0.5));
        const bool isMarked = m_figure.promise == at->promise;
        m_painter.setRenderHint(QPainter::Antialiasing, true);
        m_painter.setPen(
            QPen(m_theme[Role::SearchLine], isMarked ? 2.2 : 1.2, isMarked ? Qt::SolidLine : Qt::DashLine));
        m_painter.drawLine(QPointF(left, y), QPointF(right, y));
        m_painter.setPen(QPen(m_theme[Role::SearchLine], 1.2));
        m_painter.setBrush(m_theme[Role::Base]);
        m_painter.drawPolygon(QPolygonF({{left - half, y}, {left, y - half}, {left + half, y}, {left, y + half}}));
        m_painter.setRenderHint(QPainter::Antialiasing, false);
        paintGapName(*at, left, right, half, y);
    }
}

/// In a plan: from where a value goes to where it is made again.
void SchedulePainter::paintWaits(std::uint32_t row)
{
    const ScheduleAxis& columns = m_figure.columns;
    const auto spans = m_plan.matrix.spansOf(row);
    const double y = std::round(m_figure.rows.pixel(row + 0.5)) + 0.5;
    const double half = std::min(m_figure.rows.pitch() * 0.32, static_cast<double>(px(4)));
    for (std::size_t i = 1; i < spans.size(); ++i) {
        const ScheduleCell* back = m_plan.matrix.cellAt(row, spans[i].from);
        if (back != nullptr && back->kind == CellKind::Prefetch) {
            continue; // its own marks say that it was moved out and fetched
        }
        const double left = columns.pixel(spans[i - 1].until) + half;
        const double right = columns.pixel(spans[i].from);
        if (right < m_layout.matrix.left() || left > m_layout.matrix.right() || right - left < 2 * half) {
            continue;
        }
        m_painter.setRenderHint(QPainter::Antialiasing, true);
        m_painter.setPen(QPen(m_theme[Role::SearchLine], m_figure.row == row ? 2 : 1, Qt::DashLine));
        m_painter.drawLine(QPointF(std::max(left, m_layout.matrix.left()), y),
                           QPointF(std::min(right, m_layout.matrix.right()), y));
        paintDiamond(m_painter, {left, y}, half, m_theme[Role::SearchLine], false);
        m_painter.setRenderHint(QPainter::Antialiasing, false);
    }
}

QRectF SchedulePainter::cellBox(const ScheduleCell& cell) const
{
    const double left = m_figure.columns.pixel(cell.column);
    const double top = m_figure.rows.pixel(cell.row);
    const double width = m_figure.columns.pitch();
    const double height = m_figure.rows.pitch();
    const double inset = height > 8 ? 1.5 : 0.5;
    return {std::round(left) + 0.0, std::round(top + inset), std::max(2.0, std::round(width) - (width > 6 ? 1 : 0)),
            std::max(2.0, std::round(height - 2 * inset))};
}

void SchedulePainter::paintCell(const ScheduleCell& cell)
{
    paintCellMark(m_painter, cellBox(cell), cell.kind, m_theme);
}

/// What share of the tensors under a pixel is held, as a tone between the ground and the colour of what is kept.
void SchedulePainter::paintSummary()
{
    const int width = std::max(1, static_cast<int>(m_layout.matrix.width()));
    const int height = std::max(1, static_cast<int>(m_layout.matrix.height()));
    const std::vector<float> share = heldShare(m_plan.matrix, m_figure.columns, m_figure.rows, width, height);
    std::array<QRgb, 256> tones{};
    for (std::size_t i = 0; i < tones.size(); ++i) {
        const auto part = static_cast<float>(i) / 255.0F;
        // A single tensor among many shall be seen: the first tone is a third of the way.
        tones[i] = blended(m_theme[Role::Alt], m_theme[Role::Keep], i == 0 ? 0.0F : 0.35F + 0.65F * part).rgb();
    }
    QImage image(width, height, QImage::Format_RGB32);
    for (int line = 0; line < height; ++line) {
        auto* pixels = reinterpret_cast<QRgb*>(image.scanLine(line));
        const float* row = share.data() + static_cast<std::ptrdiff_t>(line) * width;
        for (int x = 0; x < width; ++x) {
            pixels[x] = tones[static_cast<std::size_t>(std::ceil(row[x] * 255.0F))];
        }
    }
    m_painter.drawImage(QRectF(m_layout.matrix.topLeft(), QSizeF(width, height)), image);
}

void SchedulePainter::paintSmallCells()
{
    const ScheduleAxis& rows = m_figure.rows;
    const ScheduleAxis& columns = m_figure.columns;
    const auto markOf = [&](const ScheduleCell& cell) {
        // What is done twice is larger: it must be found among what is done once.
        const double side = (cell.kind == CellKind::Recompute ? 1.6 : 1) * kSmallCell * fonts::scale();
        return QRectF(columns.pixel(cell.column), rows.pixel(cell.row), std::max(side, columns.pitch()),
                      std::max(side, rows.pitch()));
    };
    std::array<std::vector<QRectF>, kCellKinds> marks;
    const auto last = std::min(m_plan.matrix.rows().size(), static_cast<std::size_t>(std::ceil(rows.to)));
    for (auto row = static_cast<std::uint32_t>(std::max(0.0, std::floor(rows.from))); row < last; ++row) {
        for (const ScheduleCell& cell : m_plan.matrix.cellsOf(row)) {
            if (cell.column + 1.0 >= columns.from && cell.column <= columns.to) {
                marks[static_cast<std::size_t>(cell.kind)].push_back(markOf(cell));
            }
        }
    }
    constexpr std::array kRoles{Role::Ink,        Role::SearchLine, Role::Strong,
                                Role::FulfilLine, Role::FulfilLine, Role::FulfilLine};
    constexpr std::array<std::size_t, kCellKinds> kOrder{2, 0, 3, 4, 5, 1}; // what is rare lies above
    m_painter.setPen(Qt::NoPen);
    for (const std::size_t kind : kOrder) {
        m_painter.setBrush(m_theme[kRoles[kind]]);
        m_painter.drawRects(marks[kind].data(), static_cast<int>(marks[kind].size()));
    }
}

void SchedulePainter::paintLegend()
{
    const double middle = m_layout.legend.center().y() + px(3);
    const double bottom = m_layout.legend.bottom();
    double x = m_layout.legend.left();
    const QFont font = fonts::small();
    const QString steps = (m_plan.axis ? painterText("%1 visits") : painterText("%1 steps"))
                              .arg(countText(static_cast<std::int64_t>(m_plan.matrix.columns().size())));
    const double end = m_layout.legend.right() - fonts::widthOf(fonts::smallNumbers(), steps) - px(12);
    const auto entry = [&](const QString& words, const auto& sample) {
        const double width = px(kLegendSample) + px(6) + fonts::widthOf(font, words);
        if (x + width > end) {
            return;
        }
        sample(QRectF(x, middle - px(5), px(kLegendSample), px(10)));
        m_painter.setFont(font);
        m_painter.setPen(m_theme[Role::Text2]);
        m_painter.drawText(QRectF(x + px(kLegendSample) + px(6), middle - px(9), width, px(18)),
                           Qt::AlignLeft | Qt::AlignVCenter, words);
        x += width + px(16);
    };
    const auto box = [&](CellKind kind) {
        return [this, kind](const QRectF& at) {
            paintCellMark(m_painter, at.adjusted(px(2), 0, -px(2), 0), kind, m_theme);
        };
    };
    const auto line = [&](Role role, Qt::PenStyle style, double width) {
        return [this, role, style, width](const QRectF& at) {
            m_painter.setPen(QPen(m_theme[role], width, style));
            m_painter.drawLine(QPointF(at.left(), std::round(at.center().y()) + 0.5),
                               QPointF(at.right(), std::round(at.center().y()) + 0.5));
        };
    };
    entry(painterText("compute"), box(CellKind::Compute));
    entry(painterText("recompute"), box(CellKind::Recompute));
    entry(painterText("kept"), [&](const QRectF& at) { paintDecision(m_painter, at, Decision::Keep, m_theme); });
    entry(m_plan.subject->half == PlanFor::Relevance ? painterText("relevance") : painterText("gradient"),
          box(CellKind::Gradient));
    if (m_plan.axis) {
        entry(painterText("dropped: a promise waits"), [&](const QRectF& at) {
            m_painter.setPen(QPen(m_theme[Role::SearchLine], 1.2, Qt::DashLine));
            m_painter.drawLine(QPointF(at.left(), at.center().y()), QPointF(at.right(), at.center().y()));
        });
        entry(painterText("found"), box(CellKind::Return));
    } else if (m_plan.rebuiltTensors() > 0) {
        entry(painterText("dropped, made again"), [&](const QRectF& at) {
            m_painter.setPen(QPen(m_theme[Role::SearchLine], 1, Qt::DashLine));
            m_painter.drawLine(QPointF(at.left(), at.center().y()), QPointF(at.right(), at.center().y()));
            m_painter.setRenderHint(QPainter::Antialiasing, true);
            paintDiamond(m_painter, {at.left() + px(4), at.center().y()}, px(4), m_theme[Role::SearchLine], false);
            m_painter.setRenderHint(QPainter::Antialiasing, false);
        });
    }
    if (m_plan.run.movedBytes > 0) {
        entry(painterText("moved out"), box(CellKind::Offload));
        entry(painterText("fetched"), box(CellKind::Prefetch));
    }
    entry(painterText("predicted"), line(Role::FulfilLine, Qt::SolidLine, 1.6));
    if (m_plan.axis && m_plan.axis->isMeasured()) {
        entry(painterText("measured, by tensor"),
              [&](const QRectF& at) { paintDecision(m_painter, at, Decision::Keep, m_theme); });
    } else if (m_figure.measured != nullptr && !m_figure.measured->empty()) {
        entry(painterText("measured"), [&](const QRectF& at) {
            m_painter.setPen(QPen(m_theme[Role::Ink], 1.2));
            m_painter.setBrush(m_theme[Role::Base]);
            m_painter.drawEllipse(at.center(), px(3), px(3));
        });
    }
    if (m_figure.planBefore) {
        const auto& before = m_figure.planBefore->question;
        const double store = static_cast<double>(m_plan.subject->storeAllPeak);
        entry(painterText("plan at %1, before")
                  .arg(percentText(static_cast<double>(before.budget) / std::max(1.0, store), 0)),
              line(Role::Ghost, Qt::DotLine, 1.4));
    }
    entry(painterText("budget %1").arg(ByteScale::of(m_figure.budget).text(m_figure.budget)),
          line(Role::AlarmLine, Qt::DashLine, 1.6));
    m_painter.setFont(fonts::smallNumbers());
    m_painter.setPen(m_theme[Role::Text3]);
    m_painter.drawText(QRectF(end, middle - px(9), m_layout.legend.right() - end, bottom - middle + px(9)),
                       Qt::AlignRight | Qt::AlignVCenter, steps);
}

/// A frame around the row, its name at the left.
void SchedulePainter::paintTried(std::uint32_t row)
{
    const double top = m_figure.rows.pixel(row);
    const double height = std::max<double>(px(5), m_figure.rows.pitch());
    const double middle = top + m_figure.rows.pitch() / 2;
    if (middle < m_layout.matrix.top() || middle > m_layout.matrix.bottom()) {
        return;
    }
    paintName(row, true);
    QPen pen(m_theme[Role::Accent], 1.6);
    pen.setDashPattern({3, 2});
    m_painter.setPen(pen);
    m_painter.setBrush(Qt::NoBrush);
    m_painter.drawRect(QRectF(m_layout.matrix.left(), middle - height / 2, m_layout.matrix.width(), height));
}

void SchedulePainter::paintMoving()
{
    m_curve.paintMeasured();
    if (m_figure.isSearching) {
        return m_figure.tried ? paintTried(*m_figure.tried) : void();
    }
    const double x = m_figure.columns.pixel(m_figure.step + 0.5);
    if (x < m_layout.matrix.left() || x > m_layout.matrix.right() || m_figure.step >= m_plan.matrix.columns().size()) {
        return;
    }
    m_painter.setRenderHint(QPainter::Antialiasing, true);
    m_painter.setPen(QPen(m_theme[Role::Accent], 2));
    m_painter.drawLine(QPointF(x, m_layout.ruler.bottom() - px(6)), QPointF(x, m_layout.curve.bottom()));
    const double half = px(6);
    const double top = m_layout.ruler.top() + px(4);
    QPainterPath flag;
    flag.addPolygon(QPolygonF(
        {{x - half, top}, {x + half, top}, {x + half, top + half}, {x, top + 2 * half}, {x - half, top + half}}));
    m_painter.fillPath(flag, m_theme[Role::Accent]);
    const double bytes = static_cast<double>(m_plan.matrix.columns()[m_figure.step].bytes);
    m_painter.setPen(QPen(m_theme[Role::Accent], 2));
    m_painter.setBrush(m_theme[Role::Base]);
    m_painter.drawEllipse(QPointF(x, m_curve.y(bytes)), px(3), px(3));
    m_painter.setRenderHint(QPainter::Antialiasing, false);
}

} // namespace retro::views
