// SPDX-License-Identifier: Apache-2.0
#include "tests/views/support/grabs.h"
#include "tests/views/support/tinyrun.h"
#include "views/common/paint/fonts.h"
#include "views/common/run/timerange.h"
#include "views/common/widgets/rangechip.h"
#include "views/ledger/curvepane.h"
#include "views/ledger/ledgertable.h"
#include "views/ledger/ledgertablemodel.h"
#include "views/ledger/ledgerview.h"
#include "views/ledger/waterfall.h"

#include <QAbstractItemModelTester>
#include <QFile>
#include <QLabel>
#include <QPainter>
#include <QTableView>
#include <QTemporaryDir>
#include <QTest>

using namespace retro;
using namespace retro::views;

namespace
{

double sumOfBooks(const LedgerBooks& books)
{
    double sum = 0;
    for (const LedgerLine& line : books.lines) {
        const bool isAdded =
            line.kind == LedgerKind::Started || line.kind == LedgerKind::Cause || line.kind == LedgerKind::Others;
        sum += isAdded ? line.amount : -line.amount;
    }
    return sum;
}

/// The same run for a score of the other sign.
std::shared_ptr<const trace::Run> mirror(const trace::Run& run)
{
    auto mirrored = std::make_shared<trace::Run>(run);
    for (auto& handle : mirrored->handles) {
        handle.sum = -handle.sum;
    }
    for (event::LedgerEntry& entry : mirrored->ledger) {
        entry.arrived = -entry.arrived;
        entry.handedOn = -entry.handedOn;
        for (double& cause : entry.causes) {
            cause = -cause;
        }
    }
    if (const auto found = mirrored->facts.numbers.find("relevance_start"); found != mirrored->facts.numbers.end()) {
        found->second = -found->second;
    }
    return mirrored;
}

} // namespace

class LedgerViewTest : public QObject
{
    Q_OBJECT

private slots:
    void initTestCase() { tests::installLook(); }

    void booksAddUpAtEveryVisit()
    {
        tests::TinyContext context;
        for (std::uint32_t visit = 0; visit < tests::kTinyVisits; ++visit) {
            context.cursor.moveTo(tests::endOfVisit(context.model, visit));
            const LedgerBooks books = ledgerBooks(context.model);
            QVERIFY(!books.isEmpty());
            QVERIFY(std::abs(sumOfBooks(books)) < 1e-12);
        }
    }

    void everyNodeHasAName()
    {
        tests::TinyContext context;
        for (const LedgerGrouping grouping : {LedgerGrouping::Node, LedgerGrouping::Operator, LedgerGrouping::Rule}) {
            QStringList names;
            for (const LedgerRow& row : ledgerRows(context.model.run(), grouping, std::nullopt)) {
                QVERIFY2(!names.contains(row.name), qPrintable(row.name));
                names.append(row.name);
            }
        }
    }

    /// 1280 × 800 with large text: names are read in full, with bars; the scores give way.
    void aNarrowWaterfallKeepsItsNames()
    {
        tests::TinyContext context;
        const LedgerBooks books = ledgerBooks(context.model);
        const WaterfallLayout wide = layoutWaterfall(books, QRectF(0, 0, 440, 0));
        QVERIFY(wide.scoreTitle.width() > 0);
        const WaterfallLayout narrow = layoutWaterfall(books, QRectF(0, 0, 250, 0));
        QCOMPARE(narrow.scoreTitle.width(), 0.0);
        for (std::size_t i = 0; i < books.lines.size(); ++i) {
            const double name = fonts::widthOf(fonts::label(QFont::DemiBold), books.lines[i].name);
            QVERIFY2(narrow.rows[i].name.width() >= name, qPrintable(books.lines[i].name));
        }
        QVERIFY(narrow.track.width() >= 40);
        QVERIFY(narrow.track.right() < narrow.percentTitle.left());
        // That the axis is cut stands beside the last name, where the track has no room for it.
        const double said = fonts::widthOf(fonts::small(), QStringLiteral("from 100 %"));
        const double lastName = fonts::widthOf(fonts::label(), books.lines.back().name);
        const WaterfallLayout least = layoutWaterfall(books, QRectF(0, 0, 205, 0));
        QVERIFY(least.track.width() < said && least.note.width() >= said);
        QVERIFY(least.note.left() >= lastName && least.note.right() == least.track.right());
    }

