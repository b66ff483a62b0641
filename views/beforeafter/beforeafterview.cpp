// SPDX-License-Identifier: Apache-2.0
#include "views/beforeafter/beforeafterview.h"

#include "core/base/file.h"
#include "core/trace/askedotherwise.h"
#include "core/trace/targetplace.h"
#include "views/beforeafter/paircanvas.h"
#include "views/common/csv.h"
#include "views/common/numbertext.h"
#include "views/common/paint/fonts.h"
#include "views/common/paint/pagefile.h"
#include "views/common/paint/theme.h"
#include "views/common/run/runtexts.h"
#include "views/common/widgets/boxes.h"
#include "views/common/widgets/listtable.h"

#include <QComboBox>
#include <QHBoxLayout>
#include <QHeaderView>
#include <QLabel>
#include <QPainter>
#include <QSignalBlocker>
#include <QTableWidget>
#include <QToolButton>
#include <QVBoxLayout>

#include <algorithm>
#include <cmath>

namespace retro::views
{

using fonts::px;

namespace
{

constexpr double kAllColumns = 340; ///< width from which probabilities stand beside the scores
constexpr int kDeltaColumns = 4;    ///< name, A, B, B − A: always there

/// A table whose name and deltas stay whole in a narrow pane.
class Deltas final : public QTableWidget
{
public:
    using QTableWidget::QTableWidget;

protected:
    void resizeEvent(QResizeEvent* event) override
    {
        for (int column = kDeltaColumns; column < columnCount(); ++column) {
            setColumnHidden(column, width() < px(kAllColumns));
        }
        QTableWidget::resizeEvent(event);
    }
};

/// A number that is next to nothing takes no more room than the others.
QString amountText(double amount) { return valueText(amount, amount != 0 && std::abs(amount) < 1e-3 ? 2 : 4); }

QTableWidget* makeDeltas(const QStringList& heads, const QString& name, QWidget* parent)
{
    auto* table = new Deltas(0, static_cast<int>(heads.size()), parent);
    table->setAccessibleName(name);
    table->setHorizontalHeaderLabels(heads);
    table->setAlternatingRowColors(true);
    makeList(*table, px(20));
    table->horizontalHeader()->setSectionResizeMode(0, QHeaderView::Stretch);
    for (int section = 1; section < static_cast<int>(heads.size()); ++section) {
        table->horizontalHeader()->setSectionResizeMode(section, QHeaderView::ResizeToContents);
    }
    return table;
}

void setCell(QTableWidget& table, int row, int column, const QString& text)
{
    auto* item = new QTableWidgetItem(text);
    item->setFont(column == 0 ? fonts::label() : fonts::smallNumbers());
    item->setTextAlignment(Qt::Alignment((column == 0 ? Qt::AlignLeft : Qt::AlignRight) | Qt::AlignVCenter));
    item->setFlags(Qt::ItemIsEnabled | Qt::ItemIsSelectable);
    item->setToolTip(column == 0 ? text : QString());
    table.setItem(row, column, item);
}

std::int64_t bytesOf(const trace::Run& run)
{
    std::int64_t bytes = 0;
    for (const std::vector<tensor::Tensor>* tensors : {&run.tensors, &run.values}) {
        for (const tensor::Tensor& tensor : *tensors) {
            bytes += tensor.isValid() ? tensor.bytes() : 0;
        }
    }
    return bytes;
}

} // namespace

/// A run with its own place in time, at its end.
struct BeforeAfterView::Kept
{
    Kept(RunHandle handle, InputInfo input, bool live, QString words)
        : model(cursor), isLive(live), name(std::move(words)), bytes(bytesOf(*handle.run))
    {
        handle.timeline = std::make_shared<trace::Timeline>(*handle.timeline);
        model.setRun(std::move(handle), std::move(input), true);
    }

