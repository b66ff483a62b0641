// SPDX-License-Identifier: Apache-2.0
#include <QtTest>

#include "tests/views/plansupport/plantools.h"
#include "views/plan/pareto.h"
#include "views/plan/schedulefigure.h"

using namespace retro;
using namespace retro::views;

namespace
{

PlanQuestion question(const PlanSubjectPointer& subject, double share, const char* strategy = kFastStrategy)
{
    PlanQuestion asked;
    asked.strategy = strategy;
    asked.budget = static_cast<std::uint64_t>(share * static_cast<double>(subject->storeAllPeak));
    return asked;
}

char letterOf(const ScheduleMatrix& matrix, std::uint32_t row, std::uint32_t column)
{
    const ScheduleCell* cell = matrix.cellAt(row, column);
    if (cell == nullptr) {
        return matrix.isLive(row, column) ? '-' : ' ';
    }
    return "CRGOP"[static_cast<int>(cell->kind)];
}

/// The matrix as text: C compute, R recompute, G gradient, - in memory.
QStringList textOf(const ScheduleMatrix& matrix)
{
    QStringList lines;
    for (std::uint32_t row = 0; row < matrix.rows().size(); ++row) {
        QString line;
        for (std::uint32_t column = 0; column < matrix.columns().size(); ++column) {
            line += QLatin1Char(letterOf(matrix, row, column));
        }
        lines << line;
    }
    return lines;
}

} // namespace

class ScheduleMatrixTest : public QObject
{
    Q_OBJECT

private slots:
    void storingEverythingIsATriangle()
    {
        const auto subject = tests::chainSubject(4);
        RETRO_MADE(plan, tests::planFor(subject, question(subject, 1, "store_all")));
        // A gradient reads what its operator made; behind it nobody does.
        const QStringList expected{"C------G", " C----G ", "  C--G  ", "   CG   "};
        const QStringList found = textOf(plan->matrix);
        QCOMPARE(found.size(), 4);
        for (int row = 0; row < 4; ++row) {
            QCOMPARE(found[row].count(QLatin1Char('C')), 1);
            QCOMPARE(found[row].count(QLatin1Char('G')), 1);
            QCOMPARE(found[row].indexOf(QLatin1Char('C')), expected[row].indexOf(QLatin1Char('C')));
            QCOMPARE(found[row].indexOf(QLatin1Char('G')), expected[row].indexOf(QLatin1Char('G')));
        }
        QCOMPARE(plan->matrix.firstGradient(), 4U);
        QCOMPARE(plan->matrix.peak(), subject->storeAllPeak);
        QCOMPARE(plan->rebuiltTensors(), std::size_t(0));
        QCOMPARE(plan->matrix.rows()[0].decision, Decision::Keep);
    }

    /// Bands of tensors add up to what the simulator says of every step, and who waits is who is away for a while.
    void memoryIsStackedByTensor()
    {
        const auto subject = tests::chainSubject(24);
        RETRO_MADE(plan, tests::planFor(subject, question(subject, 0.6)));
        const auto columns = plan->matrix.columns();
        QCOMPARE(plan->stack.sums.size(), columns.size());
        std::uint32_t mostWaiting = 0;
        for (std::uint32_t at = 0; at < columns.size(); ++at) {
            QCOMPARE(plan->stack.sums[at], columns[at].bytes);
            std::uint32_t waiting = 0;
            for (std::uint32_t row = 0; row < plan->matrix.rows().size(); ++row) {
                const auto spans = plan->matrix.spansOf(row);
                const bool wasThere = !spans.empty() && spans.front().until <= at;
                const bool comesBack = !spans.empty() && spans.back().from > at;
                waiting += wasThere && comesBack && !plan->matrix.isLive(row, at) ? 1 : 0;
            }
            QCOMPARE(columns[at].waiting, waiting);
            mostWaiting = std::max(mostWaiting, waiting);
        }
        QVERIFY(mostWaiting > 0);
        const auto largest = plan->stack.at(plan->matrix.peakAt());
        QVERIFY(std::ranges::is_sorted(largest, std::greater(), [](const StackBand* band) { return band->bytes; }));
    }

    void whatIsDroppedIsMadeAgain()
    {
        const auto subject = tests::chainSubject(24);
        RETRO_MADE(plan, tests::planFor(subject, question(subject, 0.6)));
        QVERIFY(plan->matrix.peak() <= plan->question.budget);
        QVERIFY(plan->rebuiltTensors() > 0);
        std::size_t again = 0;
        for (const ScheduleColumn& column : plan->matrix.columns()) {
            again += column.cell == CellKind::Recompute ? 1 : 0;
        }
        QCOMPARE(again, plan->run.recomputations);
        for (std::uint32_t row = 0; row < plan->matrix.rows().size(); ++row) {
            const ScheduleRow& one = plan->matrix.rows()[row];
            QCOMPARE(one.decision == Decision::Recompute, one.runs > 1);
            QVERIFY(!plan->reasonOf(row).isEmpty());
            QVERIFY(plan->matrix.isLive(row, one.first));
            QVERIFY(plan->matrix.isLive(row, one.last));
        }
    }

