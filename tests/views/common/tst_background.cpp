// SPDX-License-Identifier: Apache-2.0
// Work beside the window's thread leaves the painting alone.
#include "views/common/jobrunner.h"
#include "views/common/paint/background.h"

#include <QImage>
#include <QLinearGradient>
#include <QPainter>
#include <QSemaphore>
#include <QTest>
#include <QThread>

#include <atomic>
#include <memory>
#include <new>
#include <vector>

using namespace retro::views;

namespace
{

constexpr int kPatience = 10'000; // milliseconds after which a job gives up waiting

/// Large and translucent: Qt then shares the work among threads of its own pool and waits for them.
void paintSomethingLarge()
{
    QImage image(1600, 1600, QImage::Format_ARGB32_Premultiplied);
    image.fill(Qt::transparent);
    QPainter painter(&image);
    QLinearGradient gradient(0, 0, 1600, 1600);
    gradient.setColorAt(0, QColor(0, 0, 0, 40));
    gradient.setColorAt(1, QColor(255, 255, 255, 90));
    painter.fillRect(image.rect(), gradient);
}

} // namespace

class BackgroundTest : public QObject
{
    Q_OBJECT

private slots:
    static void paintingWaitsForNoJob()
    {
        QSemaphore painted;
        std::atomic<int> begun = 0;
        std::atomic<int> gaveUp = 0;
        const int threads = qMax(backgroundPool().maxThreadCount(), QThread::idealThreadCount());
        std::vector<std::unique_ptr<JobRunner>> runners;
        for (int i = 0; i < threads; ++i) {
            runners.push_back(std::make_unique<JobRunner>());
            runners.back()->start([&](const std::stop_token&) -> JobRunner::Delivery {
                ++begun;
                gaveUp += painted.tryAcquire(1, kPatience) ? 0 : 1;
                return {};
            });
        }
        QTRY_COMPARE(begun.load(), backgroundPool().maxThreadCount());
        paintSomethingLarge();
        painted.release(threads);
        QVERIFY(backgroundPool().waitForDone());
        QCOMPARE(gaveUp.load(), 0);
    }

    static void aJobThatThrowsIsToldAndEnds()
    {
        QStringList told;
        const auto connection =
            QObject::connect(&BackgroundFailures::instance(), &BackgroundFailures::failed, QCoreApplication::instance(),
                             [&told](const QString& what, const QString& remedy) { told << what << remedy; });
        JobRunner runner;
        runner.start([](const std::stop_token&) -> JobRunner::Delivery { throw std::bad_alloc(); });
        QVERIFY(runner.isRunning());
        QTRY_VERIFY(!runner.isRunning());
        QTRY_COMPARE(told.size(), 2);
        QVERIFY2(told[0].contains("no memory is left"), qPrintable(told[0]));
        QVERIFY2(told[1].contains("Allow more memory"), qPrintable(told[1]));
        bool isDelivered = false;
        runner.start([&](const std::stop_token&) -> JobRunner::Delivery { return [&] { isDelivered = true; }; });
        QTRY_VERIFY(isDelivered); // the threads are still there
        QObject::disconnect(connection);
    }
};

QTEST_MAIN(BackgroundTest)
#include "tst_background.moc"