    void theEndHasItsLines()
    {
        tests::TinyContext context;
        const LedgerBooks books = ledgerBooks(context.model);
        QStringList names;
        for (const LedgerLine& line : books.lines) {
            names.append(line.name);
        }
        QCOMPARE(names, (QStringList{QStringLiteral("Started at mug"), QStringLiteral("Absorbed by bias"),
                                     QStringLiteral("By stabiliser"), QStringLiteral("Reached the input"),
                                     QStringLiteral("Unexplained")}));
        QCOMPARE(books.lines[0].share, 1.0);
        QVERIFY(std::abs(books.lines[1].amount + 0.24) < 1e-9);
        QVERIFY(std::abs(books.lines[3].amount - 8.14) < 1e-4);
        QVERIFY(std::abs(books.unexplained) < 1e-4);
        QVERIFY(
            booksSentence(books).startsWith(QStringLiteral("100.0 % started, 96.7 % reached the input, 2.9 % bias")));
    }

    void aNegativeScoreLosesToo()
    {
        tests::ViewContext context;
        views::RunHandle mirrored = tests::makeTinyRun();
        mirrored.run = mirror(*mirrored.run);
        context.model.setRun(mirrored, tests::makeTinyInput());
        const LedgerBooks books = ledgerBooks(context.model);
        QCOMPARE(books.lines[1].name, QStringLiteral("Absorbed by bias"));
        QVERIFY(std::abs(books.lines[1].amount - 0.24) < 1e-9);
        QVERIFY(books.lines[1].share < 0);
    }

    void theCurveSaysAtEveryVisitWhatTheBooksSay()
    {
        tests::TinyContext context;
        const LedgerCurve curve(context.model.run());
        QCOMPARE(curve.visitCount(), tests::kTinyVisits);
        QCOMPARE(curve.onItsWay(0), curve.started()); // nothing has happened
        for (std::uint32_t visit = 0; visit < tests::kTinyVisits; ++visit) {
            context.cursor.moveTo(tests::endOfVisit(context.model, visit));
            const LedgerBooks books = ledgerBooks(context.model);
            const std::uint32_t done = visit + 1;
            QVERIFY(std::abs(curve.arrived(done) - books.reached) < 1e-12);
            double absorbed = 0;
            double onItsWay = 0;
            for (const LedgerLine& line : books.lines) {
                absorbed -= line.kind == LedgerKind::Cause || line.kind == LedgerKind::Others ? line.amount : 0;
                onItsWay += line.kind == LedgerKind::OnItsWay ? line.amount : 0;
            }
            QVERIFY(std::abs(curve.absorbed(done) - absorbed) < 1e-12);
            // At the end nothing is on its way: what is left is rounding, which the books call unexplained.
            QVERIFY(std::abs(curve.onItsWay(done) - onItsWay) < (books.isFinished ? 1e-4 : 1e-12));
        }
        QVERIFY(LedgerCurve(trace::Run()).isEmpty());
    }

