// SPDX-License-Identifier: Apache-2.0
#include "views/inspector/inspectorview.h"

#include "core/base/file.h"
#include "core/tensor/npy.h"
#include "core/trace/meantrelevance.h"
#include "views/common/csv.h"
#include "views/common/jobrunner.h"
#include "views/common/numbertext.h"
#include "views/common/paint/fonts.h"
#include "views/common/paint/heatmapimage.h"
#include "views/common/widgets/boxes.h"
#include "views/common/widgets/elidedlabel.h"
#include "views/inspector/fusedpane.h"
#include "views/inspector/inspectorpanes.h"
#include "views/inspector/tensorstats.h"

#include <QButtonGroup>
#include <QHBoxLayout>
#include <QMetaMethod>
#include <QToolButton>
#include <QVBoxLayout>

namespace retro::views
{

/// What the inspector shows of a tensor. Plain value; figuresOf() reads the tensor a few times, on any thread.
struct TensorFigures
{
    TensorStats stats;
    Histogram histogram;
    SliceGrid grid;
};

TensorFigures figuresOf(const tensor::Tensor& tensor)
{
    TensorFigures figures;
    figures.stats = statsOf(tensor);
    figures.histogram = histogramOf(tensor, figures.stats);
    figures.grid = sliceGrid(tensor, 64, 64, 2.2);
    return figures;
}

namespace
{
/// Elements of a tensor whose figures take a few milliseconds.
constexpr std::int64_t kQuick = 1 << 18;
} // namespace

InspectorView::InspectorView(RunModel& model, Cursor& cursor, Selection& selection, QWidget* parent)
    : View(model, cursor, selection, parent)
{
    m_jobs = new JobRunner(this);
    setAccessibleName(tr("Inspector"));
    setEmptyText(tr("Nothing to inspect yet. Open a model and run it."));
    auto* body = new QWidget(this);
    auto* column = makeBox<QVBoxLayout>(body, {}, 0);
    m_head = new HeadPane(body);
    m_missing = new ElidedLabel({}, Role::Text2, fonts::label(), body);
    m_missing->setContentsMargins(fonts::px(10), fonts::px(6), fonts::px(10), fonts::px(10));
    m_stats = new StatsPane(body);
    m_histogram = new HistogramPane(body);
    m_slice = new SlicePane(body);
    m_balance = new BalancePane(body);
    m_members = new FusedPane(body);
    connect(m_members, &FusedPane::chosenChanged, this, [this] {
        if (this->model().hasRun() && m_facts.node.isValid()) {
            showTensor();
        }
    });
    connect(m_members, &FusedPane::openRequested, this,
            [this](bool isOpen) { emit openNodeRequested(m_facts.node, isOpen); });
    column->addWidget(m_head);
    m_ruleRow = makeRuleRow(body);
    column->addWidget(m_ruleRow);
    column->addWidget(m_members);
    column->addWidget(makeTabs());
    for (QWidget* pane : std::initializer_list<QWidget*>{m_missing, m_stats, m_histogram, m_slice, m_balance}) {
        column->addWidget(pane);
    }
    column->addStretch(1);
    setBody(makeScroll(body));
}

QWidget* InspectorView::makeRuleRow(QWidget* parent)
{
    auto* box = new QWidget(parent);
    auto* row = new QHBoxLayout(box);
    row->setContentsMargins(fonts::px(10), 0, fonts::px(10), fonts::px(6));
    auto* change = new QToolButton(box);
    change->setObjectName(QStringLiteral("changerule"));
    change->setText(tr("Change rule…"));
    change->setToolTip(tr("Gives this node, its type or its scope another rule and computes again what lies below"));
    row->addWidget(change);
    row->addStretch(1);
    connect(change, &QToolButton::clicked, this, [this] { emit ruleRequested(m_facts.node); });
    return box;
}

bool InspectorView::hasRule() const
{
    const auto& rules = model().run().rules;
    const std::size_t at = m_facts.node.index();
    return at < rules.size() && !rules[at].rule.empty() &&
           isSignalConnected(QMetaMethod::fromSignal(&InspectorView::ruleRequested));
}

QWidget* InspectorView::makeTabs()
{
    auto* box = new QWidget(this);
    auto* row = makeBox<QHBoxLayout>(box, {fonts::px(10), fonts::px(2), fonts::px(10), fonts::px(8)}, 0);
    auto* group = new QButtonGroup(this);
    const auto make = [&](const QString& text, const QString& tip, Tab tab) {
        auto* button = new QToolButton(box);
        button->setText(text);
        button->setToolTip(tip);
        button->setCheckable(true);
        button->setChecked(tab == m_tab);
        button->setProperty("segment", true);
        group->addButton(button);
        row->addWidget(button);
        connect(button, &QToolButton::clicked, this, [this, tab] { setTab(tab); });
        return button;
    };
    m_relevance = make(tr("Relevance"), tr("What arrived at the output of this node"), Tab::Relevance);
    m_value = make(tr("Value"), tr("What the node computed"), Tab::Value);
    row->addSpacing(fonts::px(8));
    m_shape = new ElidedLabel({}, Role::Text2, fonts::numbers(), box);
    m_shape->setAlignment(Qt::AlignRight | Qt::AlignVCenter);
    row->addWidget(m_shape, 1);
    return box;
}

bool InspectorView::canShow(const SelectedThing& thing) const
{
    return model().hasRun() && model().nodeOf(thing).isValid();
}

void InspectorView::setTab(Tab tab)
{
    m_tab = tab;
    m_relevance->setChecked(tab == Tab::Relevance);
    m_value->setChecked(tab == Tab::Value);
    if (model().hasRun() && m_facts.node.isValid()) {
        showTensor();
    }
}

QString InspectorView::emptyReason() const
{
    return m_facts.node.isValid() ? QString() : tr("Step forward, or select a node in the graph.");
}

void InspectorView::refresh(Changes changes)
{
    if (changes.testFlag(Change::Run)) {
        m_drawn = nullptr;
    }
    m_facts = nodeFacts(model(), selection().thing());
    if (!m_facts.node.isValid()) {
        return;
    }
    m_head->setFacts(m_facts);
    m_ruleRow->setVisible(hasRule());
    m_balance->setBalance(m_facts.balance, m_facts.noBalance);
    m_balance->setVisible(!model().graph().isInput(m_facts.node) && !model().run().ledger.empty());
    showMembers();
    showTensor();
}

void InspectorView::setFused(FusedNodesPointer fused)
{
    m_fused = std::move(fused);
    m_drawn = nullptr;
    schedule(Change::Selection);
}

void InspectorView::showMembers()
{
    const base::HandleId whole = model().relevanceHandle(m_facts.value);
    const auto& handles = model().run().handles;
    const bool isKnown = whole.isValid() && whole.index() < handles.size();
    m_members->setNode(findFused(m_fused, m_facts.node),
                       isKnown ? std::optional(trace::meantSum(model().run(), m_facts.value, whole)) : std::nullopt);
    if (m_members->chosen() != nullptr) {
        m_drawn = nullptr; // the members may be others at the same place
    }
}

const tensor::Tensor* InspectorView::shownTensor() const
{
    if (const FusedMember* member = m_members->chosen()) {
        const tensor::Tensor& inner = m_tab == Tab::Value ? member->value : member->relevance;
        const bool isThere = inner.isValid() && (m_tab == Tab::Value || hasRelevance());
        return isThere ? &inner : nullptr;
    }
    return m_tab == Tab::Value ? model().forwardValue(m_facts.value) : model().relevance(m_facts.value);
}

QString InspectorView::missingText() const
{
    if (m_tab == Tab::Value) {
        return tr("This value was not kept by the run. retrograde-cli run --values NAME writes it.");
    }
    if (hasRelevance() && m_members->chosen() != nullptr) {
        return tr("No relevance reaches it inside this node.");
    }
    if (hasRelevance()) {
        return tr("This relevance was not kept in memory.");
    }
    const auto step = model().relevanceStep(m_facts.node);
    return step ? tr("Its relevance arrives at visit %1.")
                      .arg(countText(std::int64_t{model().run().visitOf(*step - 1)} + 1))
                : tr("No relevance reaches it in this run.");
}

void InspectorView::showTensor()
{
    const tensor::Tensor* tensor = shownTensor();
    for (QWidget* pane : std::initializer_list<QWidget*>{m_stats, m_histogram, m_slice}) {
        pane->setVisible(tensor != nullptr);
    }
    m_missing->setVisible(tensor == nullptr);
    m_shape->setText(m_facts.shape);
    if (tensor == nullptr) {
        m_missing->setText(missingText());
        m_jobs->cancel();
        m_drawn = nullptr;
        return;
    }
    const std::string_view type = tensor::nameOf(tensor->dtype());
    const QString shape =
        m_members->chosen() != nullptr ? QString::fromStdString(tensor::toText(tensor->shape())) : m_facts.shape;
    m_shape->setText(shape + QLatin1Char(' ') + QString::fromUtf8(type.data(), static_cast<qsizetype>(type.size())));
    if (tensor == m_drawn) {
        return; // immutable: the same tensor has the same figures
    }
    m_drawn = tensor;
    computeFigures(*tensor);
}

bool InspectorView::isComputing() const { return m_jobs->isRunning(); }

/// At once when that is quick, else off the GUI thread; the newest tensor wins.
void InspectorView::computeFigures(const tensor::Tensor& tensor)
{
    m_jobs->cancel();
    if (tensor.size() <= kQuick) {
        showFigures(figuresOf(tensor));
        return;
    }
    setPending(true);
    m_jobs->start([this, tensor](const std::stop_token& stop) -> JobRunner::Delivery {
        if (stop.stop_requested()) {
            return {};
        }
        return [this, figures = figuresOf(tensor)] { showFigures(figures); };
    });
}

void InspectorView::showFigures(const TensorFigures& figures)
{
    setPending(false);
    m_stats->setStats(figures.stats);
    m_histogram->setHistogram(figures.histogram);
    m_slice->setGrid(figures.grid, m_tab == Tab::Relevance);
}

void InspectorView::setPending(bool isPending)
{
    for (InspectorPane* pane : std::initializer_list<InspectorPane*>{m_stats, m_histogram, m_slice}) {
        pane->setPending(isPending);
    }
}

base::Result<void> InspectorView::exportTo(const std::filesystem::path& path)
{
    const tensor::Tensor* tensor = model().hasRun() && m_facts.node.isValid() ? shownTensor() : nullptr;
    if (tensor == nullptr) {
        return base::usageError("there is no tensor to write at this step", path.string());
    }
    if (path.extension() == ".npy") {
        return tensor::writeNpy(path, *tensor);
    }
    CsvText text({"index", "value"});
    for (std::int64_t i = 0; i < tensor->size(); ++i) {
        text.row(i, tensor->at(i));
    }
    return base::writeFile(path, text.take());
}

} // namespace retro::views

#include "moc_inspectorview.cpp"
