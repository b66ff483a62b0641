// SPDX-License-Identifier: Apache-2.0
#include "views/inspector/valuesview.h"

#include "core/base/file.h"
#include "core/tensor/npy.h"
#include "views/common/jobrunner.h"
#include "views/common/paint/fonts.h"
#include "views/common/widgets/boxes.h"
#include "views/common/widgets/elidedlabel.h"
#include "views/common/widgets/flowlayout.h"
#include "views/common/widgets/listtable.h"
#include "views/inspector/slicepicker.h"
#include "views/inspector/valuesmodel.h"

#include <QApplication>
#include <QButtonGroup>
#include <QClipboard>
#include <QHBoxLayout>
#include <QHeaderView>
#include <QTableView>
#include <QToolButton>
#include <QVBoxLayout>

namespace retro::views
{

ValuesView::ValuesView(RunModel& model, Cursor& cursor, Selection& selection, QWidget* parent)
    : View(model, cursor, selection, parent), m_items(new ValuesModel(this)), m_search(new JobRunner(this))
{
    setAccessibleName(tr("Values"));
    setEmptyText(tr("The numbers of a tensor appear here. Open a model and run it."));
    auto* body = new QWidget(this);
    auto* column = makeBox<QVBoxLayout>(body, {}, 0);
    column->addWidget(makeTools());
    m_message = new ElidedLabel({}, Role::Text2, fonts::label(), body);
    m_message->setContentsMargins(fonts::px(10), 0, fonts::px(10), fonts::px(6));
    column->addWidget(m_message);
    makeTable();
    column->addWidget(m_table, 1);
    setBody(body);
}

QWidget* ValuesView::makeTools()
{
    auto* box = new QWidget(this);
    auto* column = makeBox<QVBoxLayout>(box, {fonts::px(10), fonts::px(6), fonts::px(10), fonts::px(6)}, fonts::px(4));
    auto* row = new FlowLayout(fonts::px(4), fonts::px(4));
    auto* tabs = new QWidget(box);
    auto* tabRow = makeBox<QHBoxLayout>(tabs, {0, 0, fonts::px(8), 0}, 0);
    row->addWidget(tabs);
    auto* group = new QButtonGroup(this);
    const auto make = [&](QLayout* place, const QString& text, const QString& tip) {
        auto* button = new QToolButton(box);
        button->setText(text);
        button->setToolTip(tip);
        button->setToolButtonStyle(Qt::ToolButtonTextOnly);
        place->addWidget(button);
        return button;
    };
    m_relevance = make(tabRow, tr("Relevance"), tr("What arrived at the output of this node"));
    m_value = make(tabRow, tr("Value"), tr("What the node computed"));
    for (QToolButton* button : {m_relevance, m_value}) {
        button->setCheckable(true);
        button->setProperty("segment", true);
        group->addButton(button);
    }
    m_relevance->setChecked(true);
    m_largest = make(row, tr("Largest"), tr("Go to the element of the largest magnitude"));
    m_nonFinite = make(row, tr("Next NaN"), tr("Go to the next element that is not a number or infinite"));
    column->addLayout(row);
    m_picker = new SlicePicker(box);
    column->addWidget(m_picker);
    connect(m_relevance, &QToolButton::clicked, this, [this] { setTab(Tab::Relevance); });
    connect(m_value, &QToolButton::clicked, this, [this] { setTab(Tab::Value); });
    connect(m_largest, &QToolButton::clicked, this, &ValuesView::goToLargest);
    connect(m_nonFinite, &QToolButton::clicked, this, &ValuesView::goToNonFinite);
    connect(m_picker, &SlicePicker::sliceChosen, this,
            [this] { m_items->setTensor(m_items->tensor(), m_picker->slice()); });
    return box;
}

void ValuesView::makeTable()
{
    m_table = new QTableView(this);
    m_table->setAccessibleName(tr("Numbers"));
    m_table->setFrameShape(QFrame::NoFrame);
    m_table->setShowGrid(false);
    m_table->setAlternatingRowColors(true);
    m_table->setWordWrap(false);
    m_table->setTabKeyNavigation(false);
    m_table->setEditTriggers(QAbstractItemView::NoEditTriggers);
    m_table->setModel(m_items);
    for (QHeaderView* header : {m_table->horizontalHeader(), m_table->verticalHeader()}) {
        header->setSectionResizeMode(QHeaderView::Fixed);
        header->setHighlightSections(false);
        header->setFont(fonts::smallNumbers());
        header->setMinimumSectionSize(fonts::px(18));
    }
    m_table->verticalHeader()->setDefaultSectionSize(fonts::px(20));
    m_table->verticalHeader()->setDefaultAlignment(Qt::AlignRight | Qt::AlignVCenter);
    m_table->horizontalHeader()->setDefaultSectionSize(
        static_cast<int>(fonts::widthOf(fonts::smallNumbers(), QStringLiteral("-0.000e-00"))) + fonts::px(12));
    addItemAction(*m_table, tr("Copy as CSV"), QKeySequence::Copy, [this] { copy(sliceCsv); });
    addItemAction(*m_table, tr("Copy for NumPy"), QKeySequence(QStringLiteral("Ctrl+Shift+C")),
                  [this] { copy(sliceNumpy); });
    m_table->setContextMenuPolicy(Qt::ActionsContextMenu);
}

QString ValuesView::subject() const
{
    return m_facts.node.isValid() && m_shown != nullptr ? m_facts.name + QStringLiteral(", ") + m_facts.shape
                                                        : m_facts.name;
}

bool ValuesView::canShow(const SelectedThing& thing) const
{
    return model().hasRun() && model().nodeOf(thing).isValid();
}

QString ValuesView::emptyReason() const
{
    return m_facts.node.isValid() ? QString() : tr("Step forward, or select a node in the graph.");
}

void ValuesView::setTab(Tab tab)
{
    m_tab = tab;
    m_relevance->setChecked(tab == Tab::Relevance);
    m_value->setChecked(tab == Tab::Value);
    if (model().hasRun() && m_facts.node.isValid()) {
        showTensor();
    }
}

void ValuesView::refresh(Changes changes)
{
    if (changes.testFlag(Change::Run)) {
        m_shown = nullptr;
        m_items->setTensor({}, {});
    }
    m_facts = nodeFacts(model(), selection().thing());
    if (m_facts.node.isValid()) {
        showTensor();
    }
}

const tensor::Tensor* ValuesView::shownTensor() const
{
    return m_tab == Tab::Value ? model().forwardValue(m_facts.value) : model().relevance(m_facts.value);
}

void ValuesView::showTensor()
{
    const tensor::Tensor* tensor = shownTensor();
    const bool isThere = tensor != nullptr;
    for (QWidget* widget : std::initializer_list<QWidget*>{m_picker, m_table, m_largest, m_nonFinite}) {
        widget->setVisible(isThere);
    }
    m_message->setVisible(!isThere);
    if (!isThere) {
        m_message->setText(m_tab == Tab::Value
                               ? tr("This value was not kept by the run. retrograde-cli run --values NAME writes it.")
                               : tr("Its relevance is not known at this step."));
        m_search->cancel();
        m_shown = nullptr;
        m_items->setTensor({}, {});
        return;
    }
    if (tensor == m_shown) {
        return; // immutable: the same tensor has the same numbers
    }
    m_search->cancel();
    m_shown = tensor;
    // Another tensor of the same shape keeps the cut, so that one place can be watched over time.
    const bool isSameShape = tensor->shape() == m_picker->slice().shape() && m_items->tensor().isValid();
    const TensorSlice slice = isSameShape ? m_picker->slice() : TensorSlice(tensor->shape());
    m_picker->setSlice(slice);
    m_items->setTensor(*tensor, slice);
}

void ValuesView::showElement(std::int64_t element)
{
    TensorSlice slice = m_items->slice();
    const TensorSlice::Cell cell = slice.show(element);
    m_picker->setSlice(slice);
    m_items->setTensor(m_items->tensor(), slice);
    const QModelIndex index = m_items->index(static_cast<int>(cell.row), static_cast<int>(cell.column));
    m_table->setCurrentIndex(index);
    m_table->scrollTo(index, QAbstractItemView::PositionAtCenter);
}

bool ValuesView::isSearching() const { return m_search->isRunning(); }

void ValuesView::search(Search find, const QString& otherwise)
{
    if (!m_items->tensor().isValid()) {
        return;
    }
    m_search->start([this, tensor = m_items->tensor(), find = std::move(find),
                     otherwise](const std::stop_token& stop) -> JobRunner::Delivery {
        return [this, element = find(tensor, stop), otherwise] { takeFound(element, otherwise); };
    });
}

void ValuesView::takeFound(const std::optional<std::int64_t>& element, const QString& otherwise)
{
    m_message->setText(element ? QString() : otherwise);
    m_message->setVisible(!element);
    if (element) {
        showElement(*element);
    }
}

void ValuesView::goToNonFinite()
{
    const QModelIndex here = m_table->currentIndex();
    const std::int64_t after = here.isValid() ? m_items->slice().elementAt(here.row(), here.column()) : -1;
    search([after](const tensor::Tensor& tensor,
                   const std::stop_token& stop) { return nextNonFinite(tensor, after, stop); },
           tr("Every element is finite."));
}

void ValuesView::goToLargest()
{
    search([](const tensor::Tensor& tensor, const std::stop_token& stop) { return largestElement(tensor, stop); },
           tr("No element is finite."));
}

QString ValuesView::copiedText(CellsAsText format) const
{
    if (m_items->rowCount() == 0) {
        return {};
    }
    TensorSlice::Cell first{0, 0};
    TensorSlice::Cell last{m_items->rowCount() - 1, m_items->columnCount() - 1};
    const QItemSelection chosen = m_table->selectionModel()->selection();
    if (!chosen.isEmpty()) {
        first = last;
        last = {0, 0};
        for (const QItemSelectionRange& range : chosen) {
            first = {std::min<std::int64_t>(first.row, range.top()),
                     std::min<std::int64_t>(first.column, range.left())};
            last = {std::max<std::int64_t>(last.row, range.bottom()),
                    std::max<std::int64_t>(last.column, range.right())};
        }
    }
    return QString::fromStdString(format(m_items->tensor(), m_items->slice(), first, last));
}

void ValuesView::copy(CellsAsText format)
{
    const QString text = copiedText(format);
    if (!text.isEmpty()) {
        QApplication::clipboard()->setText(text);
    }
}

base::Result<void> ValuesView::exportTo(const std::filesystem::path& path)
{
    if (!m_items->tensor().isValid()) {
        return base::usageError("there is no tensor to write at this step", path.string());
    }
    if (path.extension() == ".npy") {
        return tensor::writeNpy(path, m_items->tensor());
    }
    return base::writeFile(path, sliceCsv(m_items->tensor(), m_items->slice(), {0, 0},
                                          {m_items->slice().rows() - 1, m_items->slice().columns() - 1}));
}

} // namespace retro::views

#include "moc_valuesview.cpp"