    void booksOfAPartAddUpAndMeetTheirNeighbours()
    {
        tests::TinyContext context;
        const trace::Run& run = context.model.run();
        const LedgerCurve curve(run);
        const auto lineOf = [](const LedgerBooks& books, LedgerKind kind) {
            double amount = 0;
            for (const LedgerLine& line : books.lines) {
                amount += line.kind == kind ? line.amount : 0;
            }
            return amount;
        };
        for (std::uint32_t first = 0; first < tests::kTinyVisits; ++first) {
            for (std::uint32_t last = first; last < tests::kTinyVisits; ++last) {
                const LedgerBooks books = ledgerBooks(run, curve, {first, last});
                QVERIFY(std::abs(sumOfBooks(books)) < 1e-12);
                const bool isEnd = last + 1 == tests::kTinyVisits;
                if (!isEnd) {
                    const LedgerBooks next = ledgerBooks(run, curve, {last + 1, last + 1});
                    QVERIFY(std::abs(lineOf(books, LedgerKind::OnItsWay) - lineOf(next, LedgerKind::Started)) < 1e-12);
                }
            }
        }
        const LedgerBooks first = ledgerBooks(run, curve, {0, 0}); // fc: 0.14 of 8.42 to its bias
        QCOMPARE(first.lines.size(), std::size_t{5});
        QCOMPARE(first.lines[0].name, QStringLiteral("Started"));
        QVERIFY(std::abs(first.lines[1].amount + 0.14) < 1e-9);
        QVERIFY(booksSentence(first).startsWith(QStringLiteral("In visit 1: 100.0 % before, 1.7 % bias, ")));
        QVERIFY(ledgerBooks(run, curve, {99, 100}).isEmpty());
    }

    void aRangeOfTheTimelineIsThatOfTheLedger()
    {
        tests::TinyContext context;
        TimeRange range;
        LedgerView view(context.model, context.cursor, context.selection);
        view.setDetailed(true);
        view.followRange(range);
        tests::showAt(view, 520, 260);
        auto* chip = view.findChild<RangeChip*>();
        QVERIFY(!chip->isVisible());
        view.showTable(true);
        const int all = view.table().items().rowCount();
        range.set(0, 1); // fc and flatten
        view.flush();
        QVERIFY(chip->isVisible());
        QCOMPARE(view.table().items().rowCount(), 2);
        view.showPage(LedgerView::Page::Curve);
        view.flush();
        QCOMPARE(view.curve().figure().end(), 2U);
        QCOMPARE(view.books().part, QStringLiteral("visits 1 – 2"));
        for (const ThemeKind kind : {ThemeKind::Light, ThemeKind::Dark}) {
            view.showPage(LedgerView::Page::Waterfall);
            (void)tests::grab(view, {520, 260}, kind, QStringLiteral("ledger-range"));
        }
        ThemeHub::instance().setChoice(ThemeChoice::Light);
        QTest::mouseClick(chip, Qt::LeftButton);
        view.showTable(true);
        view.flush();
        QCOMPARE(view.table().items().rowCount(), all);
        QVERIFY(view.books().part.isEmpty());
    }

    void theCurveMovesTheCursor()
    {
        tests::TinyContext context;
        LedgerView view(context.model, context.cursor, context.selection);
        view.setDetailed(true);
        view.restoreState("curve");
        QCOMPARE(view.saveState(), QByteArray("curve"));
        tests::showAt(view, 520, 260);
        CurvePane& pane = view.curve();
        QTRY_VERIFY(pane.width() > 400);
        const QRectF chart = curveChart(pane.rect());
        const double x = chart.left() + chart.width() * 3.5 / tests::kTinyVisits;
        QTest::mouseClick(&pane, Qt::LeftButton, {}, QPointF(x, chart.center().y()).toPoint());
        QCOMPARE(context.cursor.position(), tests::endOfVisit(context.model, 3));
        view.flush();
        QTest::keyClick(&pane, Qt::Key_Right);
        QCOMPARE(context.cursor.position(), tests::endOfVisit(context.model, 4));
        view.flush();
        QTest::keyClick(&pane, Qt::Key_Left);
        QCOMPARE(context.cursor.position(), tests::endOfVisit(context.model, 3));
        view.flush();
        QVERIFY(pane.accessibleDescription().startsWith(QStringLiteral("Visit 4: 0.0 % arrived, 98.1 % on its way, ")));
        context.cursor.moveTo(tests::endOfVisit(context.model, 7));
        for (const ThemeKind kind : {ThemeKind::Light, ThemeKind::Dark}) {
            const QImage image = tests::grab(view, {520, 260}, kind, QStringLiteral("ledger-curve"));
            QVERIFY(tests::hasColor(image, Theme::of(kind)[Role::Strong]));
            QVERIFY(tests::hasColor(image, Theme::of(kind)[Role::SearchTint]));
        }
        ThemeHub::instance().setChoice(ThemeChoice::Light);
        const QTemporaryDir folder;
        QFile file(folder.filePath(QStringLiteral("curve.csv")));
        QVERIFY(view.exportTo(file.fileName().toStdString()).ok());
        QVERIFY(file.open(QIODevice::ReadOnly));
        QCOMPARE(file.readAll().count('\n'), static_cast<int>(tests::kTinyVisits) + 1);
        QVERIFY(view.exportTo(folder.filePath(QStringLiteral("curve.svg")).toStdString()).ok());
    }