    Cursor cursor;
    RunModel model;
    bool isLive;
    QString name;
    std::int64_t bytes;
};

BeforeAfterView::BeforeAfterView(RunModel& model, Cursor& cursor, Selection& selection, QWidget* parent)
    : View(model, cursor, selection, parent)
{
    setAccessibleName(tr("Before and after"));
    setEmptyText(tr("What did a change do? Run a model, then change its input, rules or question and run again."));
    auto* body = new QWidget(this);
    auto* column = makeBox<QVBoxLayout>(body, {}, px(2));
    column->addWidget(makeChoices(body));
    m_sentence = new QLabel(body);
    m_sentence->setFont(fonts::label());
    m_sentence->setTextFormat(Qt::PlainText);
    m_sentence->setWordWrap(true);
    m_sentence->setContentsMargins(px(10), 0, px(10), px(2));
    m_askTheSame = new QToolButton(body);
    m_askTheSame->setObjectName(QStringLiteral("askTheSame"));
    m_askTheSame->setFont(fonts::label());
    m_askTheSame->setText(tr("Ask both the same"));
    m_askTheSame->setToolTip(tr("Runs again with the question of A, and compares A with that"));
    m_askTheSame->setVisible(false);
    connect(m_askTheSame, &QToolButton::clicked, this, [this] {
        const trace::Run& asked = m_runs[m_before]->model.run();
        emit questionWanted(QString::fromStdString(trace::targetCode(asked)),
                            QString::fromStdString(asked.facts.start));
    });
    auto* said = new QHBoxLayout;
    said->setContentsMargins(0, 0, px(10), 0);
    said->addWidget(m_sentence, 1);
    said->addWidget(m_askTheSame, 0, Qt::AlignTop);
    column->addLayout(said);
    m_canvas = new PairCanvas(body);
    column->addWidget(m_canvas, 3);
    auto* tables = new QHBoxLayout;
    tables->setContentsMargins(0, 0, 0, 0);
    m_classes =
        makeDeltas({tr("Class"), tr("A"), tr("B"), tr("B − A"), tr("A %"), tr("B %")}, tr("Class scores"), body);
    m_ledger = makeDeltas({tr("Ledger"), tr("A"), tr("B"), tr("B − A")}, tr("Ledgers"), body);
    for (QWidget* table : {static_cast<QWidget*>(m_classes), static_cast<QWidget*>(m_ledger)}) {
        table->setMinimumSize(px(90), px(40)); // they scroll
    }
    tables->addWidget(m_classes, 1);
    tables->addWidget(m_ledger, 1);
    column->addLayout(tables, 2);
    setBody(body);
}

BeforeAfterView::~BeforeAfterView() = default;

QWidget* BeforeAfterView::makeChoices(QWidget* parent)
{
    auto* choices = new QWidget(parent);
    auto* row = makeBox<QHBoxLayout>(choices, {px(10), px(3), px(10), px(2)}, px(6));
    const auto makeCombo = [&](const QString& name) {
        auto* combo = new QComboBox(choices);
        combo->setAccessibleName(name);
        combo->setToolTip(name);
        combo->setFont(fonts::label());
        combo->setSizeAdjustPolicy(QComboBox::AdjustToMinimumContentsLengthWithIcon);
        combo->setMinimumContentsLength(4); // it gets what room there is
        return combo;
    };
    m_a = makeCombo(tr("Run A, before"));
    m_b = makeCombo(tr("Run B, after"));
    auto* swap = new QToolButton(choices);
    swap->setText(tr("Swap"));
    swap->setToolTip(tr("A becomes B, and B becomes A"));
    swap->setFont(fonts::label());
    row->addWidget(m_a, 1);
    row->addWidget(swap);
    row->addWidget(m_b, 1);
    const auto take = [this] {
        choosePair(static_cast<std::size_t>(std::max(0, m_a->currentIndex())),
                   static_cast<std::size_t>(std::max(0, m_b->currentIndex())));
    };
    connect(m_a, &QComboBox::currentIndexChanged, this, take);
    connect(m_b, &QComboBox::currentIndexChanged, this, take);
    connect(swap, &QToolButton::clicked, this, [this] { choosePair(m_after, m_before); });
    return choices;
}

QString BeforeAfterView::subject() const
{
    return m_runs.size() < 2 ? QString() : tr("%1 of %2 runs").arg(2).arg(m_runs.size());
}

QString BeforeAfterView::hint() const
{
    return tr("A stays as it was; B follows every change. All three share one scale: what looks weaker is weaker.");
}

bool BeforeAfterView::canShow(const SelectedThing& thing) const
{
    return model().hasRun() && m_runs.size() > 1 && model().valueOf(thing).isValid();
}

QString BeforeAfterView::emptyReason() const
{
    if (m_runs.size() == 1 && m_runs.back()->bytes > kMostBytes / 2) {
        return tr("This run is too large to keep another one beside it.");
    }
    return m_runs.size() < 2
               ? tr("One run is kept so far. Change the input, the rules, the question or the rewrites and "
                    "run again: what was before stays here, beside what came of it.")
               : QString();
}

void BeforeAfterView::addRun(RunHandle run, InputInfo input, bool isLive)
{
    if (!run.run || run.run->eventCount() == 0 || !run.timeline) {
        return;
    }
    const trace::RunFacts& facts = run.run->facts;
    const bool takesPlace = isLive && !m_runs.empty() && m_runs.back()->isLive;
    if (!takesPlace) {
        ++m_number;
    }
    const QString composite = QString::fromStdString(facts.composite);
    const QString file = input.fileName.isEmpty() ? QString::fromStdString(facts.modelName) : input.fileName;
    const QString what = isLive ? tr("pixels changed") : file.section(QLatin1Char('/'), -1);
    auto kept = std::make_unique<Kept>(std::move(run), std::move(input), isLive, QString());
    const std::vector<std::int64_t>& target = kept->model.run().facts.targetIndex;
    const QString asked = target.empty() ? QString() : kept->model.className(target.front()) + QStringLiteral(", ");
    kept->name = tr("%1: %2, %3").arg(m_number).arg(asked + what, composite);
    if (takesPlace) {
        const bool wasAfter = m_after + 1 == m_runs.size();
        m_runs.back() = std::move(kept);
        if (!wasAfter) {
            m_after = m_runs.size() - 1;
        }
    } else {
        m_runs.push_back(std::move(kept));
        m_before = beforeOfLast();
        m_after = m_runs.size() - 1;
        prune();
    }
    m_isDue = true;
    showChoices();
    schedule(Change::All);
}

/// The run before the last one. Where that answers another question and A does not, it stays A.
std::size_t BeforeAfterView::beforeOfLast() const
{
    const std::size_t usual = m_runs.size() > 1 ? m_runs.size() - 2 : 0;
    const auto asksAsLast = [this](std::size_t run) {
        return trace::askedOtherwise(m_runs[run]->model.run(), m_runs.back()->model.run()).empty();
    };
    return !asksAsLast(usual) && m_before < usual && asksAsLast(m_before) ? m_before : usual;
}

/// Of the same value, the run on screen can be asked again what A was.
bool BeforeAfterView::canAskTheSame() const
{
    if (pair().question.isEmpty() || m_after + 1 != m_runs.size()) {
        return false;
    }
    const auto targetOf = [](const Kept& run) {
        const base::ValueId value = run.model.run().facts.targetValue;
        return value.isValid() ? run.model.label(value) : QString();
    };
    return !targetOf(*m_runs[m_before]).isEmpty() && targetOf(*m_runs[m_before]) == targetOf(*m_runs[m_after]);
}

/// A pair that takes more than all runs may is not kept either: the memory is for the next run.
void BeforeAfterView::prune()
{
    const auto bytes = [this] {
        std::int64_t sum = 0;
        for (const auto& run : m_runs) {
            sum += run->bytes;
        }
        return sum;
    };
    while (m_runs.size() > 1 && (m_runs.size() > kMostRuns || bytes() > kMostBytes)) {
        m_runs.erase(m_runs.begin());
        m_before = m_before > 0 ? m_before - 1 : 0;
        m_after = m_after > 0 ? m_after - 1 : 0;
    }
}

void BeforeAfterView::clear()
{
    m_runs.clear();
    m_before = m_after = 0;
    m_number = 0;
    m_isDue = false;
    m_canvas->setPair({});
    showChoices();
    schedule(Change::All);
}

void BeforeAfterView::showChoices()
{
    const QSignalBlocker blockA(m_a);
    const QSignalBlocker blockB(m_b);
    for (QComboBox* combo : {m_a, m_b}) {
        combo->clear();
        for (const auto& run : m_runs) {
            combo->addItem(run->name);
        }
    }
    m_a->setCurrentIndex(static_cast<int>(m_before));
    m_b->setCurrentIndex(static_cast<int>(m_after));
    emit captionChanged();
}

void BeforeAfterView::choosePair(std::size_t before, std::size_t after)
{
    if (before >= m_runs.size() || after >= m_runs.size()) {
        return;
    }
    m_before = before;
    m_after = after;
    m_isDue = true;
    showChoices();
    schedule(Change::State);
}

const RunPair& BeforeAfterView::pair() const { return m_canvas->pair(); }

QString BeforeAfterView::sentence() const
{
    if (m_runs.size() < 2) {
        return {};
    }
    const QString question = pair().question.isEmpty() ? QString() : pair().question + QLatin1Char(' ');
    return pair().changes.join(QStringLiteral(". ")) + QStringLiteral(". ") + question + pair().meaning;
}

void BeforeAfterView::compute()
{
    m_isDue = false;
    if (m_runs.size() < 2) {
        return;
    }
    m_canvas->setPair(comparePair(m_runs[m_before]->model, m_runs[m_after]->model, m_value));
    m_sentence->setText(sentence());
    m_canvas->setAccessibleDescription(sentence());
    m_askTheSame->setVisible(canAskTheSame());
    fillTables();
}

void BeforeAfterView::fillTables()
{
    const RunPair& shown = pair();
    m_classes->setRowCount(static_cast<int>(shown.classes.size()));
    m_classes->setVisible(!shown.classes.empty());
    int row = 0;
    const auto sure = [](const std::optional<double>& p) { return p ? percentText(*p) : QString(); };
    for (const PairClass& one : shown.classes) {
        setCell(*m_classes, row, 0, one.name);
        setCell(*m_classes, row, 1, amountText(one.before));
        setCell(*m_classes, row, 2, amountText(one.after));
        setCell(*m_classes, row, 3, signedText(one.after - one.before, 3));
        setCell(*m_classes, row, 4, sure(one.probabilityBefore));
        setCell(*m_classes, row, 5, sure(one.probabilityAfter));
        ++row;
    }
    m_ledger->setRowCount(static_cast<int>(shown.ledger.size()));
    row = 0;
    for (const PairAmount& one : shown.ledger) {
        setCell(*m_ledger, row, 0, one.name);
        setCell(*m_ledger, row, 1, amountText(one.before));
        setCell(*m_ledger, row, 2, amountText(one.after));
        setCell(*m_ledger, row, 3, signedText(one.after - one.before, 3));
        ++row;
    }
}

void BeforeAfterView::refresh(Changes changes)
{
    const base::ValueId selected = model().valueOf(selection().thing());
    const QString value = selected.isValid() ? model().label(selected) : QString();
    if (value != m_value) {
        m_value = value;
        m_isDue = true;
    }
    if (m_isDue || changes.testFlag(Change::Theme)) {
        compute();
        emit captionChanged();
    }
}

std::string BeforeAfterView::csv() const
{
    CsvText text({"what", "name", "before", "after", "change"});
    for (const PairClass& one : pair().classes) {
        text.row("class", one.name, one.before, one.after, one.after - one.before);
    }
    for (const PairAmount& one : pair().ledger) {
        text.row("ledger", one.name, one.before, one.after, one.after - one.before);
    }
    return text.take();
}

base::Result<void> BeforeAfterView::exportTo(const std::filesystem::path& path)
{
    if (m_runs.size() < 2) {
        return base::usageError("two runs are needed: change something and run again", path.string());
    }
    if (m_isDue) {
        compute();
    }
    if (path.extension() == ".csv") {
        return base::writeFile(path, csv());
    }
    const QSizeF size(std::max(m_canvas->width(), px(660)), std::max(m_canvas->height(), px(300)));
    const auto paint = [&](QPainter& painter) {
        const Theme& light = Theme::of(ThemeKind::Light);
        painter.fillRect(QRectF(QPointF(), size), light[Role::Base]);
        m_canvas->paint(painter, QRectF(QPointF(10, 6), size - QSizeF(20, 12)), light);
    };
    PictureTexts texts = runTexts(m_runs[m_after]->model.run(), m_runs[m_after]->model.position());
    texts["changed"] = pair().changes.join(QStringLiteral("; ")).toStdString();
    return paintPage(path, size, paint, title(), texts, 2, csv());
}

} // namespace retro::views

#include "moc_beforeafterview.cpp"
