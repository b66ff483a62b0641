// SPDX-License-Identifier: Apache-2.0
#include "views/memory/memoryview.h"

#include "core/ops/gradienttimes.h"
#include "views/common/numbertext.h"
#include "views/common/paint/fonts.h"
#include "views/common/paint/theme.h"
#include "views/common/widgets/arrowstep.h"
#include "views/common/widgets/boxes.h"
#include "views/common/widgets/elidedlabel.h"

#include <QComboBox>
#include <QHBoxLayout>
#include <QKeyEvent>
#include <QMouseEvent>
#include <QPainter>
#include <QSignalBlocker>
#include <QTimer>
#include <QVBoxLayout>

#include <algorithm>
#include <iterator>
#include <utility>

namespace retro::views
{

using fonts::px;

namespace
{

/// Where a gradient flows and inputs are multiplied by it at the end, the state's share is its value times the
/// gradient.
FusedNode timesValues(FusedNode fused)
{
    for (FusedMember& member : fused.members) {
        if (member.relevance.isValid() && member.value.isValid() && tensor::isFloating(member.value.dtype()) &&
            member.value.shape() == member.relevance.shape()) {
            member.relevance = ops::algebra::gradientTimes(member.relevance, member.value.to(member.relevance.dtype()));
        }
    }
    return fused;
}

} // namespace

/// Draws one figure; the pointer or the arrow keys are over one cell.
class MemoryView::Canvas final : public QWidget
{
public:
    explicit Canvas(MemoryView* view) : QWidget(view), m_view(view)
    {
        setMouseTracking(true);
        setFocusPolicy(Qt::StrongFocus);
        setMinimumSize(px(240), px(70));
        setAccessibleName(tr("Relevance of the state, unit by unit and step by step"));
        setAccessibleDescription(tr("Arrow keys move over units and steps."));
    }

    void setFigure(MemoryFigure figure)
    {
        m_figure = std::move(figure);
        if (!m_figure.at(m_cell.y(), m_cell.x())) {
            m_cell = {-1, -1};
        }
        update();
    }
    [[nodiscard]] const MemoryFigure& figure() const { return m_figure; }

protected:
    void paintEvent(QPaintEvent* /*event*/) override
    {
        const Theme& colors = theme(this);
        QPainter painter(this);
        painter.fillRect(rect(), colors[Role::Base]);
        paintMemory(painter, m_figure, room(), colors);
    }
    void mouseMoveEvent(QMouseEvent* event) override
    {
        probe(memoryCellAt(m_figure, room(), event->position().x(), event->position().y()));
    }
    void keyPressEvent(QKeyEvent* event) override
    {
        const QPoint move = arrowStep(event->key());
        const QPoint next = m_cell.x() < 0 ? QPoint(0, 0) : m_cell + move;
        if (move.isNull() || !m_figure.at(next.y(), next.x())) {
            return QWidget::keyPressEvent(event);
        }
        probe(next);
    }

private:
    [[nodiscard]] QRectF room() const { return QRectF(rect()).adjusted(px(10), px(4), -px(6), -px(2)); }
    void probe(const QPoint& cell)
    {
        if (cell != m_cell) {
            m_cell = cell;
            m_view->showProbe(cell);
        }
    }