    void theMiddleSaysWhatIsOnItsWay()
    {
        tests::TinyContext context;
        context.cursor.moveTo(tests::endOfVisit(context.model, 2));
        const LedgerBooks books = ledgerBooks(context.model);
        QCOMPARE(books.reached, 0.0);
        QVERIFY(std::abs(books.unexplained) < 1e-9);
        const auto onItsWay = std::find_if(books.lines.begin(), books.lines.end(),
                                           [](const LedgerLine& line) { return line.kind == LedgerKind::OnItsWay; });
        QVERIFY(onItsWay != books.lines.end());
        QVERIFY(std::abs(onItsWay->amount - 8.26) < 1e-9);
        context.cursor.moveTo(0);
        QVERIFY(ledgerBooks(context.model).isEmpty());
        LedgerView view(context.model, context.cursor, context.selection);
        view.flush();
        const QList<QLabel*> said = view.findChildren<QLabel*>();
        QVERIFY(std::ranges::any_of(said, [](const QLabel* label) {
            return label->text().startsWith(QStringLiteral("This step is before the first rule of the run."));
        }));
    }

    void axisIsCutWhereItHelps()
    {
        const ShareAxis near = shareAxis(0.979, 1.0);
        QVERIFY(near.isCut());
        QVERIFY(near.low <= 0.979 && near.low > 0.9);
        QCOMPARE(near.high, 1.0);
        const QRectF track(100, 0, 200, 0);
        QCOMPARE(near.x(1.0, track), 300.0);
        QCOMPARE(near.x(0.0, track), 100.0);
        const ShareAxis wide = shareAxis(0.2, 1.0);
        QVERIFY(!wide.isCut());
        QCOMPARE(wide.x(0.5, track), 200.0);
        const ShareAxis more = shareAxis(1.0, 1.277);
        QVERIFY(more.high >= 1.277);
        const ShareAxis huge = shareAxis(0, 12);
        QVERIFY(huge.high >= 12 && huge.high / huge.step <= 6);
        const ShareAxis flat = shareAxis(1.0, 1.0);
        QVERIFY(flat.high > flat.low);
    }

    void axisReachesBelowZero()
    {
        const QRectF track(100, 0, 200, 0);
        for (const auto& [lowest, highest] : {std::pair{-1.29, 1.0}, {-0.02, 1.0}, {-3.0, 12.0}, {-4000.0, 1.0}}) {
            const ShareAxis axis = shareAxis(lowest, highest);
            QVERIFY(axis.low <= lowest && axis.high >= highest);
            QVERIFY((axis.high - axis.low) / axis.step <= 7.001);
            QVERIFY(!axis.isCut());
            QVERIFY(std::abs(std::remainder(axis.low, axis.step)) < 1e-9 * axis.step); // zero is on a line
            QVERIFY(axis.x(lowest, track) < axis.x(0, track) && axis.x(0, track) <= axis.x(highest, track));
        }
    }

