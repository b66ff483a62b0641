// SPDX-License-Identifier: Apache-2.0
// Charts of findings: few numbers that keep what the finding is about.
#include "core/diagnosis/chart.h"
#include "core/diagnosis/diagnosis.h"

#include <QtTest>

#include <limits>
#include <numeric>

using namespace retro::diagnosis;

class ChartTest : public QObject
{
    Q_OBJECT

private slots:
    void manyBarsBecomeFewAndKeepWhatIsMarked()
    {
        std::vector<double> sizes(480, 1);
        sizes[7] = 900;
        sizes[200] = 0.25;
        const Chart chart = barsOf("sizes", sizes, {200});
        QCOMPARE(chart.amounts.size(), std::size_t{48});
        QCOMPARE(chart.amounts[0], 900.0);
        QCOMPARE(chart.amounts[20], 0.25); // not the largest of its stretch, but what the finding is about
        QCOMPARE(chart.marked, std::vector<std::size_t>{20});
        QCOMPARE(barsOf("few", {3, -4}, {}).amounts, (std::vector<double>{3, -4}));
        QVERIFY(barsOf("none", {}, {}).kind == ChartKind::None);
        QVERIFY(logarithmicBarsOf("log", {1, 100}, {}).isLogarithmic);
    }

    void numbersThatAreNoneCountNothing()
    {
        const double nan = std::numeric_limits<double>::quiet_NaN();
        const double infinite = std::numeric_limits<double>::infinity();
        QCOMPARE(barsOf("sizes", {1, nan, infinite}, {}).amounts, (std::vector<double>{1, 0, 0}));
        QVERIFY(histogramOf("none", {nan, infinite}, {}, {0, 1}).kind == ChartKind::None);
        const Chart chart = histogramOf("some", {nan, 1, 2}, {}, {0, 3});
        QCOMPARE(std::accumulate(chart.amounts.begin(), chart.amounts.end(), 0.0), 2.0);
    }

    void aHistogramMarksWhatLiesBeyond()
    {
        std::vector<double> numbers;
        for (int i = 0; i < 400; ++i) {
            numbers.push_back(-1 + 0.01 * i + 0.005); // evenly in −1 … 3
        }
        constexpr double kNoEnd = std::numeric_limits<double>::infinity();
        const Chart chart = histogramOf("numbers", numbers, {-1, 0, 3}, {0, kNoEnd});
        QCOMPARE(std::accumulate(chart.amounts.begin(), chart.amounts.end(), 0.0), 400.0);
        std::vector<std::size_t> below(10);
        std::iota(below.begin(), below.end(), 0);
        QCOMPARE(chart.marked, below);
        // From the least number, −0.995, to the largest: the tenth ends at 0.0025, so not all of it is below.
        below.pop_back();
        QCOMPARE(histogramOf("numbers", numbers, {0}, {0, kNoEnd}).marked, below);
        const Chart flat = histogramOf("one number", {5, 5}, {}, {0, 9});
        QVERIFY(flat.low < 5 && flat.high > 5 && flat.marked.empty());
        const double most = std::numeric_limits<double>::max();
        const Chart wide = histogramOf("widest", {-most, most}, {}, {-most, most});
        QCOMPARE(wide.amounts.front() + wide.amounts.back(), 2.0);
    }

    void aMapOfManyCellsHasMeans()
    {
        std::vector<double> cells(64 * 64, 2);
        const Chart chart = mapOf("cells", cells, 64, true);
        QCOMPARE(chart.columns, std::size_t{32});
        QCOMPARE(chart.amounts, std::vector<double>(32 * 32, 2));
        QCOMPARE(chart.marked.size(), std::size_t{32 * 31 / 2});
        QCOMPARE(chart.marked.front(), std::size_t{1});
        QVERIFY(mapOf("none", {}, 0, false).kind == ChartKind::None);
    }

    void chartsAreWritten()
    {
        Finding finding;
        finding.id = "forward.dead";
        finding.chart = histogramOf("reads", {-1, 1}, {0}, {0, 2});
        Finding other;
        other.id = "diff.rule";
        other.chart = rowsOf("rule", {{"here", "gamma"}, {"reference", "z-plus"}});
        const auto written = findingsJson({finding, other, Finding()});
        QCOMPARE(written[0]["chart"]["kind"].get<std::string>(), std::string("histogram"));
        QCOMPARE(written[0]["chart"]["counts"].size(), std::size_t{40});
        QCOMPARE(written[0]["chart"]["limits"][0].get<double>(), 0.0);
        QCOMPARE(written[1]["chart"]["rows"][1][1].get<std::string>(), std::string("z-plus"));
        QVERIFY(written[2]["chart"].is_null());
    }
};

QTEST_GUILESS_MAIN(ChartTest)
#include "charttest.moc"