    MemoryView* m_view;
    MemoryFigure m_figure;
    QPoint m_cell{-1, -1};
};

MemoryView::MemoryView(RunModel& model, Cursor& cursor, Selection& selection, QWidget* parent)
    : View(model, cursor, selection, parent)
{
    setAccessibleName(tr("Memory"));
    setEmptyText(tr("What does a recurrent layer keep from step to step? Open a model with one and run it."));
    auto* body = new QWidget(this);
    auto* column = makeBox<QVBoxLayout>(body, {}, px(2));
    m_canvas = new Canvas(this);
    column->addWidget(m_canvas, 1);
    auto* row = new QHBoxLayout;
    row->setContentsMargins(px(8), 0, px(8), px(2));
    m_layers = new QComboBox(body);
    m_layers->setFont(fonts::label());
    m_layers->setAccessibleName(tr("Layer and direction"));
    m_layers->setToolTip(tr("Layer and direction"));
    row->addWidget(m_layers);
    m_probe = new ElidedLabel({}, Role::Text2, fonts::numbers(), body);
    m_probe->setFixedHeight(px(20));
    m_probe->setAccessibleName(tr("Value under the pointer"));
    row->addWidget(m_probe, 1);
    column->addLayout(row);
    setBody(body);
    connect(m_layers, &QComboBox::currentIndexChanged, this, [this](int at) {
        if (at >= 0 && at < static_cast<int>(m_figures.size())) {
            m_canvas->setFigure(m_figures[static_cast<std::size_t>(at)]);
            emit captionChanged();
        }
    });
}

const MemoryFigure& MemoryView::figure() const { return m_canvas->figure(); }

void MemoryView::setFused(FusedNodesPointer fused)
{
    m_fused = std::move(fused);
    schedule(Change::Run);
}

QString MemoryView::subject() const
{
    return !model().hasRun() || figure().isEmpty()
               ? QString()
               : tr("%1, %n steps", nullptr, figure().stepCount()).arg(model().label(figure().node));
}

QString MemoryView::hint() const
{
    return tr("Relevance of the state, step by step: it is carried back until the step that wrote it.");
}

bool MemoryView::canShow(const SelectedThing& thing) const
{
    return model().hasRun() && !figure().isEmpty() && model().nodeOf(thing) == figure().node;
}

QString MemoryView::emptyReason() const
{
    if (!figure().isEmpty()) {
        return {};
    }
    const std::vector<base::NodeId> nodes = recurrentNodes(model().graph());
    if (nodes.empty()) {
        return tr("This model has no recurrent layer (LSTM, GRU or RNN).");
    }
    if (!m_fused) {
        return tr("A recorded run holds each node as a whole. Open its model to look inside.");
    }
    for (const base::NodeId node : nodes) {
        const FusedNode* fused = findFused(m_fused, node);
        if (fused != nullptr && !fused->problem.isEmpty()) {
            return fused->problem;
        }
        if (fused != nullptr && fused->isOpen) {
            return tr("No relevance passed the state of this layer.");
        }
    }
    return tr("The layer is closed. Select it and choose Run ▸ Open this node.");
}

void MemoryView::findFigures()
{
    m_figures.clear();
    for (const base::NodeId node : recurrentNodes(model().graph())) {
        if (const FusedNode* fused = findFused(m_fused, node)) {
            const bool timesInput = model().run().facts.numbers.contains("times_input");
            std::vector<MemoryFigure> found = memoryFigures(timesInput ? timesValues(*fused) : *fused);
            std::move(found.begin(), found.end(), std::back_inserter(m_figures));
        }
    }
}

void MemoryView::showChoices()
{
    const QSignalBlocker blocker(m_layers);
    const int before = m_layers->currentIndex();
    m_layers->clear();
    for (const MemoryFigure& one : m_figures) {
        m_layers->addItem(one.isBackward ? tr("%1, backward").arg(model().label(one.node)) : model().label(one.node));
    }
    m_layers->setVisible(m_figures.size() > 1);
    const int shown = std::clamp(before, 0, std::max(0, static_cast<int>(m_figures.size()) - 1));
    m_layers->setCurrentIndex(shown);
    m_canvas->setFigure(m_figures.empty() ? MemoryFigure() : m_figures[static_cast<std::size_t>(shown)]);
}

/// Once for each layer of a model: who closes it keeps it closed.
void MemoryView::askToOpen()
{
    for (const base::NodeId node : recurrentNodes(model().graph())) {
        const QString name = model().label(node);
        const FusedNode* fused = findFused(m_fused, node);
        if (fused != nullptr && !fused->isOpen && fused->problem.isEmpty() && !m_asked.contains(name)) {
            m_asked.append(name);
            QTimer::singleShot(0, this, [this, node] { emit openNodeRequested(node, true); });
            return; // the run that follows asks for the next one
        }
    }
}

void MemoryView::refresh(Changes changes)
{
    if (!changes.testFlag(Change::Run)) {
        return;
    }
    const QString name = QString::fromStdString(model().run().facts.modelName);
    if (std::exchange(m_modelName, name) != name) {
        m_asked.clear();
    }
    findFigures();
    showChoices();
    askToOpen();
    emit captionChanged();
}

void MemoryView::showProbe(const QPoint& cell)
{
    const auto value = figure().at(cell.y(), cell.x());
    m_probe->setText(value ? tr("unit %1  step %2   %3")
                                 .arg(figure().units[static_cast<std::size_t>(cell.y())].index)
                                 .arg(cell.x() + 1)
                                 .arg(valueText(*value))
                           : QString());
}

base::Result<void> MemoryView::exportTo(const std::filesystem::path& path)
{
    if (model().hasRun()) {
        findFigures();
        showChoices();
    }
    if (!model().hasRun() || figure().isEmpty()) {
        return base::usageError("no recurrent layer is open whose memory could be written", path.string());
    }
    const QSizeF size(900, 420);
    const auto paint = [&](QPainter& painter, const Theme& light) {
        paintMemory(painter, figure(), QRectF(QPointF(), size).adjusted(10, 8, -8, -4), light);
    };
    return write(path, memoryCsv(m_figures), size, paint);
}

} // namespace retro::views

#include "moc_memoryview.cpp"
