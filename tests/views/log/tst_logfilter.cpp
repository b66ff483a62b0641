// SPDX-License-Identifier: Apache-2.0
#include <QtTest>

#include "tests/views/support/tinyrun.h"
#include "views/log/logfilter.h"

using namespace retro;
using namespace retro::views;

namespace
{

/// Kinds of the events that a filter lets through, with counts: "land 9 take 8".
QString kinds(const trace::Run& run, const QString& text)
{
    const auto filter = LogFilter::parse(text);
    if (!filter) {
        return QStringLiteral("refused");
    }
    std::map<std::string, int> counts;
    for (const std::uint32_t step : filter->rows(run)) {
        ++counts[std::string(event::nameOf(run.events[step].kind))];
    }
    QStringList words;
    for (const auto& [kind, count] : counts) {
        words.append(QStringLiteral("%1 %2").arg(QString::fromStdString(kind)).arg(count));
    }
    return words.join(QLatin1Char(' '));
}

std::size_t count(const trace::Run& run, const QString& text) { return LogFilter::parse(text)->rows(run).size(); }

} // namespace

class LogFilterTest : public QObject
{
    Q_OBJECT

private slots:
    void termsSelectEvents()
    {
        const RunHandle handle = tests::makeTinyRun();
        const trace::Run& run = *handle.run;
        QCOMPARE(count(run, {}), run.events.size());
        QCOMPARE(kinds(run, "kind:visit"), QStringLiteral("visit 10"));
        QCOMPARE(kinds(run, "kind:visit mode:search"), QStringLiteral("visit 1"));
        QCOMPARE(kinds(run, "kind:visit mode:f"), QStringLiteral("visit 1"));
        QCOMPARE(kinds(run, "kind:visit mode:t,f"), QStringLiteral("visit 2"));
        QCOMPARE(kinds(run, "kind:visit -mode:n"), QStringLiteral("visit 2"));
        QCOMPARE(kinds(run, "kind:visit op:Conv"), QStringLiteral("visit 3"));
        QCOMPARE(kinds(run, "kind:visit node:/^block1.*2$/"), QStringLiteral("visit 2"));
        QCOMPARE(kinds(run, "kind:visit node:/conv/"), QStringLiteral("visit 3"));
        QCOMPARE(kinds(run, "kind:visit visit:2..4"), QStringLiteral("visit 3"));
        QCOMPARE(kinds(run, "kind:visit visit>8"), QStringLiteral("visit 2"));
        QCOMPARE(kinds(run, "kind:complete promise:P1"), QStringLiteral("complete 1"));
        QCOMPARE(kinds(run, "event:1..3"), kinds(run, "event<4"));
        QCOMPARE(count(run, "event:1..3"), std::size_t{3});
        QCOMPARE(count(run, "complete"), std::size_t{2});
    }

    void termsAndTheirOppositesShareTheRun()
    {
        const RunHandle handle = tests::makeTinyRun();
        for (const char* term :
             {"mode:normal", "kind:land,take", "node:conv", "op:relu", "promise:0", "visit<=3", "bytes>1k", "relu"}) {
            const QString text = QString::fromLatin1(term);
            QCOMPARE(count(*handle.run, text) + count(*handle.run, QLatin1Char('-') + text), handle.run->events.size());
            QVERIFY2(count(*handle.run, text) > 0, term);
            QVERIFY2(count(*handle.run, text) < handle.run->events.size(), term);
        }
    }

    void bytesKnowUnits()
    {
        const RunHandle handle = tests::makeTinyRun();
        QCOMPARE(count(*handle.run, "bytes>1k"), count(*handle.run, "bytes>1024"));
        QCOMPARE(count(*handle.run, "bytes>1G"), std::size_t{0});
    }

    void unclearTermsAreNamed()
    {
        for (const char* text : {"colour:red", "visit:many", "node:", "node:/(/", "bytes>big", "visit:1.."}) {
            const auto filter = LogFilter::parse(QString::fromLatin1(text));
            QVERIFY2(!filter.ok(), text);
            QVERIFY2(filter.error().message.find(text) != std::string::npos, filter.error().message.c_str());
        }
    }

    void stoppedFilterFindsNothing()
    {
        const RunHandle handle = tests::makeTinyRun();
        std::stop_source stop;
        stop.request_stop();
        QVERIFY(LogFilter::parse("kind:visit")->rows(*handle.run, stop.get_token()).empty());
    }
};

QTEST_GUILESS_MAIN(LogFilterTest)
#include "tst_logfilter.moc"