    /// A run whose relevance changes its sign on the way: 8.42 started, −3.6 reached the input.
    void barsGoBelowZero()
    {
        tests::TinyContext context;
        LedgerBooks books = ledgerBooks(context.model);
        books.lines[1].amount = -12.02;
        books.lines[1].share = books.lines[1].amount / books.started;
        books.lines[3].amount = books.reached = -3.6;
        books.lines[3].share = books.reached / books.started;
        books.lines[2].amount = books.lines[2].share = 0;
        const QRectF area(10, 4, 420, 0);
        const WaterfallLayout layout = layoutWaterfall(books, area);
        const double zero = layout.axis.x(0, layout.track);
        QVERIFY(layout.axis.low <= books.lines[3].share);
        QCOMPARE(layout.rows[0].bar.left(), zero);
        QVERIFY(layout.rows[1].bar.left() < zero && layout.rows[1].bar.right() > zero);
        QCOMPARE(layout.rows[1].bar.right(), layout.rows[0].bar.right());
        QCOMPARE(layout.rows[3].bar.right(), zero);
        QCOMPARE(layout.rows[3].bar.left(), layout.rows[1].bar.left());
        const auto marked = axisLines(layout);
        const auto at = std::find_if(marked.begin(), marked.end(), [](const AxisLine& line) { return line.isZero; });
        QVERIFY(at != marked.end());
        QCOMPARE(at->x, zero);
        QCOMPARE(at->figure, QStringLiteral("0"));
        for (const ThemeKind kind : {ThemeKind::Light, ThemeKind::Dark}) {
            QImage image(440, static_cast<int>(layout.height) + 8, QImage::Format_RGB32);
            image.fill(Theme::of(kind)[Role::Base]);
            QPainter painter(&image);
            paintWaterfall(painter, books, layout, Theme::of(kind));
            painter.end();
            const QRect line(static_cast<int>(zero), static_cast<int>(layout.titles.bottom()) + 1, 1, 3);
            QVERIFY(tests::hasColor(image.copy(line), Theme::of(kind)[Role::Text3]));
        }
    }

    void axisHasFiguresOnlyWhereTheyFit()
    {
        tests::TinyContext context;
        WaterfallLayout layout = layoutWaterfall(ledgerBooks(context.model), {10, 4, 420, 0});
        for (const auto& [lowest, highest] : {std::pair{0.979, 1.0}, {0.2, 1.0}, {-1.29, 1.0}, {-3.0, 12.0}}) {
            layout.axis = shareAxis(lowest, highest);
            std::size_t most = 0;
            for (double width = 8; width < 700; width += 7) {
                layout.track.setWidth(width);
                const AxisLine* before = nullptr;
                std::size_t figures = 0;
                const auto lines = axisLines(layout);
                for (const AxisLine& line : lines) {
                    if (line.figure.isEmpty()) {
                        continue;
                    }
                    const auto half = [](const AxisLine& of) {
                        return fonts::widthOf(fonts::smallNumbers(), of.figure) / 2;
                    };
                    QVERIFY(before == nullptr || line.x - half(line) > before->x + half(*before));
                    before = &line;
                    ++figures;
                }
                QVERIFY(figures > 0);
                most = std::max(most, figures);
            }
            const ShareAxis& axis = layout.axis;
            QCOMPARE(most, static_cast<std::size_t>(std::lround((axis.high - axis.low) / axis.step)) + 1);
        }
    }

