// SPDX-License-Identifier: Apache-2.0
#include "core/layout/exchange.h"
#include "core/layout/layout.h"

#include <QFile>
#include <QProcess>
#include <QtTest>

#include <fmt/format.h>

using namespace retro::layout;

namespace
{

/// Chain of `blocks` blocks: split in three, joined again, and a way past them. Every other block is a group.
LayoutInput blocks(Index count)
{
    LayoutInput input;
    Index last = kNone;
    for (Index block = 0; block < count; ++block) {
        const auto first = static_cast<Index>(input.nodeSizes.size());
        for (Index i = 0; i < 5; ++i) {
            input.nodeSizes.push_back({168, 26});
            input.nodeGroups.push_back(block % 2 == 1 ? block / 2 : kNone);
        }
        for (Index i = 1; i <= 3; ++i) {
            input.edges.push_back({first, first + i});
            input.edges.push_back({first + i, first + 4});
        }
        input.edges.push_back({first, first + 4});
        if (last != kNone) {
            input.edges.push_back({last, first});
        }
        last = first + 4;
    }
    input.groupParents.assign(static_cast<std::size_t>(count / 2), kNone);
    return input;
}

struct Outcome
{
    int code = -1;
    std::string output;
    QByteArray errors;
};

QString program() { return QStringLiteral(RETRO_BINARY_DIR "/bin/retrograde-layout"); }

Outcome ask(const std::string& question)
{
    QProcess process;
    process.start(program(), QStringList());
    process.write(QByteArray::fromStdString(question));
    process.closeWriteChannel();
    if (!process.waitForFinished(60'000)) {
        qFatal("retrograde-layout does not end");
    }
    return {process.exitStatus() == QProcess::NormalExit ? process.exitCode() : -1,
            process.readAllStandardOutput().toStdString(), process.readAllStandardError()};
}

} // namespace

class LayoutProgramTest : public QObject
{
    Q_OBJECT

private slots:
    void anEdgeWithoutAnIdIsADash()
    {
        for (const char* question : {"digraph { a -> b }", "digraph { a -> b [id=7]; b -> c; }"}) {
            const Outcome outcome = ask(question);
            QVERIFY2(outcome.code == 0, outcome.errors.constData());
            QVERIFY2(outcome.output.find("\nedge - ") != std::string::npos, outcome.output.c_str());
        }
    }

    void laysOutNodesEdgesAndGroups()
    {
        const LayoutInput input = blocks(6);
        const LayoutOptions options;
        const Outcome outcome = ask(writeQuestion(input, options));
        QCOMPARE(outcome.code, 0);
        QCOMPARE(outcome.errors, QByteArray());
        RETRO_MADE(layout, readAnswer(outcome.output, input));
        QCOMPARE(layout->nodes.size(), input.nodeSizes.size());
        QCOMPARE(layout->layers.size(), std::size_t{18}); // three ranks a block
        for (std::size_t e = 0; e < input.edges.size(); ++e) {
            const Rect& from = layout->nodes[static_cast<std::size_t>(input.edges[e].from)];
            const Rect& to = layout->nodes[static_cast<std::size_t>(input.edges[e].to)];
            QVERIFY(from.bottom() < to.y); // downwards
            QCOMPARE(layout->edge(static_cast<Index>(e)).front(), (Point{from.center().x, from.bottom()}));
            QCOMPARE(layout->edge(static_cast<Index>(e)).back(), (Point{to.center().x, to.y}));
        }
        for (std::size_t node = 0; node < input.nodeSizes.size(); ++node) {
            QVERIFY(layout->bounds.contains(layout->nodes[node]));
            if (const Index group = input.nodeGroups[node]; group != kNone) {
                const Rect& frame = layout->groups[static_cast<std::size_t>(group)];
                QVERIFY(frame.contains(layout->nodes[node]));
                QVERIFY(layout->nodes[node].y - frame.y >= options.groupHeader * 0.9); // room for the title
            }
        }
    }

    void boundsItsMemory()
    {
        QProcess process;
        process.start(program(), QStringList());
        QVERIFY(process.waitForStarted());
        QByteArray limit;
        QTRY_VERIFY_WITH_TIMEOUT((limit = limitOf(process.processId())).contains("1073741824"),
                                 30'000); // set as the first thing it does
        process.closeWriteChannel();
        QVERIFY(process.waitForFinished());
        QVERIFY(process.exitCode() != 0); // an empty input is no graph
        QCOMPARE(process.readAllStandardError(), QByteArray("retrograde-layout: the input is no graph\n"));
    }

    void refusesWhatIsNoGraph()
    {
        const Outcome outcome = ask("this is { no graph");
        QVERIFY(outcome.code != 0);
        QVERIFY(!outcome.errors.isEmpty());
        QVERIFY(outcome.output.empty());
    }

private:
    static QByteArray limitOf(qint64 process)
    {
        QFile file(QStringLiteral("/proc/%1/limits").arg(process));
        const QByteArray text = file.open(QIODevice::ReadOnly) ? file.readAll() : QByteArray();
        const qsizetype at = text.indexOf("Max address space");
        return at < 0 ? QByteArray() : text.mid(at, text.indexOf('\n', at) - at);
    }
};

QTEST_GUILESS_MAIN(LayoutProgramTest)
#include "layoutprogramtest.moc"
