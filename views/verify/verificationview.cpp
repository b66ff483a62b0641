// SPDX-License-Identifier: Apache-2.0
#include "views/verify/verificationview.h"

#include "core/base/file.h"
#include "views/common/numbertext.h"
#include "views/common/paint/fonts.h"
#include "views/common/run/runtexts.h"
#include "views/common/widgets/boxes.h"
#include "views/common/widgets/elidedlabel.h"
#include "views/common/widgets/emptystate.h"
#include "views/common/widgets/listtable.h"
#include "views/verify/exportpages.h"
#include "views/verify/factmodel.h"
#include "views/verify/memorypage.h"
#include "views/verify/nodesheets.h"
#include "views/verify/propertymodel.h"
#include "views/verify/propertywords.h"
#include "views/verify/stepsheets.h"

#include <QComboBox>
#include <QHBoxLayout>
#include <QHeaderView>
#include <QLabel>
#include <QSignalBlocker>
#include <QStackedWidget>
#include <QTableView>
#include <QToolButton>
#include <QVBoxLayout>

#include <algorithm>
#include <array>

namespace retro::views
{

VerificationView::VerificationView(RunModel& model, Cursor& cursor, Selection& selection, QWidget* parent)
    : View(model, cursor, selection, parent), m_properties(new PropertyModel(this)), m_facts(new FactModel(this))
{
    setAccessibleName(tr("Verification"));
    setEmptyText(
        tr("What holds on a model, and what does not, appears here once it was verified. Open a model first."));
    auto* body = new QWidget(this);
    auto* column = makeBox<QVBoxLayout>(body, {}, 0);
    column->addWidget(makeHeader());
    column->addWidget(makeReachRow());
    m_stack = new QStackedWidget(body);
    m_state = new EmptyState(m_stack);
    m_stack->addWidget(m_state);
    makeTable();
    m_stack->addWidget(m_table);
    makeFactTable();
    m_stack->addWidget(m_factTable);
    m_memory = new MemoryPage(m_stack);
    m_stack->addWidget(m_memory);
    connect(m_memory, &MemoryPage::messageChanged, this, &VerificationView::showMemory);
    connect(m_memory, &MemoryPage::nodeChosen, this, &VerificationView::selectNode);
    connect(m_memory, &MemoryPage::nodeActivated, this, &VerificationView::goTo);
    connect(m_memory, &MemoryPage::gradientRequested, this, &VerificationView::gradientRequested);
    column->addWidget(m_stack, 1);
    setBody(body);
    connect(m_state, &EmptyState::activated, this, &VerificationView::verifyRequested);
    connect(m_state, &EmptyState::cancelled, this, &VerificationView::cancelRequested);
    showResult();
}

QWidget* VerificationView::makeHeader()
{
    auto* box = new QWidget(this);
    auto* row = makeBox<QHBoxLayout>(box, {fonts::px(10), fonts::px(4), fonts::px(8), fonts::px(4)}, fonts::px(8));
    m_pages = new QComboBox(box);
    m_pages->setAccessibleName(tr("What is shown"));
    m_pages->setFont(fonts::label());
    m_pages->addItems({tr("Properties"), tr("At this step"), tr("Order of addition"), tr("Loop and recursion"),
                       tr("Nodes"), tr("Gradient path"), tr("Rewrites"), tr("Store or rebuild")});
    constexpr std::array kTips{
        QT_TR_NOOP("What must hold on this model and input, and whether it does"),
        QT_TR_NOOP("What must hold at every step of a pass, and whether it has up to the cursor"),
        QT_TR_NOOP("The parts of the selected node in the order in which they are added, and what has landed"),
        QT_TR_NOOP("The state of the loop and of the recursion that defines it, after the node at the cursor"),
        QT_TR_NOOP("Every reverse rule against a difference, and float against double, the worst first"),
        QT_TR_NOOP("Which operators a gradient has to visit, and why not the others"),
        QT_TR_NOOP("The graph of the file beside the graph that runs: what each rewrite changed"),
        QT_TR_NOOP("Which tensors a gradient keeps or computes again, and the memory that this takes")};
    for (std::size_t i = 0; i < kTips.size(); ++i) {
        m_pages->setItemData(static_cast<int>(i), tr(kTips[i]), Qt::ToolTipRole);
    }
    row->addWidget(m_pages);
    connect(m_pages, &QComboBox::activated, this, [this](int at) { showPage(static_cast<Page>(at)); });
    m_summary = new ElidedLabel({}, Role::Text2, fonts::label(), box);
    m_summary->setAccessibleName(tr("How many properties hold"));
    row->addWidget(m_summary, 1);
    m_verify = new QToolButton(box);
    m_verify->setText(tr("Verify"));
    row->addWidget(m_verify);
    connect(m_verify, &QToolButton::clicked, this, &VerificationView::verifyRequested);
    return box;
}

void VerificationView::makeTable()
{
    m_table = newList(m_stack, tr("Properties"), *m_properties, fonts::px(22));
    m_table->setObjectName(QStringLiteral("properties"));
    m_table->horizontalHeader()->setStretchLastSection(true);
    setColumnWidths(*m_table, {112, 96, 276});
    connect(m_table, &QTableView::activated, this,
            [this](const QModelIndex& index) { goTo(m_properties->at(index.row()).node); });
    takeRow(*m_table, [this](int row) { return m_properties->at(row).node; });
}

void VerificationView::makeFactTable()
{
    m_factTable = newList(m_stack, tr("What holds"), *m_facts, fonts::px(22));
    m_factTable->setObjectName(QStringLiteral("facts"));
    m_factTable->horizontalHeader()->setMinimumSectionSize(fonts::px(48));
    connect(m_facts, &QAbstractItemModel::modelReset, this, &VerificationView::sizeFactColumns);
    connect(m_factTable, &QTableView::activated, this, [this](const QModelIndex& index) { goToFact(index.row()); });
    takeRow(*m_factTable, [this](int row) { return m_facts->at(row).node; });
}

void VerificationView::takeRow(QTableView& table, const std::function<base::NodeId(int)>& nodeAt)
{
    const auto choose = [this, nodeAt](const QModelIndex& index) {
        // The order of addition is that of the selected node: a click there must not replace it by a part's.
        if (index.isValid() && m_page != Page::Addition) {
            selectNode(nodeAt(index.row()));
        }
    };
    connect(&table, &QTableView::clicked, this, choose); // also the row that is current already
    connect(table.selectionModel(), &QItemSelectionModel::currentChanged, this, choose);
}

void VerificationView::sizeFactColumns()
{
    const std::vector<FactColumn>& columns = m_facts->sheet().columns;
    QHeaderView& header = *m_factTable->horizontalHeader();
    const int count = std::min(static_cast<int>(columns.size()), header.count());
    for (int i = 0; i < count; ++i) {
        const double width = columns[static_cast<std::size_t>(i)].width;
        header.setSectionResizeMode(i, width > 0 ? QHeaderView::Interactive : QHeaderView::Stretch);
        if (width > 0) {
            header.resizeSection(i, fonts::px(width));
        }
    }
}

QWidget* VerificationView::makeReachRow()
{
    m_reachRow = new QWidget(this);
    auto* row = makeBox<QHBoxLayout>(m_reachRow, {fonts::px(10), 0, fonts::px(8), fonts::px(4)}, fonts::px(6));
    const auto add = [&](const QString& text, const QString& name) {
        auto* label = new QLabel(text, m_reachRow);
        label->setFont(fonts::label());
        auto* box = new QComboBox(m_reachRow);
        box->setFont(fonts::label());
        box->setAccessibleName(name);
        box->setSizeAdjustPolicy(QComboBox::AdjustToMinimumContentsLengthWithIcon);
        box->setMinimumContentsLength(14);
        label->setBuddy(box);
        row->addWidget(label);
        row->addWidget(box);
        connect(box, &QComboBox::activated, this, &VerificationView::askReach);
        return box;
    };
    m_from = add(tr("From"), tr("Input that a gradient is asked for"));
    m_to = add(tr("to"), tr("Value that a gradient is taken of"));
    row->addStretch(1);
    m_reachRow->hide();
    return m_reachRow;
}

/// Inputs, then what a gradient may be taken of; the last entry is whatever is selected when it is chosen.
void VerificationView::fillReachRow()
{
    const QSignalBlocker from(m_from);
    const QSignalBlocker to(m_to);
    m_filledFor = model().run().graph;
    m_filledTarget = model().run().facts.targetValue;
    m_from->clear();
    m_to->clear();
    m_from->addItem(tr("every input"), base::ValueId::kInvalid);
    m_to->addItem(tr("what is explained"), base::ValueId::kInvalid);
    const graph::Graph& graph = model().graph();
    for (const base::ValueId input : graph.inputs()) {
        m_from->addItem(model().label(input), input.value);
    }
    for (const base::ValueId output : graph.outputs()) {
        m_to->addItem(model().label(output), output.value);
    }
    m_to->addItem(tr("what is selected"));
}

void VerificationView::askReach()
{
    if (!model().hasRun()) {
        return;
    }
    const bool isSelected = !m_to->currentData().isValid();
    const base::ValueId selected = selection().isEmpty() ? base::ValueId() : model().valueOf(selection().thing());
    if (isSelected && !selected.isValid()) {
        m_to->setCurrentIndex(0);
    }
    const base::ValueId to = isSelected ? selected : base::ValueId(m_to->currentData().toUInt());
    emit reachRequested(base::ValueId(m_from->currentData().toUInt()), to);
}

void VerificationView::setReach(GradientReachPointer reach, const QString& refusal)
{
    m_reach = std::move(reach);
    m_reachRefusal = refusal;
    if (m_page == Page::Reach) {
        showResult();
    }
}

void VerificationView::setRewrites(RewriteDiffPointer diff, const QString& refusal)
{
    m_diff = std::move(diff);
    m_diffRefusal = refusal;
    if (m_page == Page::Rewrites) {
        showResult();
    }
}

void VerificationView::setStorage(StorageFactsPointer facts, const QString& refusal)
{
    m_memory->setFacts(std::move(facts));
    m_storageRefusal = refusal;
    if (m_page == Page::Memory) {
        showResult();
    }
}

/// What the run on screen did with its forward values.
void VerificationView::fillForwarded()
{
    const trace::Run& run = model().run();
    std::vector<ForwardedTensor> forwarded;
    for (const trace::ForwardedValue& one : run.facts.forwarded) {
        forwarded.push_back(
            {one, QString::fromStdString(run.graph->value(one.value).name), run.graph->nodeOf(one.value)});
    }
    m_memory->setForwarded(std::move(forwarded));
}

void VerificationView::showMemory()
{
    if (m_page != Page::Memory) {
        return;
    }
    const bool isThere = m_memory->isFilled();
    m_summary->setRole(Role::Text2);
    m_summary->setText(isThere ? m_memory->message() : QString());
    if (!isThere) {
        m_state->showEmpty(m_storageRefusal);
    }
    m_stack->setCurrentWidget(isThere ? static_cast<QWidget*>(m_memory) : m_state);
}

bool VerificationView::needsVerification() const
{
    return m_page == Page::Properties || m_page == Page::Recursion || m_page == Page::Nodes;
}

void VerificationView::showPage(Page page)
{
    m_page = page;
    m_pages->setCurrentIndex(static_cast<int>(page));
    m_facts->setSheet({});
    showResult();
}

void VerificationView::restoreState(const QByteArray& state)
{
    const int page = state.toInt();
    showPage(page >= 0 && page < m_pages->count() ? static_cast<Page>(page) : Page::Properties);
}

QString VerificationView::message() const { return m_summary->text(); }

QString VerificationView::hint() const
{
    return tr("Whether the engine's arithmetic holds what it must, on this model and this input.");
}

bool VerificationView::canShow(const SelectedThing& thing) const { return std::holds_alternative<base::NodeId>(thing); }

QString VerificationView::emptyReason() const
{
    return model().hasRun() && model().run().eventCount() == 0
               ? tr("Nothing was run yet. Choose an input and press Run.")
               : QString();
}

QString VerificationView::summary() const
{
    if (!m_verification) {
        return m_refusal.isEmpty() ? tr("Not verified yet") : m_refusal;
    }
    const auto count = [this](Verdict verdict) {
        return countText(static_cast<std::int64_t>(m_verification->count(verdict)));
    };
    return tr("%1 held, %2 violated, %3 not applicable")
        .arg(count(Verdict::Held), count(Verdict::Violated), count(Verdict::NotApplicable));
}

void VerificationView::setVerification(VerificationPointer verification)
{
    m_stage.clear();
    m_verification = std::move(verification);
    m_properties->setVerification(m_verification);
    showResult();
}

void VerificationView::setRefusal(const QString& reason)
{
    m_refusal = reason;
    m_stage.clear();
    showResult();
}

void VerificationView::setProgress(const QString& stage, double fraction)
{
    m_stage = stage;
    m_fraction = fraction;
    m_verify->setEnabled(false);
    m_verify->setToolTip(tr("It is under way"));
    if (!m_verification && needsVerification()) { // else old content stays, with the stage in the status bar
        m_state->showLoading(stage, fraction);
    }
}

void VerificationView::setFailure(const QString& what, const QString& remedy)
{
    m_stage.clear();
    showResult();
    if (!what.isEmpty() && !m_verification && needsVerification()) {
        m_state->showError(what, remedy);
    }
}

void VerificationView::showMayVerify()
{
    const bool mayVerify = m_refusal.isEmpty();
    m_verify->setEnabled(mayVerify);
    m_verify->setToolTip(mayVerify ? tr("Check every property on this model and input") : m_refusal);
    if (mayVerify) {
        m_state->showEmpty(tr("Compares the tape with its definition, every reverse rule with differences, and the "
                              "engines with each other, on this model and input."),
                           tr("Verify"));
    } else {
        m_state->showEmpty(m_refusal, QString());
    }
}

void VerificationView::showResult()
{
    if (m_stage.isEmpty()) {
        showMayVerify();
    } else {
        m_state->showLoading(m_stage, m_fraction);
    }
    m_reachRow->setVisible(m_page == Page::Reach);
    if (m_page == Page::Properties || (needsVerification() && !m_verification)) {
        showProperties();
    } else if (m_page == Page::Memory) {
        showMemory();
    } else {
        showFacts();
    }
    emit captionChanged();
}

void VerificationView::showProperties()
{
    const bool isViolated = m_verification && m_verification->count(Verdict::Violated) > 0;
    m_summary->setRole(isViolated ? Role::AlarmText : Role::Text2);
    m_summary->setText(m_verification ? tr("%1 · %2 cells · %3 s")
                                            .arg(summary(), countText(static_cast<std::int64_t>(m_verification->cells)),
                                                 fixedText(m_verification->seconds, 2))
                                      : summary());
    m_stack->setCurrentWidget(m_verification ? static_cast<QWidget*>(m_table) : m_state);
}

void VerificationView::showFacts()
{
    if (!model().hasRun()) {
        return; // the view says so in place of its body
    }
    FactSheet sheet = sheetOf(m_page);
    m_summary->setRole(sheet.role);
    m_summary->setText(sheet.message);
    const bool isEmpty = !sheet.empty.isEmpty();
    if (isEmpty) {
        m_state->showEmpty(sheet.empty);
    }
    m_facts->setSheet(std::move(sheet));
    m_stack->setCurrentWidget(isEmpty ? static_cast<QWidget*>(m_state) : m_factTable);
}

void VerificationView::refresh(Changes changes)
{
    if (changes.testFlag(Change::Theme)) {
        m_table->viewport()->update();
        m_factTable->viewport()->update();
    }
    const trace::Run& run = model().run();
    if (changes.testFlag(Change::Run)) {
        fillForwarded();
    }
    if (run.graph != m_filledFor || run.facts.targetValue != m_filledTarget) {
        fillReachRow(); // what was chosen stays while only the input changes
    }
    const bool isOfTheStep = m_page == Page::Invariants || m_page == Page::Addition || m_page == Page::Recursion;
    if (isOfTheStep || changes.testFlag(Change::Run)) {
        showResult();
    }
}

void VerificationView::selectNode(base::NodeId node)
{
    if (node.isValid() && model().hasRun() && node.index() < model().graph().runNodeCount()) {
        selection().selectNode(node);
    }
}

void VerificationView::goTo(base::NodeId node)
{
    if (!node.isValid() || !model().hasRun() || node.index() >= model().graph().runNodeCount()) {
        return;
    }
    selection().selectNode(node);
    if (const auto step = model().relevanceStep(node)) {
        cursor().moveTo(*step);
    }
}

void VerificationView::goToFact(int row)
{
    const FactRow& fact = m_facts->at(row);
    if (fact.position) {
        const std::uint64_t position = *fact.position; // the rows change with the cursor
        selectNode(m_page == Page::Addition ? base::NodeId() : fact.node);
        cursor().moveTo(position);
    } else {
        goTo(fact.node);
    }
}

FactSheet VerificationView::sheetOf(Page page) const
{
    switch (page) {
    case Page::Addition:
        return additionSheet(model(), selection().isEmpty() ? base::NodeId() : model().nodeOf(selection().thing()));
    case Page::Recursion:
        return recursionSheet(model(), m_verification);
    case Page::Nodes:
        return nodesSheet(model(), m_verification);
    case Page::Reach:
        return reachSheet(model(), m_reach, m_reachRefusal);
    case Page::Rewrites:
        return rewritesSheet(m_diff, m_diffRefusal);
    case Page::Memory:
    case Page::Properties:
    case Page::Invariants:
        break;
    }
    return invariantsSheet(model(), m_verification);
}

namespace
{

PageWords wordsOf(VerificationView::Page page)
{
    using Page = VerificationView::Page;
    switch (page) {
    case Page::Addition:
        return {"order of addition", {"place", "part_of", "landed", "part_sum", "sum_so_far"}};
    case Page::Recursion:
        return {"loop and recursion", {"equal", "slot_of", "loop_sum", "recursion_sum"}};
    case Page::Nodes:
        return {"nodes", {"label", "operator", "rule_error", "float_ulp", "float_error"}};
    case Page::Reach:
        return {"left out of the gradient", {"label", "operator", "reason"}};
    case Page::Rewrites:
        return {"rewrites", {"rewrite", "before", "after"}};
    case Page::Memory:
    case Page::Properties:
    case Page::Invariants:
        break;
    }
    return {"invariants", {"verdict", "statement", "so_far"}};
}

} // namespace

base::Result<void> VerificationView::exportTo(const std::filesystem::path& path)
{
    RETRO_TRY(const TableFormat format, tableFormatOf(path));
    if (!model().hasRun()) {
        return base::usageError("nothing was run; press Run first", path.string());
    }
    if (m_page == Page::Properties) {
        return exportProperties(path, format);
    }
    return m_page == Page::Memory ? exportMemory(path, format) : exportFacts(path, format);
}

QString VerificationView::labelOf(base::NodeId node) const
{
    return node.isValid() && node.index() < model().graph().runNodeCount() ? model().label(node) : QString();
}

base::Result<void> VerificationView::exportMemory(const std::filesystem::path& path, TableFormat format) const
{
    if (!m_memory->isFilled()) {
        return base::usageError(m_storageRefusal.toStdString(), path.string());
    }
    const PictureTexts run = runTexts(model().run(), model().position());
    return base::writeFile(
        path, exportStorage(format, run, m_memory->items(), [this](base::NodeId node) { return labelOf(node); }));
}

base::Result<void> VerificationView::exportFacts(const std::filesystem::path& path, TableFormat format) const
{
    if (needsVerification() && !m_verification) {
        return base::usageError("nothing was verified; press Verify first", path.string());
    }
    const FactSheet sheet = sheetOf(m_page);
    if (!sheet.empty.isEmpty()) {
        return base::usageError(sheet.empty.toStdString(), path.string());
    }
    const PictureTexts run = runTexts(model().run(), model().position());
    return base::writeFile(
        path, exportSheet(format, wordsOf(m_page), run, sheet, [this](base::NodeId node) { return labelOf(node); }));
}

base::Result<void> VerificationView::exportProperties(const std::filesystem::path& path, TableFormat format) const
{
    if (!m_verification) {
        return base::usageError("nothing was verified; press Verify first", path.string());
    }
    TableText text(format, "properties", runTexts(model().run(), model().position()),
                   {"property", "statement", "verdict", "detail", "node"});
    for (const CheckedProperty& one : m_verification->properties) {
        text.row(one.id, one.statement, wordOf(one.verdict), one.detail,
                 one.node.isValid() ? model().label(one.node) : QString());
    }
    return base::writeFile(path, text.take());
}

} // namespace retro::views

#include "moc_verificationview.cpp"