    /// From one turn to the next, forward and back, and each is a step at which what waits is another.
    void turnsAreWhereValuesGoAndComeBack()
    {
        const auto subject = tests::chainSubject(24);
        RETRO_MADE(plan, tests::planFor(subject, question(subject, 0.6)));
        const ScheduleMatrix& matrix = plan->matrix;
        std::vector<std::uint32_t> turns;
        for (auto turn = matrix.nextTurn(0, true); turn; turn = matrix.nextTurn(*turn, true)) {
            QVERIFY(turns.empty() || *turn > turns.back());
            turns.push_back(*turn);
        }
        std::size_t changes = 0; // of how many wait: at least those are turns
        for (std::uint32_t column = 1; column < matrix.columns().size(); ++column) {
            if (matrix.columns()[column].waiting != matrix.columns()[column - 1].waiting) {
                ++changes;
                QVERIFY(std::ranges::find(turns, column) != turns.end());
            }
        }
        QVERIFY(changes > 2);
        const auto end = static_cast<std::uint32_t>(matrix.columns().size());
        std::vector<std::uint32_t> back;
        for (auto turn = matrix.nextTurn(end, false); turn; turn = matrix.nextTurn(*turn, false)) {
            back.insert(back.begin(), *turn);
        }
        QCOMPARE(back, turns);
        const auto all = tests::planFor(subject, question(subject, 1.0));
        QVERIFY(!all->matrix.nextTurn(0, true)); // nothing goes for a while
    }

    /// Every value that the simulator has in memory while a step runs is a live row there, and no other.
    void liveRowsAreTheSimulators()
    {
        const auto subject = tests::chainSubject(16);
        for (const double share : {1.0, 0.7, 0.5}) {
            RETRO_MADE(plan, tests::planFor(subject, question(subject, share)));
            for (std::uint32_t column = 0; column < plan->matrix.columns().size(); ++column) {
                std::uint32_t live = 0;
                for (std::uint32_t row = 0; row < plan->matrix.rows().size(); ++row) {
                    live += plan->matrix.isLive(row, column) ? 1 : 0;
                }
                QCOMPARE(live, plan->matrix.columns()[column].live);
                QVERIFY(live * 1000 <= plan->matrix.columns()[column].bytes);
            }
        }
    }

    void everyRowLiesInTheTree()
    {
        const auto subject = tests::chainSubject(30);
        for (const char* strategy : {"fast", "chen_sqrt", "interval", "revolve"}) {
            const auto plan = tests::planFor(subject, question(subject, 0.8, strategy));
            QVERIFY2(plan != nullptr, strategy);
            QVERIFY2(!plan->tree.boxes.empty(), strategy);
            QCOMPARE(plan->tree.boxes.front().from, 0U);
            QCOMPARE(plan->tree.boxes.front().until, 30U);
            for (std::uint32_t row = 0; row < 30; ++row) {
                QVERIFY2(plan->tree.boxAt(row) > 0, strategy); // in a block, not only in the whole
            }
            for (const TreeBox& box : plan->tree.boxes) {
                QVERIFY(box.from < box.until && box.until <= 30 && box.level <= kMaxTreeLevels);
            }
        }
    }

    void axesZoomWhereThePointerIs()
    {
        ScheduleAxis axis{100, 400, 0, 200, 200};
        QCOMPARE(axis.itemUnder(100), 0U);
        QCOMPARE(axis.itemUnder(499), 199U);
        QCOMPARE(axis.itemUnder(1e6), 199U);
        const double before = axis.itemAt(300);
        axis.zoomAt(300, 4);
        QVERIFY(std::abs(axis.itemAt(300) - before) < 1e-9);
        QCOMPARE(axis.to - axis.from, 50.0);
        axis.zoomAt(300, 1000);
        QCOMPARE(axis.to - axis.from, 4.0);
        axis.reveal(0);
        QCOMPARE(axis.from, 0.0);
        axis.pan(-1e6);
        QCOMPARE(axis.to, 200.0);
        axis.zoomAt(300, 1e-6);
        QVERIFY(axis.isWhole());
        axis.setCount(10);
        QVERIFY(axis.isWhole());
        QCOMPARE(axis.to, 10.0);
    }

    void sharesOfThinRowsSumUp()
    {
        const auto subject = tests::chainSubject(400);
        const auto plan = tests::planFor(subject, question(subject, 1, "store_all"));
        ScheduleAxis columns{0, 100, 0, 1, 1};
        ScheduleAxis rows{0, 40, 0, 1, 1};
        columns.setCount(static_cast<double>(plan->matrix.columns().size()));
        rows.setCount(400);
        const auto share = heldShare(plan->matrix, columns, rows, 100, 40);
        QCOMPARE(share.size(), std::size_t(4000));
        // In the middle, where the gradients begin, everything that was made is held.
        for (std::size_t y = 0; y < 39; ++y) {
            QVERIFY(share[y * 100 + 50] > 0.9F);
        }
        QCOMPARE(share[39 * 100 + 10], 0.0F); // the last tensors are not made yet
        const auto curve = bytesPerPixel(plan->matrix, columns);
        std::uint64_t most = 0;
        for (const BytesAtPixel& pixel : curve) {
            most = std::max(most, pixel.most);
        }
        QCOMPARE(most, plan->matrix.peak()); // no peak is lost between pixels
    }

    void theFrontIsTheBestKnown()
    {
        const std::vector<PlanPoint> points{
            {"a", 100, 10}, {"b", 50, 20}, {"c", 60, 20}, {"d", 50, 30}, {"e", 100, 12}};
        const auto front = paretoFront(points);
        QCOMPARE(front.size(), std::size_t(2));
        QCOMPARE(front[0].planner, std::string("b"));
        QCOMPARE(front[1].planner, std::string("a"));
        ParetoFigure figure;
        figure.points = points;
        figure.points.push_back({"dear", 40, 1000});
        figure.storeAllPeak = 100;
        figure.baseCost = 10;
        const ParetoScale scale = paretoScale(figure, QSizeF(300, 200));
        QCOMPARE(scale.above, std::size_t(2)); // beyond twice the work: they do not flatten the rest
        QVERIFY(QString::fromStdString(paretoCsv(figure)).contains("b,50,20,100,1"));
    }
};

QTEST_MAIN(ScheduleMatrixTest)
#include "tst_schedulematrix.moc"
