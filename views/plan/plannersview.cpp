// SPDX-License-Identifier: Apache-2.0
#include "views/plan/plannersview.h"

#include "core/base/file.h"
#include "views/common/numbertext.h"
#include "views/common/paint/fonts.h"
#include "views/common/paint/paintfile.h"
#include "views/common/paint/theme.h"
#include "views/common/widgets/boxes.h"
#include "views/common/widgets/elidedlabel.h"
#include "views/common/widgets/listtable.h"
#include "views/plan/plannertablemodel.h"
#include "views/plan/searchmoment.h"

#include <QComboBox>
#include <QHBoxLayout>
#include <QHeaderView>
#include <QMouseEvent>
#include <QPainter>
#include <QProgressBar>
#include <QPushButton>
#include <QSpinBox>
#include <QTableView>
#include <QVBoxLayout>

#include <algorithm>
#include <utility>

namespace retro::views
{

using fonts::px;

namespace
{
/// Joint graphs up to this size get their points by themselves.
constexpr std::size_t kQuick = 1200;
} // namespace

ParetoPane::ParetoPane(QWidget* parent) : DrawnPane(parent, {380, 230}, {200, 120})
{
    setAccessibleName(tr("Memory against work"));
    setAccessibleDescription(tr("Every plan as a point. The table below says the same in figures."));
}

void ParetoPane::setFigure(ParetoFigure figure)
{
    m_figure = std::move(figure);
    update();
}

void ParetoPane::paintEvent(QPaintEvent* /*event*/)
{
    QPainter painter(this);
    paintPareto(painter, m_figure, QSizeF(size()), theme(this));
}

void ParetoPane::mousePressEvent(QMouseEvent* event)
{
    const schedule::Attempt* one = attemptAt(m_figure, QSizeF(size()), event->position());
    if (one != nullptr && event->button() == Qt::LeftButton) {
        emit plannerPointed(QString::fromStdString(one->planner));
    }
}

void ParetoPane::mouseDoubleClickEvent(QMouseEvent* event)
{
    const schedule::Attempt* one = attemptAt(m_figure, QSizeF(size()), event->position());
    if (one != nullptr && event->button() == Qt::LeftButton) {
        emit plannerChosen(QString::fromStdString(one->planner));
    }
}

QString ParetoPane::tipAt(const QPointF& at) const
{
    const schedule::Attempt* one = attemptAt(m_figure, QSizeF(size()), at);
    return one == nullptr ? QString()
                          : tr("%1: peak %2, extra work %3 %")
                                .arg(plannerTitle(one->planner), bytesText(static_cast<std::int64_t>(one->peak)),
                                     signedText(m_figure.extra(one->cost), 1));
}

PlannersView::PlannersView(RunModel& model, Cursor& cursor, Selection& selection, PlanModel& plan, QWidget* parent)
    : View(model, cursor, selection, parent), m_plan(plan), m_items(new PlannerTableModel(this))
{
    setAccessibleName(tr("Planners"));
    setEmptyText(tr("What every planner reaches appears here, once a model is open."));
    auto* body = new QWidget(this);
    auto* column = makeBox<QVBoxLayout>(body, {}, 0);
    m_pane = new ParetoPane(body);
    column->addWidget(m_pane, 3);
    auto* row = new QHBoxLayout;
    row->setContentsMargins(px(10), px(2), px(10), px(4));
    row->setSpacing(px(8));
    m_note = new ElidedLabel({}, Role::Text2, fonts::label(), body);
    m_bar = new QProgressBar(body);
    m_bar->setTextVisible(false);
    m_bar->setRange(0, 100);
    m_bar->setFixedHeight(px(8));
    m_bar->setMinimumWidth(px(24));
    m_bar->setAccessibleName(tr("Points that are done"));
    m_button = new QPushButton(tr("All points"), body);
    m_button->setMinimumWidth(m_button->sizeHint().width()); // also while it says Stop
    row->addWidget(m_note, 2);
    row->addWidget(m_bar, 1);
    row->addWidget(m_button);
    m_search = new QPushButton(tr("How it was found"), body);
    m_search->setToolTip(tr("Show how it was found: what planners tried and let go, step by step, as a run"));
    row->addWidget(m_search);
    column->addLayout(row);
    auto* choices = new QHBoxLayout;
    choices->setContentsMargins(px(10), 0, px(10), px(4));
    choices->setSpacing(px(8));
    addChoices(*body, *choices);
    column->addLayout(choices);
    addLoops(*body);
    column->addWidget(m_loopRow);
    makeTable();
    column->addWidget(m_table, 2);
    setBody(body);
    connect(m_button, &QPushButton::clicked, this, &PlannersView::toggleCurve);
    connect(m_search, &QPushButton::clicked, &plan, &PlanModel::wantSearch);
    connect(m_pane, &ParetoPane::plannerChosen, this, &PlannersView::choose);
    connect(m_pane, &ParetoPane::plannerPointed, this, [this](const QString& planner) {
        for (int i = 0; i < m_items->rowCount(); ++i) {
            if (QString::fromStdString(m_items->at(i).planner) == planner) {
                m_table->selectRow(i);
            }
        }
    });
    for (const auto change : {&PlanModel::stateChanged, &PlanModel::planChanged, &PlanModel::questionChanged,
                              &PlanModel::pointsChanged, &PlanModel::analysisChanged}) {
        connect(&plan, change, this, [this] { schedule(Change::State); });
    }
    connect(&plan, &PlanModel::stateChanged, this, &PlannersView::forget);
}

/// The order of the forward operators and how large blocks are.
void PlannersView::addChoices(QWidget& body, QHBoxLayout& row)
{
    m_orders = new QComboBox(&body);
    m_orders->setAccessibleName(tr("Order of the forward operators"));
    m_orders->setToolTip(tr("In which order the forward operators run"));
    m_orders->setSizeAdjustPolicy(QComboBox::AdjustToMinimumContentsLengthWithIcon);
    m_orders->setMinimumContentsLength(8);
    m_blockUnits = new QComboBox(&body);
    m_blockUnits->setAccessibleName(tr("What blocks are counted in"));
    m_blockUnits->setToolTip(tr("For planners that cut into blocks"));
    m_blockUnits->addItems({tr("blocks"), tr("operators a block"), tr("kB a block")});
    m_blockUnits->setSizeAdjustPolicy(QComboBox::AdjustToMinimumContentsLengthWithIcon);
    m_blockUnits->setMinimumContentsLength(7);
    m_blocks = new QSpinBox(&body);
    m_blocks->setAccessibleName(tr("Blocks; 0 = auto"));
    m_blocks->setRange(0, 100'000'000);
    m_blocks->setSpecialValueText(tr("auto"));
    m_blocks->setKeyboardTracking(false);
    row.addWidget(m_orders, 2);
    row.addWidget(m_blocks, 1);
    row.addWidget(m_blockUnits, 2);
    connect(m_orders, &QComboBox::activated, this,
            [this](int index) { m_plan.setOrder(m_orders->itemData(index).toString().toStdString()); });
    connect(m_blocks, &QSpinBox::valueChanged, this, &PlannersView::takeBlocks);
    connect(m_blockUnits, &QComboBox::activated, this, &PlannersView::takeBlocks);
}

/// It is asked of the run, not of the plan: a plan writes loops out.
void PlannersView::addLoops(QWidget& body)
{
    m_loopRow = new QWidget(&body);
    auto* row = makeBox<QHBoxLayout>(m_loopRow, {px(10), 0, px(10), px(4)}, px(8));
    auto* label = new ElidedLabel(tr("Loop checkpoints every"), Role::Text2, fonts::label(), m_loopRow);
    m_loops = new QSpinBox(m_loopRow);
    m_loops->setAccessibleName(tr("Iterations between checkpoints of loops; 0 = chosen"));
    m_loops->setToolTip(
        tr("Iterations after which Loop and Scan keep what they carry in the next run; what lies between "
           "is computed again. 0: chosen, off: everything is kept"));
    m_loops->setRange(kNoLoopCheckpoints, 1'000'000);
    m_loops->setSpecialValueText(tr("off"));
    m_loops->setKeyboardTracking(false);
    label->setBuddy(m_loops);
    row->addWidget(label, 1);
    row->addWidget(m_loops, 1);
    m_loopRow->hide();
    connect(m_loops, &QSpinBox::valueChanged, this, &PlannersView::loopsChosen);
}

void PlannersView::setLoops(bool hasLoops, int every)
{
    m_loopRow->setVisible(hasLoops);
    const QSignalBlocker quiet(m_loops);
    m_loops->setValue(every);
}

void PlannersView::takeBlocks()
{
    if (m_isShowing) {
        return;
    }
    schedule::BlockWish wish;
    const auto number = static_cast<std::size_t>(m_blocks->value());
    switch (m_blockUnits->currentIndex()) {
    case 1:
        wish.operators = number;
        break;
    case 2:
        wish.bytes = std::uint64_t{number} * 1000;
        break;
    default:
        wish.count = number;
        break;
    }
    m_plan.setBlocks(wish);
}

/// Orders with their two peaks, once they are known.
void PlannersView::showOrders()
{
    m_orders->clear();
    m_orders->addItem(tr("order: auto"), QStringLiteral("auto"));
    const auto add = [this](const std::string& name, const QString& words) {
        m_orders->addItem(words, QString::fromStdString(name));
    };
    if (m_plan.analysis()) {
        for (const PlanAnalysis::Order& order : m_plan.analysis()->orders) {
            add(order.name,
                tr("%1: %2, store-all %3")
                    .arg(QString::fromStdString(order.name), bytesText(static_cast<std::int64_t>(order.peak)),
                         bytesText(static_cast<std::int64_t>(order.storeAllPeak))));
        }
    }
    const std::string& chosen = m_plan.question().order;
    if (m_orders->findData(QString::fromStdString(chosen)) < 0) {
        add(chosen, QString::fromStdString(chosen));
    }
    m_orders->setCurrentIndex(m_orders->findData(QString::fromStdString(chosen)));
}

void PlannersView::showBlocks()
{
    const schedule::BlockWish& blocks = m_plan.question().blocks;
    if (!blocks.isAuto()) {
        m_blockUnits->setCurrentIndex(blocks.operators > 0 ? 1 : blocks.bytes > 0 ? 2 : 0);
    }
    if (!m_blocks->hasFocus()) {
        const std::uint64_t number = blocks.operators > 0 ? blocks.operators
                                     : blocks.bytes > 0   ? blocks.bytes / 1000
                                                          : blocks.count;
        m_blocks->setValue(static_cast<int>(std::min<std::uint64_t>(number, 100'000'000)));
    }
}

void PlannersView::showChoices()
{
    m_isShowing = true;
    showOrders();
    showBlocks();
    m_isShowing = false;
}

void PlannersView::makeTable()
{
    m_table = newList(this, tr("What every planner reaches"), *m_items, px(22));
    m_table->setMinimumHeight(px(70));
    m_table->horizontalHeader()->setMinimumSectionSize(px(40));
    setColumnWidths(*m_table, {0, 68, 68, 68});
    connect(m_table, &QTableView::activated, this,
            [this](const QModelIndex& index) { choose(QString::fromStdString(m_items->at(index.row()).planner)); });
}

QString PlannersView::hint() const { return tr("Each point is a valid plan; the line joins the best known ones."); }

bool PlannersView::canShow(const SelectedThing& thing) const { return std::holds_alternative<std::monostate>(thing); }

base::Result<void> PlannersView::exportTo(const std::filesystem::path& path)
{
    if (!m_plan.plan()) {
        return base::usageError("there is no plan to export; show the workspace Plan first", path.string());
    }
    const ParetoFigure figure = figureNow();
    if (path.extension() == ".csv") {
        return base::writeFile(path, paretoCsv(figure));
    }
    const QSizeF size(m_pane->size().expandedTo(m_pane->sizeHint()));
    return paintToFile(
        path, size, [&](QPainter& painter) { paintPareto(painter, figure, size, theme(this)); }, tr("Planners"),
        {{"model", m_plan.plan()->subject->model.toStdString()}, {"planner", figure.chosen}}, 2);
}

ParetoFigure PlannersView::figureNow() const
{
    ParetoFigure figure;
    figure.points = m_plan.points();
    const ShownPlan& plan = *m_plan.plan();
    if (const auto moment = searchMoment(model())) { // as far as it had come
        figure.tries = moment->triesDone();
        figure.later.assign(moment->all->tries.begin() + static_cast<std::ptrdiff_t>(moment->done),
                            moment->all->tries.end());
        figure.isTold = moment->isTold;
        if (moment->best) {
            const schedule::Attempt& best = figure.tries[*moment->best];
            figure.plan = PlanPoint{best.planner, best.peak, best.cost};
        }
    } else {
        figure.tries = m_plan.attempts();
        figure.plan = PlanPoint{plan.result.planner, plan.result.peak, plan.result.cost};
    }
    figure.chosen = figure.plan ? figure.plan->planner : std::string();
    if (figure.plan) {
        figure.points.push_back(*figure.plan); // the line never runs behind what is on screen
    }
    figure.budget = m_plan.question().budget;
    figure.storeAllPeak = plan.subject->storeAllPeak;
    figure.baseCost = plan.subject->baseCost;
    return figure;
}

void PlannersView::refresh(Changes /*changes*/)
{
    if (m_plan.state() == PlanState::Absent) {
        m_plan.want();
    }
    if (!m_plan.plan()) {
        return;
    }
    m_pane->setFigure(figureNow());
    showChoices();
    const ParetoFigure& figure = m_pane->figure();
    const std::size_t tries = figure.later.empty() ? 0 : figure.tries.size();
    if (m_shown != m_plan.plan() || std::exchange(m_tries, tries) != tries) {
        m_shown = m_plan.plan();
        m_items->setPlan(m_shown, figure.tries);
        const int chosen = m_items->chosenRow();
        if (chosen >= 0) {
            m_table->selectRow(chosen);
        }
    }
    showCurve();
    const bool isQuick = m_plan.subject()->graph().size() <= kQuick;
    if (m_asked != m_plan.subject() && isQuick && m_plan.curveShare() < 0) {
        m_asked = m_plan.subject();
        m_plan.wantCurve(true);
    }
}

/// A model that was closed is let go at once, also while the pane is hidden.
void PlannersView::forget()
{
    if (!m_plan.plan()) {
        m_shown.reset();
        m_asked.reset();
        m_items->setPlan(nullptr, {});
        m_pane->setFigure({});
    }
}

void PlannersView::showCurve()
{
    const double share = m_plan.curveShare();
    const bool isAtWork = share >= 0 && share < 1;
    m_bar->setVisible(isAtWork);
    m_bar->setValue(static_cast<int>(share * 100));
    m_button->setText(isAtWork ? tr("Stop") : tr("All points"));
    m_button->setToolTip(isAtWork ? tr("Ask no more planners")
                                  : tr("Ask every fast planner at many budgets, in the background"));
    const auto plans = static_cast<std::int64_t>(m_plan.points().size()) + 1;
    m_note->setText(isAtWork     ? tr("Asking all planners")
                    : plans == 1 ? tr("1 plan")
                                 : tr("%1 plans").arg(countText(plans)));
}

void PlannersView::toggleCurve()
{
    const double share = m_plan.curveShare();
    m_plan.wantCurve(!(share >= 0 && share < 1));
}

void PlannersView::choose(const QString& planner)
{
    // A planner in another order of the operators has that name behind a comma.
    m_plan.setStrategy(planner.section(QLatin1Char(','), 0, 0).toStdString());
}

} // namespace retro::views

#include "moc_plannersview.cpp"