    void aGradientHasNoBooks()
    {
        tests::ViewContext context;
        context.model.setRun(tests::makeTinyGradientRun(), tests::makeTinyInput());
        LedgerView view(context.model, context.cursor, context.selection);
        view.setDetailed(true);
        tests::showAt(view, 520, 260);
        QVERIFY(view.books().isEmpty());
        QVERIFY(view.hint().startsWith(QStringLiteral("A gradient is not conserved")));
        const QTemporaryDir folder;
        const std::string path = folder.filePath(QStringLiteral("l.csv")).toStdString();
        QVERIFY(!view.exportTo(folder.filePath(QStringLiteral("l.png")).toStdString()).ok());
        QVERIFY(view.table().isVisible()); // in the place of the waterfall
        for (const ThemeKind kind : {ThemeKind::Light, ThemeKind::Dark}) {
            (void)tests::grab(view, {520, 260}, kind, QStringLiteral("ledger-gradient"));
        }
        ThemeHub::instance().setChoice(ThemeChoice::Light);
        view.showPage(LedgerView::Page::Curve);
        QVERIFY(!view.curve().isVisible());
        view.showPage(LedgerView::Page::Table); // what arrived at each node is there
        view.flush();
        QVERIFY(view.table().isVisible());
        QVERIFY(view.table().items().rowCount() > 0);
        QVERIFY(view.exportTo(path).ok());
        context.showTinyRun(); // relevance again
        view.showPage(LedgerView::Page::Waterfall);
        view.flush();
        QVERIFY(!view.books().isEmpty());
        QCOMPARE(view.saveState(), QByteArray("waterfall"));
    }

    void rowsAreAligned()
    {
        tests::TinyContext context;
        const LedgerBooks books = ledgerBooks(context.model);
        const QRectF area(10, 4, 420, 0);
        const WaterfallLayout layout = layoutWaterfall(books, area);
        QCOMPARE(layout.rows.size(), books.lines.size());
        double y = layout.titles.bottom();
        for (const WaterfallRow& row : layout.rows) {
            QVERIFY(row.row.top() >= y);
            QCOMPARE(row.score.right(), area.right());
            QVERIFY(row.percent.right() < row.score.left());
            QVERIFY(row.name.right() < layout.track.left());
            QVERIFY(layout.track.right() < row.percent.left());
            y = row.row.bottom();
        }
        // A cause begins where the line before ended.
        QCOMPARE(layout.rows[1].bar.right(), layout.rows[0].bar.right());
        QVERIFY(std::abs(layout.rows[2].bar.right() - layout.rows[1].bar.left()) <= 1.5);
    }

    void exports()
    {
        tests::TinyContext context;
        LedgerView view(context.model, context.cursor, context.selection);
        view.flush();
        const QTemporaryDir folder;
        for (const QString& format : QStringLiteral("csv png svg pdf").split(QLatin1Char(' '))) {
            QVERIFY(view.exportTo(folder.filePath(QStringLiteral("l.") + format).toStdString()).ok());
        }
        QVERIFY(tests::bytesIn(folder.filePath(QStringLiteral("l.csv")))
                    .startsWith("line,share,amount\nStarted at mug,1,8.42\nAbsorbed by bias,"));
    }

    void looks_data()
    {
        QTest::addColumn<int>("visit");
        QTest::newRow("end") << 9;
        QTest::newRow("middle") << 3;
    }
    void looks()
    {
        QFETCH(int, visit);
        tests::TinyContext context;
        context.cursor.moveTo(tests::endOfVisit(context.model, static_cast<std::uint32_t>(visit)));
        LedgerView view(context.model, context.cursor, context.selection);
        for (const ThemeKind kind : {ThemeKind::Light, ThemeKind::Dark}) {
            const QImage image = tests::grab(view, {430, 180}, kind, QStringLiteral("ledger-%1").arg(visit));
            QVERIFY(tests::hasColor(image, Theme::of(kind)[Role::Ink]));
            QVERIFY(tests::hasColor(image, Theme::of(kind)[Role::SearchTint]));
        }
    }

