// SPDX-License-Identifier: Apache-2.0
#include "views/history/historyview.h"

#include "views/common/csv.h"
#include "views/common/numbertext.h"
#include "views/common/paint/fonts.h"
#include "views/common/paint/theme.h"
#include "views/common/widgets/boxes.h"
#include "views/common/widgets/listtable.h"
#include "views/history/historyrows.h"

#include <QHeaderView>
#include <QLabel>
#include <QLineEdit>
#include <QPainter>
#include <QScrollArea>
#include <QSplitter>
#include <QTableWidget>
#include <QVBoxLayout>

#include <algorithm>

namespace retro::views
{

using fonts::px;

namespace
{

constexpr double kSideBySide = 600; ///< width from which the parts stand beside the rows

QTableWidgetItem* cell(const QString& text, bool isNumber)
{
    auto* item = new QTableWidgetItem(text);
    item->setFont(fonts::smallNumbers());
    item->setTextAlignment(Qt::Alignment((isNumber ? Qt::AlignRight : Qt::AlignLeft) | Qt::AlignVCenter));
    item->setFlags(Qt::ItemIsEnabled | Qt::ItemIsSelectable);
    return item;
}

QLabel* makeLabel(QWidget* parent, const QFont& font)
{
    auto* label = new QLabel(parent);
    label->setFont(font);
    label->setTextFormat(Qt::PlainText);
    label->setWordWrap(true);
    label->setTextInteractionFlags(Qt::TextSelectableByMouse);
    label->setContentsMargins(px(10), px(2), px(10), px(4));
    return label;
}

} // namespace

HistoryView::HistoryView(RunModel& model, Cursor& cursor, Selection& selection, QWidget* parent)
    : View(model, cursor, selection, parent)
{
    setAccessibleName(tr("Where the relevance of an element came from"));
    setEmptyText(tr("Where did it come from? Open a model, run it, then click a pixel, a word or a step."));
    auto* body = new QWidget(this);
    auto* column = makeBox<QVBoxLayout>(body, {}, 0);
    column->addWidget(makeAddress(body));
    m_sentence = makeLabel(body, fonts::label());
    column->addWidget(m_sentence);
    m_split = new QSplitter(Qt::Vertical, body);
    m_split->setChildrenCollapsible(false);
    m_rows = new HistoryRows(m_split);
    auto* scroll = new QScrollArea(m_split);
    scroll->setFrameShape(QFrame::NoFrame);
    scroll->setWidgetResizable(true);
    scroll->setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
    scroll->setWidget(m_rows);
    m_split->addWidget(scroll);
    m_split->addWidget(makeDetail(m_split));
    m_split->setStretchFactor(0, 3);
    m_split->setStretchFactor(1, 2);
    column->addWidget(m_split, 1);
    setBody(body);
    connect(m_rows, &HistoryRows::rowChosen, this, &HistoryView::chooseRow);
    say({}, false);
}

QWidget* HistoryView::makeAddress(QWidget* parent)
{
    auto* row = new QWidget(parent);
    auto* line = new QHBoxLayout(row);
    line->setContentsMargins(px(10), px(2), px(10), px(2));
    m_place = new QLineEdit(row);
    m_place->setFont(fonts::numbers());
    m_place->setPlaceholderText(QStringLiteral("input:0,*,12,86"));
    m_place->setAccessibleName(tr("Element of a value"));
    m_place->setToolTip(tr("VALUE:i,j,… is one element of any tensor; * takes all along an axis"));
    line->addWidget(m_place);
    connect(m_place, &QLineEdit::returnPressed, this, [this] { emit placeTyped(m_place->text().trimmed()); });
    return row;
}

QWidget* HistoryView::makeDetail(QWidget* parent)
{
    auto* detail = new QWidget(parent);
    auto* column = makeBox<QVBoxLayout>(detail, {}, 0);
    m_heading = makeLabel(detail, fonts::label(QFont::DemiBold));
    column->addWidget(m_heading);
    m_parts = new QTableWidget(0, 3, detail);
    m_parts->setAccessibleName(tr("Parts of the chosen value"));
    m_parts->setHorizontalHeaderLabels({tr("Element"), tr("Part"), QStringLiteral("%")});
    m_parts->setAlternatingRowColors(true);
    makeList(*m_parts, px(20));
    m_parts->setMinimumHeight(px(60));
    m_parts->horizontalHeader()->setSectionResizeMode(0, QHeaderView::Stretch);
    m_parts->horizontalHeader()->setSectionResizeMode(1, QHeaderView::ResizeToContents);
    m_parts->horizontalHeader()->setSectionResizeMode(2, QHeaderView::ResizeToContents);
    m_parts->setToolTip(tr("Part = way to the element · relevance there. A double click asks where that came from."));
    connect(m_parts, &QTableWidget::cellDoubleClicked, this, [this](int row, int) {
        if (m_history && chosenRow() >= 0) {
            const HistoryLayer& layer = m_history->layers[static_cast<std::size_t>(chosenRow())];
            if (row < static_cast<int>(layer.largest.size())) {
                emit placeTyped(model().label(layer.value) + QLatin1Char(':') +
                                placeText(layer.largest[static_cast<std::size_t>(row)].index));
            }
        }
    });
    column->addWidget(m_parts, 1);
    m_detail = makeLabel(detail, fonts::smallNumbers());
    column->addWidget(m_detail);
    return detail;
}

QString HistoryView::subject() const
{
    return m_history && model().hasRun()
               ? QStringLiteral("%1 [%2]").arg(model().label(m_history->value), placeText(m_history->index))
               : QString();
}

QString HistoryView::hint() const
{
    return tr("Each row is the same amount, split by who handed it on. Click one: the cursor goes there.");
}

bool HistoryView::canShow(const SelectedThing& thing) const
{
    const base::ValueId value = model().hasRun() ? model().valueOf(thing) : base::ValueId();
    return m_history && value.isValid() &&
           std::ranges::any_of(m_history->layers, [&](const HistoryLayer& layer) { return layer.value == value; });
}

QString HistoryView::sentence() const
{
    const HistoryFacts& facts = *m_history;
    const QString share =
        facts.start == 0 ? QString()
                         : tr(", %1 of %2").arg(percentText(facts.relevance / facts.start, 2), valueText(facts.start));
    if (!facts.needs.isEmpty()) {
        return tr("It has %1%2. This is what the run recorded of it; the way up to the class is not known: %3")
            .arg(valueText(facts.relevance), share, facts.needs);
    }
    return tr("It has %1%2. The sums agree within %3 of what came together.")
        .arg(valueText(facts.relevance), share, valueText(facts.apart, 1));
}

void HistoryView::say(const QString& text, bool isProblem)
{
    QPalette colors = m_sentence->palette();
    colors.setColor(QPalette::WindowText, theme(this)[isProblem ? Role::AlarmText : Role::Text2]);
    m_sentence->setPalette(colors);
    m_sentence->setText(!text.isEmpty() ? text
                                        : tr("Click a pixel, a word or a step of the heatmap, or type an element."));
    const bool isWanted = m_history || (!m_asked.isEmpty() && !isProblem); // laid out while the answer is on its way
    if (isWanted && m_split->isHidden()) { // rows and parts share the room, until a person moves the line
        m_split->setSizes({px(300), px(200)});
    }
    m_split->setVisible(isWanted);
}

void HistoryView::setAsked(const QString& place)
{
    m_asked = place;
    m_refusal.clear();
    m_place->setText(place);
    if (!m_history) {
        m_heading->clear(); // nothing of an answer that is gone
        m_parts->setRowCount(0);
        m_detail->clear();
        say(tr("Following it back …"), false);
    }
}

void HistoryView::setRefusal(const QString& why)
{
    m_history.reset();
    m_refusal = why;
    m_rows->setHistory(nullptr, {}, {});
    say(why, true);
    emit captionChanged();
}

void HistoryView::clear()
{
    m_history.reset();
    m_refusal.clear();
    m_asked.clear();
    m_place->clear();
    m_rows->setHistory(nullptr, {}, {});
    say({}, false);
    emit captionChanged();
}

void HistoryView::setHistory(HistoryPointer history)
{
    m_history = std::move(history);
    m_refusal.clear();
    if (!m_history || !model().hasRun() || m_history->run != model().sharedRun()) {
        return clear(); // the run has gone since
    }
    QStringList names;
    QStringList shapes;
    for (const HistoryLayer& layer : m_history->layers) {
        const bool isInput = model().graph().isInput(layer.node);
        names << (isInput ? model().label(layer.value) : model().placeLabel(layer.node));
        shapes << model().shortShapeText(layer.value);
    }
    m_rows->setHistory(m_history, names, shapes);
    say(sentence(), false);
    const int rows = static_cast<int>(m_history->layers.size());
    m_rows->mark(rows - 1);
    showLayer(rows - 1);
    emit captionChanged();
}

int HistoryView::chosenRow() const { return m_rows->chosen(); }

void HistoryView::chooseRow(int row)
{
    if (!m_history || row < 0 || row >= static_cast<int>(m_history->layers.size())) {
        return;
    }
    m_rows->mark(row);
    showLayer(row);
    const HistoryLayer& layer = m_history->layers[static_cast<std::size_t>(row)];
    if (layer.position) {
        cursor().moveTo(*layer.position);
    }
    selection().selectValue(layer.value);
}

void HistoryView::showStep(const HistoryStep& step, QStringList& lines) const
{
    lines << (step.from.empty() ? tr("%1 handed %2 on").arg(model().label(step.node), valueText(step.part))
                                : tr("The last step, by %1: %2 altogether, %3 of it from [%4]")
                                      .arg(model().label(step.node), valueText(step.all), valueText(step.part),
                                           placeText(step.from)));
    QStringList numbers;
    for (const auto& [name, value] : step.numbers) {
        numbers << QStringLiteral("%1 = %2").arg(name, valueText(value, 5));
    }
    if (!step.formula.isEmpty()) {
        lines << QStringLiteral("%1: %2").arg(step.rule, step.formula);
    }
    if (!numbers.isEmpty()) {
        lines << numbers.join(QStringLiteral(",  "));
    }
}

void HistoryView::showLayer(int row)
{
    m_parts->setRowCount(0);
    m_heading->clear();
    m_detail->clear();
    if (!m_history || row < 0 || row >= static_cast<int>(m_history->layers.size())) {
        return;
    }
    const HistoryLayer& layer = m_history->layers[static_cast<std::size_t>(row)];
    m_heading->setText(tr("%1: %2 elements take part").arg(model().label(layer.value), countText(layer.elements)));
    const auto count = static_cast<int>(layer.largest.size());
    m_parts->setRowCount(count + 1);
    double shown = 0;
    for (int i = 0; i < count; ++i) {
        const HistoryPart& part = layer.largest[static_cast<std::size_t>(i)];
        shown += part.part;
        m_parts->setItem(i, 0, cell(placeText(part.index), false));
        m_parts->item(i, 0)->setToolTip(
            tr("way %1 · relevance %2").arg(valueText(part.way), valueText(part.relevance)));
        m_parts->setItem(i, 1, cell(valueText(part.part), true));
        m_parts->setItem(
            i, 2, cell(m_history->relevance == 0 ? QString() : percentText(part.part / m_history->relevance), true));
    }
    const double rest = layer.sum - shown;
    m_parts->setItem(count, 0, cell(tr("others"), false));
    m_parts->setItem(count, 1, cell(valueText(rest), true));
    m_parts->setItem(count, 2,
                     cell(m_history->relevance == 0 ? QString() : percentText(rest / m_history->relevance), true));
    QStringList lines;
    if (!layer.isWhole) {
        lines << tr("The rest of its relevance goes round this value.");
    }
    if (!layer.rule.isEmpty()) {
        lines << (layer.formula.isEmpty()
                      ? tr("Rule of %1: %2").arg(model().label(layer.node), layer.rule)
                      : tr("Rule of %1: %2: %3").arg(model().label(layer.node), layer.rule, layer.formula));
    }
    if (layer.value == m_history->value) {
        for (const HistoryStep& step : m_history->last) {
            showStep(step, lines);
        }
    }
    m_detail->setText(lines.join(QLatin1Char('\n')));
}

QString HistoryView::detailText() const { return m_heading->text() + QLatin1Char('\n') + m_detail->text(); }

/// The row whose relevance was known last; −1 where none is known at the place of the run.
int HistoryView::lastKnownRow() const
{
    int at = -1;
    for (std::size_t row = 0; row < m_history->layers.size(); ++row) {
        const HistoryLayer& layer = m_history->layers[row];
        if (layer.position && *layer.position == model().position()) {
            at = static_cast<int>(row);
        }
    }
    return at;
}

void HistoryView::refresh(Changes changes)
{
    if (changes.testFlag(Change::Run) && m_history && m_history->run != model().sharedRun()) {
        return clear();
    }
    if (changes.testFlag(Change::Theme)) {
        say(m_refusal.isEmpty() ? (m_history ? sentence() : QString()) : m_refusal, !m_refusal.isEmpty());
    }
    if (!m_history || !changes.testFlag(Change::State)) {
        return;
    }
    const int at = lastKnownRow();
    if (at >= 0 && at != m_rows->chosen()) {
        m_rows->mark(at);
        showLayer(at);
    }
}

void HistoryView::resizeEvent(QResizeEvent* event)
{
    View::resizeEvent(event);
    const Qt::Orientation wanted = width() >= px(kSideBySide) ? Qt::Horizontal : Qt::Vertical;
    if (wanted != m_split->orientation()) {
        m_split->setOrientation(wanted);
        m_split->setSizes({px(300), px(200)});
    }
}

std::string HistoryView::csv() const
{
    CsvText text({"value", "node", "event", "sum", "elements", "element", "way", "relevance", "part", "rule"});
    for (const HistoryLayer& layer : m_history->layers) {
        for (const HistoryPart& part : layer.largest) {
            text.row(model().label(layer.value), model().label(layer.node),
                     layer.position ? static_cast<std::int64_t>(*layer.position) : -1, layer.sum, layer.elements,
                     placeText(part.index), part.way, part.relevance, part.part, layer.rule);
        }
    }
    return text.take();
}

base::Result<void> HistoryView::exportTo(const std::filesystem::path& path)
{
    if (!m_history) {
        return base::usageError("no element was asked about", path.string());
    }
    const int width = std::max(m_rows->width(), px(640));
    const int rows = static_cast<int>(m_history->layers.size());
    return write(path, csv(), QSizeF(width, rows * HistoryRows::rowHeight()),
                 [&](QPainter& painter, const Theme& light) { m_rows->paint(painter, width, light, 0, rows - 1); });
}

} // namespace retro::views

#include "moc_historyview.cpp"
