// SPDX-License-Identifier: Apache-2.0
#include "views/ledger/ledgerview.h"

#include "core/base/file.h"
#include "views/common/csv.h"
#include "views/common/paint/fonts.h"
#include "views/common/paint/paintfile.h"
#include "views/common/run/gradientnote.h"
#include "views/common/run/runtexts.h"
#include "views/common/run/timerange.h"
#include "views/common/widgets/boxes.h"
#include "views/common/widgets/rangechip.h"
#include "views/ledger/curvepane.h"
#include "views/ledger/ledgertable.h"
#include "views/ledger/ledgertablemodel.h"
#include "views/ledger/waterfall.h"

#include <QButtonGroup>
#include <QHBoxLayout>
#include <QPainter>
#include <QStackedWidget>
#include <QToolButton>
#include <QVBoxLayout>
#include <QWidget>

#include <array>

namespace retro::views
{

/// Paints the waterfall of books.
class LedgerPane final : public QWidget
{
public:
    explicit LedgerPane(QWidget* parent = nullptr);
    void setBooks(LedgerBooks books);
    [[nodiscard]] const LedgerBooks& books() const { return m_books; }
    [[nodiscard]] QSize sizeHint() const override;
    [[nodiscard]] QSize minimumSizeHint() const override;

protected:
    void paintEvent(QPaintEvent* event) override;

private:
    LedgerBooks m_books;
};

LedgerPane::LedgerPane(QWidget* parent) : QWidget(parent) {}

void LedgerPane::setBooks(LedgerBooks books)
{
    m_books = std::move(books);
    setAccessibleDescription(booksSentence(m_books));
    updateGeometry();
    update();
}

QSize LedgerPane::sizeHint() const
{
    const double height = m_books.isEmpty() ? 0 : layoutWaterfall(m_books, {0, 0, 400, 0}).height;
    return {fonts::px(420), static_cast<int>(height) + fonts::px(8)};
}

/// With the lowest rows; the pane takes more where there is more.
QSize LedgerPane::minimumSizeHint() const
{
    const double height = m_books.isEmpty() ? 0 : layoutWaterfall(m_books, {0, 0, 400, 1}).height;
    return {fonts::px(220), static_cast<int>(height) + fonts::px(4)};
}

void LedgerPane::paintEvent(QPaintEvent* /*event*/)
{
    if (m_books.isEmpty()) {
        return;
    }
    const double margin = fonts::px(10);
    QPainter painter(this);
    paintWaterfall(painter, m_books, layoutWaterfall(m_books, QRectF(rect()).adjusted(margin, 2, -margin, 0)),
                   theme(this));
}

LedgerView::LedgerView(RunModel& model, Cursor& cursor, Selection& selection, QWidget* parent)
    : View(model, cursor, selection, parent)
{
    setAccessibleName(tr("Ledger"));
    setEmptyText(tr("No books yet. Open a model and a picture, then run."));
    m_pane = new LedgerPane(this);
    m_pane->setAccessibleName(tr("Where the relevance went"));
    m_table = new LedgerTable(this);
    connect(m_table, &LedgerTable::nodeChosen, &selection, &Selection::selectNode);
    connect(m_table, &LedgerTable::positionWanted, &cursor, &Cursor::moveTo);
    m_stack = new QStackedWidget(this);
    m_stack->addWidget(makeScroll(m_pane));
    m_curve = new CurvePane(this);
    connect(m_curve, &CurvePane::visitWanted, this,
            [this](quint32 visit) { this->cursor().moveTo(this->model().run().endOfVisit(visit)); });
    m_stack->addWidget(m_curve);
    m_stack->addWidget(m_table);
    auto* body = new QWidget(this);
    auto* column = makeBox<QVBoxLayout>(body, {}, 0);
    column->addWidget(makeSwitch());
    column->addWidget(m_stack, 1);
    setBody(body);
    setDetailed(false);
}

QWidget* LedgerView::makeSwitch()
{
    m_switch = new QWidget(this);
    auto* row = makeBox<QHBoxLayout>(m_switch, {fonts::px(10), fonts::px(4), fonts::px(10), fonts::px(4)}, 0);
    auto* group = new QButtonGroup(this);
    const auto make = [&](const QString& text, const QString& tip, Page page) {
        auto* button = new QToolButton(m_switch);
        button->setText(text);
        button->setToolTip(tip);
        button->setCheckable(true);
        button->setChecked(page == Page::Waterfall);
        button->setProperty("segment", true);
        group->addButton(button);
        row->addWidget(button);
        connect(button, &QToolButton::clicked, this, [this, page] { showPage(page); });
        m_buttons.push_back(button);
    };
    make(tr("Waterfall"), tr("What each cause took, at this step"), Page::Waterfall);
    make(tr("Over time"), tr("What had arrived, was on its way or was absorbed after every visit"), Page::Curve);
    make(tr("Table"), tr("Every node, operator or rule, the largest losses first"), Page::Table);
    row->addStretch(1);
    return m_switch;
}

void LedgerView::setDetailed(bool isDetailed)
{
    m_switch->setVisible(isDetailed);
    if (!isDetailed) {
        showTable(false);
    }
}

void LedgerView::showPage(Page page)
{
    m_page = page;
    applyPage();
    for (std::size_t i = 0; i < m_buttons.size(); ++i) {
        m_buttons[i]->setChecked(i == static_cast<std::size_t>(page));
    }
    fillTable();
    schedule(Change::Selection); // whether there is anything for this page
}

bool LedgerView::isGradient() const { return model().hasRun() && model().derived<GradientNote>()->isGradient; }

/// The page that was chosen; for a gradient, which has no books, the table alone.
void LedgerView::applyPage() { m_stack->setCurrentIndex(static_cast<int>(isTable() ? Page::Table : m_page)); }

QByteArray LedgerView::saveState() const
{
    constexpr std::array kNames{"waterfall", "curve", "table"};
    return kNames[static_cast<std::size_t>(page())];
}

void LedgerView::restoreState(const QByteArray& state)
{
    showPage(state == "table" ? Page::Table : state == "curve" ? Page::Curve : Page::Waterfall);
}

void LedgerView::followRange(TimeRange& range)
{
    m_range = &range;
    auto* chip = new RangeChip(m_switch);
    m_switch->layout()->addWidget(chip);
    chip->follow(range);
    connect(&range, &TimeRange::changed, this, [this] {
        m_isTableStale = true;
        schedule(Change::State);
    });
}

std::optional<VisitRange> LedgerView::range() const { return m_range != nullptr ? m_range->visits() : std::nullopt; }

/// Summed once per run and range, and only when somebody looks at it.
void LedgerView::fillTable()
{
    if (!isTable() || !model().hasRun()) {
        return;
    }
    if (m_isTableStale) {
        m_isTableStale = false;
        m_table->setRun(model().sharedRun(), range(), m_range != nullptr ? m_range->text() : QString());
    }
    m_table->setBooked(model().state().ledgerRows);
    m_table->showNode(model().nodeOf(selection().thing()));
}

void LedgerView::fillBooks()
{
    if (isGradient()) {
        m_pane->setBooks({});
        return;
    }
    m_pane->setBooks(range() ? ledgerBooks(model().run(), *model().derived<LedgerCurve>(), *range())
                             : ledgerBooks(model()));
}

void LedgerView::fillCurve()
{
    CurveFigure figure;
    figure.curve = model().derived<LedgerCurve>();
    figure.range = range();
    figure.cursorVisit = model().position() == 0 ? 0 : model().run().visitOf(model().position() - 1) + 0.5;
    m_curve->setFigure(std::move(figure));
}

const LedgerBooks& LedgerView::books() const { return m_pane->books(); }

QString LedgerView::hint() const
{
    const QString sentence = isGradient() ? gradientSentence() : booksSentence(books());
    return sentence.isEmpty() ? tr("Where the relevance of the score went.") : sentence;
}

bool LedgerView::canShow(const SelectedThing& thing) const
{
    return isTable() && model().hasRun() && m_table->items().rowOf(model().nodeOf(thing)) >= 0;
}

QString LedgerView::emptyReason() const
{
    const bool isOfTheRun = (page() != Page::Waterfall || isGradient()) && !model().run().ledger.empty();
    if (!books().isEmpty() || isOfTheRun) {
        return {};
    }
    if (range() && !model().run().ledger.empty()) {
        return tr("There is nothing in %1.").arg(m_range->text());
    }
    if (model().run().ledger.empty()) {
        return tr("This run was not audited: it has no ledger.");
    }
    return model().position() < model().run().eventCount()
               ? tr("This step is before the first rule of the run. Step forward to see where relevance goes.")
               : tr("No rule was applied in this run: no relevance was handed on.");
}

void LedgerView::refresh(Changes changes)
{
    if (changes.testAnyFlags(Change::Run | Change::State)) {
        applyPage();
        fillBooks();
        fillCurve();
    }
    m_isTableStale = m_isTableStale || changes.testFlag(Change::Run);
    fillTable();
}

std::string LedgerView::curveCsv() const
{
    CsvText text({"visit", "arrived", "on_its_way", "absorbed", "unexplained"});
    const CurveFigure& figure = m_curve->figure();
    for (std::uint32_t visit = figure.first(); visit < figure.end(); ++visit) {
        const LedgerCurve& curve = *figure.curve;
        text.row(visit + 1, curve.arrived(visit + 1), curve.onItsWay(visit + 1), curve.absorbed(visit + 1),
                 curve.unexplained(visit + 1));
    }
    return text.take();
}

base::Result<void> LedgerView::exportTo(const std::filesystem::path& path)
{
    const bool isCsv = path.extension() == ".csv";
    if (isGradient() && !isCsv) {
        return base::usageError("a gradient is not conserved, so it has no ledger; write the table of its nodes as CSV",
                                path.string());
    }
    if (page() == Page::Curve && !isGradient() && !m_curve->figure().curve->isEmpty()) {
        return isCsv ? base::writeFile(path, curveCsv()) : exportCurve(path);
    }
    if (isCsv && isTable() && m_table->items().rowCount() > 0) {
        return base::writeFile(path, m_table->csv());
    }
    if (books().isEmpty()) {
        return base::usageError("there is no ledger to write at this step", path.string());
    }
    return isCsv ? base::writeFile(path, booksCsv()) : exportWaterfall(path);
}

std::string LedgerView::booksCsv() const
{
    CsvText text({"line", "share", "amount"});
    for (const LedgerLine& line : books().lines) {
        text.row(line.name, line.share, line.amount);
    }
    return text.take();
}

base::Result<void> LedgerView::exportCurve(const std::filesystem::path& path) const
{
    const QSizeF size(640, 280);
    const auto paint = [&](QPainter& painter) {
        const Theme& light = Theme::of(ThemeKind::Light);
        painter.fillRect(QRectF(QPointF(), size), light[Role::Base]);
        paintCurve(painter, m_curve->figure(), QRectF(QPointF(), size), light);
    };
    return paintToFile(path, size, paint, hint(), runTexts(model().run(), model().position()));
}

base::Result<void> LedgerView::exportWaterfall(const std::filesystem::path& path) const
{
    const QSizeF size(480, m_pane->sizeHint().height() + 12);
    const auto paint = [&](QPainter& painter) {
        const Theme& light = Theme::of(ThemeKind::Light);
        painter.fillRect(QRectF(QPointF(), size), light[Role::Base]);
        paintWaterfall(painter, books(), layoutWaterfall(books(), {12, 8, size.width() - 24, 0}), light);
    };
    return paintToFile(path, size, paint, hint(), runTexts(model().run(), model().position()));
}

} // namespace retro::views

#include "moc_ledgerview.cpp"
