// SPDX-License-Identifier: Apache-2.0
#include "core/base/log.h"

#include <QtTest>

#include <thread>
#include <vector>

using namespace retro::base;

class LogTest : public QObject
{
    Q_OBJECT

    struct Line
    {
        std::string category;
        LogLevel level;
        std::string text;
    };
    std::vector<Line> m_lines;

private slots:
    void init()
    {
        m_lines.clear();
        setLogSink([this](std::string_view category, LogLevel level, const std::string& text) {
            m_lines.push_back({std::string(category), level, text});
        });
    }

    void cleanup() { setLogSink({}); }

    void aLineReachesTheSink()
    {
        log(logcategory::kModel, LogLevel::Info, "a\x1b[31m line");
        log(logcategory::kFiles, outputError("the disk is full", "a.png"));
        QCOMPARE(m_lines.size(), std::size_t{2});
        QCOMPARE(m_lines[0].category, std::string("retrograde.model"));
        QVERIFY(m_lines[0].level == LogLevel::Info);
        QCOMPARE(m_lines[0].text, std::string("a\\x1b[31m line"));
        QVERIFY(m_lines[1].level == LogLevel::Warning);
        QCOMPARE(m_lines[1].text, std::string("a.png: the disk is full"));
    }

    void whatWasStoppedIsNoError()
    {
        log(logcategory::kEngine, Error{ErrorCode::Cancelled, "stopped", ""});
        QVERIFY(m_lines.empty());
    }

    void withoutASinkNothingIsKept()
    {
        setLogSink({});
        log(logcategory::kModel, LogLevel::Error, "lost");
        QVERIFY(m_lines.empty());
    }

    void threadsTakeTurns()
    {
        std::vector<std::jthread> threads;
        for (int t = 0; t < 4; ++t) {
            threads.emplace_back([] {
                for (int i = 0; i < 500; ++i) {
                    log(logcategory::kEngine, LogLevel::Info, "step");
                }
            });
        }
        threads.clear();
        QCOMPARE(m_lines.size(), std::size_t{2000});
    }
};

QTEST_GUILESS_MAIN(LogTest)
#include "logtest.moc"
