// SPDX-License-Identifier: Apache-2.0
#include "views/plan/blocksizeview.h"

#include "core/base/file.h"
#include "views/common/numbertext.h"
#include "views/common/paint/fonts.h"
#include "views/common/paint/paintfile.h"
#include "views/common/paint/theme.h"
#include "views/common/widgets/boxes.h"
#include "views/common/widgets/elidedlabel.h"
#include "views/plan/bytescale.h"

#include <QHBoxLayout>
#include <QKeyEvent>
#include <QMouseEvent>
#include <QPainter>
#include <QPushButton>
#include <QVBoxLayout>

#include <algorithm>
#include <cmath>

namespace retro::views
{

using fonts::px;

namespace
{
/// Joint graphs up to this size get their curve by themselves.
constexpr std::size_t kQuickCurve = 1200;
} // namespace

BlockSizePane::BlockSizePane(QWidget* parent) : DrawnPane(parent, {340, 130}, {180, 84})
{
    setFocusPolicy(Qt::StrongFocus);
    setAccessibleName(tr("Peak and extra work over the size of blocks"));
    setAccessibleDescription(tr("Arrow keys choose the next smaller and larger size."));
}

void BlockSizePane::setFigure(BlockFigure figure)
{
    m_figure = std::move(figure);
    update();
}

QString BlockSizePane::tipAt(const QPointF& at) const
{
    if (m_figure.points.empty()) {
        return {};
    }
    const BlockScale scale = blockScale(m_figure, QSizeF(size()));
    const auto nearest = std::ranges::min_element(m_figure.points, {}, [&](const BlockPoint& point) {
        return std::abs(scale.x(static_cast<double>(point.operators)) - at.x());
    });
    return tr("Blocks of %1 operators: peak %2, extra work %3 %")
        .arg(countText(static_cast<std::int64_t>(nearest->operators)), bytesWords(nearest->peak),
             signedText(m_figure.extra(nearest->cost), 1));
}

void BlockSizePane::paintEvent(QPaintEvent* /*event*/)
{
    QPainter painter(this);
    paintBlockCurve(painter, m_figure, QSizeF(size()), theme(this));
    paintFocus(painter);
}

void BlockSizePane::choose(double pixel)
{
    if (m_figure.operators > 0) {
        const std::size_t size = blockScale(m_figure, QSizeF(this->size())).sizeAt(pixel);
        emit sizeChosen(std::clamp<std::size_t>(size, 1, m_figure.operators));
    }
}

void BlockSizePane::mousePressEvent(QMouseEvent* event)
{
    if (event->button() == Qt::LeftButton) {
        choose(event->position().x());
    }
}

void BlockSizePane::mouseMoveEvent(QMouseEvent* event)
{
    if (event->buttons().testFlag(Qt::LeftButton)) {
        choose(event->position().x());
    }
}

void BlockSizePane::keyPressEvent(QKeyEvent* event)
{
    const bool isLarger = event->key() == Qt::Key_Right || event->key() == Qt::Key_Up;
    const bool isSmaller = event->key() == Qt::Key_Left || event->key() == Qt::Key_Down;
    if ((!isLarger && !isSmaller) || m_figure.operators == 0) {
        QWidget::keyPressEvent(event);
        return;
    }
    const std::size_t now = m_figure.chosen > 0 ? m_figure.chosen : m_figure.root();
    emit sizeChosen(isLarger ? std::min(now + 1, m_figure.operators) : std::max<std::size_t>(now, 2) - 1);
}

BlockSizeView::BlockSizeView(RunModel& model, Cursor& cursor, Selection& selection, PlanModel& plan, QWidget* parent)
    : View(model, cursor, selection, parent), m_plan(plan)
{
    setAccessibleName(tr("Size of the blocks of a plan"));
    setEmptyText(tr("What the size of blocks does to memory and work appears here, once a model is open."));
    auto* body = new QWidget(this);
    auto* column = makeBox<QVBoxLayout>(body, {}, 0);
    m_pane = new BlockSizePane(body);
    column->addWidget(m_pane, 1);
    auto* row = new QHBoxLayout;
    row->setContentsMargins(px(10), px(2), px(10), px(4));
    row->setSpacing(px(8));
    m_note = new ElidedLabel({}, Role::Text2, fonts::label(), body);
    m_button = new QPushButton(body);
    row->addWidget(m_note, 1);
    row->addWidget(m_button);
    column->addLayout(row);
    setBody(body);
    connect(m_pane, &BlockSizePane::sizeChosen, this,
            [this](quint64 operators) { m_plan.setBlockSize(static_cast<std::size_t>(operators)); });
    connect(m_button, &QPushButton::clicked, this, &BlockSizeView::press);
    for (const auto change : {&PlanModel::stateChanged, &PlanModel::planChanged, &PlanModel::questionChanged,
                              &PlanModel::blockPointsChanged}) {
        connect(&plan, change, this, [this] { schedule(Change::State); });
    }
    connect(&plan, &PlanModel::stateChanged, this, &BlockSizeView::forget);
}

QString BlockSizeView::subject() const
{
    if (!m_plan.plan()) {
        return {};
    }
    const BlockFigure figure = figureNow();
    const QString root = tr("√%1").arg(countText(static_cast<std::int64_t>(figure.operators)));
    if (figure.chosen == 0) {
        return tr("no blocks in this plan");
    }
    const QString size = figure.chosen == 1
                             ? tr("1 operator")
                             : tr("%1 operators").arg(countText(static_cast<std::int64_t>(figure.chosen)));
    return figure.chosen == figure.root() ? tr("%1, %2").arg(size, root) : size;
}

bool BlockSizeView::canShow(const SelectedThing& thing) const { return std::holds_alternative<std::monostate>(thing); }

base::Result<void> BlockSizeView::exportTo(const std::filesystem::path& path)
{
    if (!m_plan.plan() || m_plan.blockPoints().empty()) {
        return base::usageError("there is no curve of block sizes to export; show the pane Block size first",
                                path.string());
    }
    const BlockFigure figure = figureNow();
    if (path.extension() == ".csv") {
        return base::writeFile(path, blockCsv(figure));
    }
    const QSizeF size(m_pane->size().expandedTo(m_pane->sizeHint()));
    return paintToFile(
        path, size, [&](QPainter& painter) { paintBlockCurve(painter, figure, size, theme(this)); }, tr("Block size"),
        {{"model", m_plan.plan()->subject->model.toStdString()}}, 2);
}

BlockFigure BlockSizeView::figureNow() const
{
    BlockFigure figure;
    const ShownPlan& plan = *m_plan.planOfSteps();
    figure.points = m_plan.blockPoints();
    figure.operators = plan.subject->joint.forwardCount;
    figure.baseCost = plan.subject->baseCost;
    figure.budget = m_plan.question().budget;
    const std::size_t blocks = plan.plan().annotations.blocks.size();
    const std::size_t wished = plan.question.blocks.operators;
    figure.chosen = blocks == 0 ? 0 : wished > 0 ? wished : (figure.operators + blocks - 1) / blocks;
    return figure;
}

bool BlockSizeView::isQuick() const { return m_plan.subject()->graph().size() <= kQuickCurve; }

/// The button, and the words beside it.
void BlockSizeView::showButton()
{
    const bool isChosen = !m_plan.question().blocks.isAuto();
    const bool isDrawn = !m_plan.blockPoints().empty();
    m_isTrying = m_isTrying && !isDrawn;
    m_button->setText(isDrawn || isChosen ? tr("Auto") : tr("Draw"));
    m_button->setToolTip(isDrawn || isChosen ? tr("Let the planners choose the size")
                                             : tr("Plan for every size of blocks, in the background"));
    m_button->setEnabled(isChosen || (!isDrawn && !m_isTrying));
    m_note->setText(isDrawn      ? tr("Drag, or ← →: the plan follows.")
                    : m_isTrying ? tr("Trying sizes…")
                                 : tr("The curve is drawn when it is asked for."));
}

void BlockSizeView::refresh(Changes /*changes*/)
{
    if (m_plan.state() == PlanState::Absent) {
        m_plan.want();
    }
    if (!m_plan.plan()) {
        return;
    }
    const PlanQuestion& question = m_plan.question();
    const bool isKnown = m_asked == m_plan.subject() && m_askedFor.budget == question.budget &&
                         m_askedFor.order == question.order && m_askedFor.tier == question.tier;
    if (!isKnown && !m_plan.isPlanning()) {
        if (isQuick()) {
            ask();
        } else if (!m_plan.blockPoints().empty()) {
            m_plan.setBlockPoints({}); // of another question
        }
    }
    m_pane->setFigure(figureNow());
    showButton();
}

/// A model that was closed is let go at once, also while the pane is hidden.
void BlockSizeView::forget()
{
    if (!m_plan.plan()) {
        m_asked.reset();
        m_askedFor = {};
        m_isTrying = false;
        m_pane->setFigure({});
    }
}

void BlockSizeView::ask()
{
    m_asked = m_plan.subject();
    m_askedFor = m_plan.question();
    m_isTrying = true;
    m_plan.wantBlockPoints();
}

void BlockSizeView::press()
{
    if (!m_plan.subject()) {
        return;
    }
    if (!m_plan.question().blocks.isAuto()) {
        m_plan.setBlockSize(0);
    } else if (m_plan.blockPoints().empty()) {
        ask();
    }
}

} // namespace retro::views

#include "moc_blocksizeview.cpp"
