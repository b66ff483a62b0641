// SPDX-License-Identifier: Apache-2.0
#include "views/output/outputview.h"

#include "core/trace/targetplace.h"
#include "views/common/csv.h"
#include "views/common/numbertext.h"
#include "views/common/paint/fonts.h"
#include "views/common/widgets/boxes.h"
#include "views/common/widgets/elidedlabel.h"
#include "views/output/outputcanvas.h"

#include <QComboBox>
#include <QPainter>
#include <QVBoxLayout>

#include <algorithm>
#include <cmath>

namespace retro::views
{

using fonts::px;

namespace
{

constexpr std::int64_t kMostRows = 256; // that are given room
constexpr double kRow = 6;

} // namespace

OutputView::OutputView(RunModel& model, Cursor& cursor, Selection& selection, QWidget* parent)
    : View(model, cursor, selection, parent)
{
    setAccessibleName(tr("Output"));
    setEmptyText(tr("No output yet. Open a model and an input, then run."));
    auto* body = new QWidget(this);
    auto* column = makeBox<QVBoxLayout>(body, {}, px(2));
    m_asks = new QComboBox(body);
    m_asks->setFont(fonts::label());
    m_asks->setAccessibleName(tr("What a click asks about"));
    m_asks->setToolTip(tr("What a click asks about"));
    m_asks->addItem(tr("A click asks about the segment"), true);
    m_asks->addItem(tr("A click asks about one place"), false);
    auto* row = new QHBoxLayout;
    row->setContentsMargins(px(8), px(2), px(8), 0);
    row->addWidget(m_asks);
    row->addStretch(1);
    column->addLayout(row);
    m_canvas = new OutputCanvas(body);
    column->addWidget(m_canvas, 1);
    m_probe = new ElidedLabel({}, Role::Text2, fonts::numbers(), body);
    m_probe->setContentsMargins(px(8), 0, px(8), 0);
    m_probe->setFixedHeight(px(20));
    m_probe->setAccessibleName(tr("Value under the pointer"));
    column->addWidget(m_probe);
    setBody(body);
    connect(m_canvas, &OutputCanvas::chosen, this, &OutputView::choose);
    connect(m_canvas, &OutputCanvas::probed, this, &OutputView::showProbe);
}

const DenseFigure& OutputView::figure() const { return m_canvas->figure(); }

QString OutputView::subject() const
{
    return model().hasRun() && !figure().isEmpty() ? model().shapeText(figure().value) : QString();
}

QString OutputView::hint() const
{
    return figure().hasSegments() ? tr("What each pixel is called. Click a segment to ask why.")
                                  : tr("What the model gives out. Click a number to ask why.");
}

bool OutputView::canShow(const SelectedThing& thing) const
{
    return model().hasRun() && !figure().isEmpty() && model().valueOf(thing) == figure().value;
}

QString OutputView::emptyReason() const
{
    return figure().isEmpty() ? tr("The output is one row of numbers: choose a class in the pane Classes.") : QString();
}

void OutputView::refresh(Changes changes)
{
    if (changes.testFlag(Change::Run) || changes.testFlag(Change::State)) {
        m_canvas->setFigure(denseFigure(model()));
        m_asks->setVisible(figure().hasSegments());
        emit captionChanged();
    }
}

int OutputView::wantedHeight(int width) const
{
    const auto segments = model().hasRun() ? model().derived<Segments>() : nullptr;
    if (!segments || segments->isEmpty()) {
        const bool isDense = model().hasRun() && trace::hasDenseTarget(model().run());
        const tensor::Tensor* output = isDense ? model().forwardValue(model().run().facts.targetValue) : nullptr;
        const bool isTable = output != nullptr && output->rank() == 3;
        return isTable ? static_cast<int>(std::min<std::int64_t>(output->shape()[1], kMostRows)) * px(kRow) : 0;
    }
    const double fits = std::max<double>(1, width - px(16)) / segments->width();
    const double mask = (fits > 1 ? std::floor(fits) : fits) * segments->height(); // as placeDense() draws it
    return static_cast<int>(mask) + m_asks->sizeHint().height() + m_probe->height() + px(12);
}

void OutputView::choose(const QPoint& cell)
{
    const bool asksSegment = figure().hasSegments() && m_asks->currentData().toBool();
    const QString code = asksSegment ? figure().segmentAt(cell) : figure().codeAt(cell);
    if (!code.isEmpty()) {
        emit placeWanted(code);
    }
}

void OutputView::showProbe(const QPoint& cell)
{
    const QString code = figure().codeAt(cell);
    if (code.isEmpty()) {
        return m_probe->setText({});
    }
    if (figure().hasSegments()) {
        const int one = figure().segments->classAt(cell.x(), cell.y());
        return m_probe->setText(tr("x %1  y %2   %3").arg(cell.x(), 3).arg(cell.y(), 3).arg(classLabel(model(), one)));
    }
    const Plane& plane = figure().grid.plane;
    m_probe->setText(QStringLiteral("%1   %2").arg(code, valueText(plane.at(cell.x(), cell.y()))));
}

std::string OutputView::csv() const
{
    const DenseFigure& shown = figure();
    if (shown.hasSegments()) {
        CsvText text({"class", "name", "places", "score", "area", "share_of_positive_relevance"});
        for (std::size_t i = 0; i < shown.shares.size(); ++i) {
            const SegmentShare& share = shown.shares[i];
            const Segments::One& one = shown.segments->found()[i];
            text.row(share.index, share.name, one.places, one.score, share.area, share.share);
        }
        return text.take();
    }
    CsvText text({"place", "value"});
    const Plane& plane = shown.grid.plane;
    for (int y = 0; y < plane.height; ++y) {
        for (int x = 0; x < plane.width; ++x) {
            if (const QString code = shown.codeAt({x, y}); !code.isEmpty()) {
                text.row(code, plane.at(x, y));
            }
        }
    }
    return text.take();
}

base::Result<void> OutputView::exportTo(const std::filesystem::path& path)
{
    if (model().hasRun()) {
        m_canvas->setFigure(denseFigure(model()));
    }
    if (!model().hasRun() || figure().isEmpty()) {
        return base::usageError("there is no output with several rows of classes to write", path.string());
    }
    const QSizeF size(360, 360 + (figure().shares.empty() ? 0 : 30 + 30 * static_cast<int>(figure().shares.size())));
    const auto paint = [&](QPainter& painter, const Theme& light) {
        m_canvas->paint(painter, QRectF(QPointF(), size).adjusted(8, 8, -8, -8), light);
    };
    return write(path, csv(), size, paint);
}

} // namespace retro::views

#include "moc_outputview.cpp"