    void tableListsTheWorstFirst()
    {
        tests::TinyContext context;
        const std::vector<LedgerRow> rows = ledgerRows(context.model.run(), LedgerGrouping::Node);
        QCOMPARE(rows.size(), std::size_t{7});
        QCOMPARE(rows[0].name, QStringLiteral("head/fc")); // 0.14 to its bias
        QCOMPARE(rows[0].largestCause(), std::optional(event::Cause::Bias));
        for (std::size_t i = 1; i < rows.size(); ++i) {
            QVERIFY(rows[i].turnover <= rows[i - 1].turnover);
        }
        double lost = 0;
        for (const LedgerRow& row : rows) {
            lost += row.arrived - row.handedOn;
        }
        for (const LedgerGrouping grouping : {LedgerGrouping::Operator, LedgerGrouping::Rule}) {
            double same = 0;
            std::size_t nodes = 0;
            for (const LedgerRow& row : ledgerRows(context.model.run(), grouping)) {
                same += row.arrived - row.handedOn;
                nodes += row.nodes;
                QVERIFY(!row.node.isValid());
            }
            QVERIFY(std::abs(same - lost) < 1e-9);
            QCOMPARE(nodes, rows.size());
        }
    }

    void tableModelSortsAndDims()
    {
        tests::TinyContext context;
        LedgerTableModel items;
        const QAbstractItemModelTester tester(&items, QAbstractItemModelTester::FailureReportingMode::QtTest);
        items.setRecords(ledgerRows(context.model.run(), LedgerGrouping::Node));
        items.setBooked(1);
        const base::NodeId fc(std::uint32_t{tests::kFc});
        const base::NodeId conv(std::uint32_t{tests::kConv1});
        const auto color = [&](base::NodeId node) {
            return items.index(items.rowOf(node), 0).data(Qt::ForegroundRole).value<QColor>();
        };
        QVERIFY(color(fc) != color(conv));
        items.setBooked(100);
        QCOMPARE(color(fc), color(conv));
        items.sort(LedgerTableModel::ArrivedColumn, Qt::AscendingOrder);
        QCOMPARE(items.at(0).node, base::NodeId(std::uint32_t{tests::kConv2})); // 5.1 arrived there
        items.sort(-1, Qt::AscendingOrder);
        QCOMPARE(items.at(0).node, fc);
    }

    void tableSelectsAndGoes()
    {
        tests::TinyContext context;
        LedgerView view(context.model, context.cursor, context.selection);
        view.setDetailed(true);
        tests::showAt(view, 620, 260);
        view.showTable(true);
        auto* table = view.table().findChild<QTableView*>();
        const std::uint64_t end = context.cursor.position();
        const QModelIndex first = view.table().items().index(0, 0);
        QTest::mouseClick(table->viewport(), Qt::LeftButton, {}, table->visualRect(first).center());
        QCOMPARE(context.selection.node(), std::optional(base::NodeId(std::uint32_t{tests::kFc})));
        QCOMPARE(context.cursor.position(), end);
        QTest::keyClick(table, Qt::Key_Return);
        QCOMPARE(context.model.run().events[context.cursor.position() - 1].kind, event::EventKind::Rule);
        const QTemporaryDir folder;
        const QString path = folder.filePath(QStringLiteral("l.csv"));
        QVERIFY(view.exportTo(path.toStdString()).ok());
        const QList<QByteArray> lines = tests::bytesIn(path).split('\n');
        QCOMPARE(lines.size(), 9);
        QCOMPARE(lines[0].count(','), lines[7].count(','));
        for (const ThemeKind kind : {ThemeKind::Light, ThemeKind::Dark}) {
            const QImage image = tests::grab(view, {620, 260}, kind, QStringLiteral("ledger-table"));
            QVERIFY(tests::hasColor(image, Theme::of(kind)[Role::Header]));
        }
    }
};

QTEST_MAIN(LedgerViewTest)
#include "tst_ledgerview.moc"
