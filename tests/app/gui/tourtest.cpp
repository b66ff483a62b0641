// SPDX-License-Identifier: Apache-2.0
// The tour as a person walks it, ending with the tag covered by mouse.
#include <QtTest>

#include "app/gui/controllers/wherecontroller.h"
#include "app/gui/window/callout.h"
#include "app/gui/window/mainwindow.h"
#include "app/gui/window/tour.h"
#include "app/gui/window/tourhost.h"
#include "app/gui/window/workspace.h"
#include "core/trace/motion.h"
#include "tests/app/gui/settles.h"
#include "views/common/paint/motion.h"
#include "views/common/paint/style.h"
#include "views/history/historyview.h"
#include "views/input/inputpane.h"
#include "views/input/inputview.h"

#include <QLineEdit>
#include <QPushButton>

using namespace retro;
using tests::kPatience;

namespace
{

QPushButton* button(const app::Tour& tour, const QString& text)
{
    for (QPushButton* candidate : tour.callOut().findChildren<QPushButton*>()) {
        if (candidate->text() == text && !candidate->isHidden()) {
            return candidate;
        }
    }
    return nullptr;
}

void click(const app::Tour& tour, const QString& text)
{
    QPushButton* found = button(tour, text);
    QVERIFY2(found != nullptr, qPrintable(text));
    QTest::mouseClick(found, Qt::LeftButton);
}

/// Saves what is on screen when pictures are wanted: to be looked at, not compared.
void keepPicture(app::MainWindow& window, const QString& name)
{
    const QString folder = qEnvironmentVariable("RETRO_PICTURES");
    if (!folder.isEmpty()) {
        window.flush();
        QVERIFY(window.grab().save(folder + QLatin1Char('/') + name + QStringLiteral(".png")));
    }
}

void beginTour(app::MainWindow& window)
{
    window.resize(1600, 1000);
    window.show();
    window.actions().at(QStringLiteral("help.tour")).trigger();
    QVERIFY(QTest::qWaitFor([&] { return window.tours().tour().isRunning(); }, kPatience));
}

/// The film of the sample begins, and only the test moves its time.
void beginFilm(app::MainWindow& window)
{
    window.resize(1600, 1000);
    window.show();
    window.open({});
    QVERIFY(QTest::qWaitFor([&] { return !window.isBusy(); }, kPatience));
    window.tours().play().setDriven(true);
    window.tours().playFilm(true);
    QVERIFY(window.tours().play().isRunning() && window.tours().isFilm());
}

void clickFilmButton(const app::MainWindow& window, const QString& text)
{
    for (QPushButton* candidate : window.tours().filmWords().findChildren<QPushButton*>()) {
        if (candidate->text() == text && candidate->isVisible()) {
            return QTest::mouseClick(candidate, Qt::LeftButton);
        }
    }
    QFAIL(qPrintable(text));
}

/// A key as a person presses it: the widget has the focus.
void press(QWidget& widget, Qt::Key key)
{
    widget.setFocus();
    QTest::keyClick(&widget, key);
}

/// Drags the brush over the tag, row by row.
void coverTagByMouse(app::MainWindow& window)
{
    auto* pane = window.findChild<views::InputPane*>();
    const QRect tag = *window.model().input().tagBox;
    const auto at = [&](int x, int y) {
        const views::InputLayout layout = pane->layoutNow();
        return (layout.picture.topLeft() + QPointF(x + 0.5, y + 0.5) * layout.pixel).toPoint();
    };
    QTest::mousePress(pane, Qt::LeftButton, {}, at(tag.left(), tag.top()));
    for (int y = tag.top(); y <= tag.bottom() + 2; y += 3) {
        QTest::mouseMove(pane, at(tag.left(), y));
        QTest::mouseMove(pane, at(tag.right() + 1, y));
    }
    QTest::mouseRelease(pane, Qt::LeftButton, {}, at(tag.right(), tag.bottom()));
}

} // namespace

class TourTest : public QObject
{
    Q_OBJECT
private slots:
    /// Twelve seconds for all visits, and time to read at the first search and the first fulfilment.
    void theScoreIsAFunctionOfTheRun()
    {
        app::MainWindow window;
        window.open({});
        QVERIFY(QTest::qWaitFor([&] { return !window.isBusy(); }, kPatience));
        const trace::Run& run = window.model().run();
        const trace::Motion motion(run);
        const app::SelfPlayScore score(run, motion.pace());
        using Score = app::SelfPlayScore;
        QVERIFY(std::abs(score.length() - Score::kLength - 2 * Score::kCaption) < 1);
        QCOMPARE(score.visitsAt(0), 0.0);
        QVERIFY(std::abs(score.visitsAt(score.length()) - motion.pace().length()) < 1e-9);
        double last = -1;
        for (double time = 0; time <= score.length(); time += 50) {
            QVERIFY(score.visitsAt(time) > last);
            last = score.visitsAt(time);
        }
        QList<event::Mode> slow;
        for (const Score::Part& part : score.parts()) {
            if (part.mode != event::Mode::None) {
                slow.append(part.mode);
                QCOMPARE(part.length, Score::kCaption);
                QVERIFY(std::abs(part.toVisits - part.fromVisits - 1) < 1e-9);
            }
        }
        QCOMPARE(slow.size(), 2);
        QVERIFY(slow.contains(event::Mode::Search) && slow.contains(event::Mode::Fulfilment));
        QVERIFY(app::SelfPlayScore(trace::Run(), trace::Pace(trace::Run())).parts().empty());
    }

    void nobodyLooksSoNothingMoves()
    {
        app::MainWindow window;
        beginTour(window);
        app::SelfPlay& play = window.tours().play();
        play.begin();
        QVERIFY(!play.isRunning());
        window.tours().playFilm();
        QVERIFY(!play.isRunning() && !window.tours().isFilm());
        QCOMPARE(window.workspace().id(), QStringLiteral("explain"));
        views::setMotionReduced(true);
        QVERIFY(!views::isMotionSeen());
        views::setMotionReduced(false);
    }

    /// Pulses run in Engine, captions say what is seen, and Explain says what it showed; then the tag is covered.
    void theFirstSamplePlaysByItself()
    {
        app::MainWindow window;
        beginFilm(window);
        app::TourHost& host = window.tours();
        app::SelfPlay& play = host.play();
        QCOMPARE(window.workspace().id(), QStringLiteral("engine"));
        QVERIFY(host.filmWords().isVisible());
        QVERIFY(window.rect().contains(host.filmWords().geometry()));
        std::uint64_t last = 0;
        for (const double share : {0.1, 0.3, 0.5, 0.7, 0.9}) {
            play.skipTo(share * play.score().length());
            QVERIFY(play.isRunning());
            QVERIFY(window.cursor().position() > last && window.cursor().position() < window.cursor().end());
            QVERIFY(window.cursor().speed() > 0);
            last = window.cursor().position();
        }
        for (const app::SelfPlayScore::Part& part : play.score().parts()) {
            if (part.mode != event::Mode::None) {
                play.skipTo(part.start + 1);
                QVERIFY(play.caption().contains(window.model().placeLabel(part.node)));
                keepPicture(window, QStringLiteral("film-%1").arg(static_cast<int>(part.mode)));
            }
        }
        play.skipTo(play.score().length());
        QVERIFY(!play.isRunning());
        QCOMPARE(window.cursor().position(), window.cursor().end());
        QCOMPARE(window.cursor().speed(), 0.0);
        QCOMPARE(window.workspace().id(), QStringLiteral("explain"));
        QTRY_VERIFY(host.filmWords().isVisible());
        QVERIFY2(host.filmWords().title().contains(QStringLiteral("says mug")), qPrintable(host.filmWords().title()));
        RETRO_SAYS(host.filmWords().text(), QStringLiteral("reads the tag"));
        keepPicture(window, QStringLiteral("film-end"));
        QVERIFY(app::wasFilmPlayed() && app::wasTourOffered());
        clickFilmButton(window, QStringLiteral("Cover the tag"));
        QVERIFY(!host.filmWords().isVisible());
        QVERIFY(QTest::qWaitFor([&] { return !window.isBusy(); }, kPatience));
        QCOMPARE(window.model().className(window.model().run().facts.targetIndex.front()), QStringLiteral("jug"));
        keepPicture(window, QStringLiteral("film-covered"));
    }

    void aKeyOrAClickEndsTheFilmWhereItIs_data()
    {
        QTest::addColumn<bool>("isKey");
        QTest::newRow("key") << true;
        QTest::newRow("click") << false;
    }

    void aKeyOrAClickEndsTheFilmWhereItIs()
    {
        QFETCH(bool, isKey);
        app::MainWindow window;
        beginFilm(window);
        app::SelfPlay& play = window.tours().play();
        play.skipTo(play.score().length() / 2);
        const std::uint64_t position = window.cursor().position();
        QVERIFY(position > 0 && position < window.cursor().end());
        isKey ? QTest::keyClick(&window, Qt::Key_Shift)
              : QTest::mouseClick(&window.workspace(), Qt::LeftButton, {}, QPoint(2, 2));
        QVERIFY(!play.isRunning() && !window.tours().isFilm());
        QVERIFY(!window.tours().filmWords().isVisible());
        QCOMPARE(window.cursor().position(), position);
        QCOMPARE(window.workspace().id(), QStringLiteral("engine"));
    }

    void askingWhereFromShowsTheHistoryOfTheStrongestPixel()
    {
        app::MainWindow window;
        beginFilm(window);
        window.tours().play().skipTo(1e9);
        QTRY_VERIFY(window.tours().filmWords().isVisible());
        clickFilmButton(window, QStringLiteral("Where from?"));
        const auto* history = window.workspace().findChild<views::HistoryView*>();
        QVERIFY(QTest::qWaitFor([&] { return window.where().isIdle(); }, kPatience));
        QCOMPARE(window.workspace().id(), QStringLiteral("explain"));
        QVERIFY2(!window.where().askedElement().isEmpty(), "nothing was asked");
        QVERIFY2(!history->subject().isEmpty(), qPrintable(window.where().askedElement()));
        QTRY_VERIFY(history->isVisible());
    }

    void initTestCase()
    {
        // What the tour remembers stays in a folder of this test.
        QVERIFY(m_settings.isValid());
        QSettings::setPath(QSettings::IniFormat, QSettings::UserScope, m_settings.path());
        views::Style::install(*qApp);
    }

    /// Every button says all of its words, and the keyboard comes back when the bubble goes.
    void callOutsAreWholeAndGiveTheKeyboardBack()
    {
        QWidget window;
        window.resize(900, 600);
        auto* field = new QLineEdit(&window);
        auto* behind = new QPushButton(QStringLiteral("Behind"), &window);
        behind->move(0, 60);
        app::CallOut bubble(window);
        bubble.setWords(QStringLiteral("Title"), QStringLiteral("Words."));
        bubble.setButtons(QStringLiteral("Close"), QStringLiteral("Where does it come from?"),
                          QStringLiteral("Cover the tag of the picture"));
        window.show();
        field->setFocus();
        bubble.pointAt({10, 100, 200, 200});
        bubble.focusNext();
        for (const QPushButton* button : bubble.findChildren<QPushButton*>()) {
            QVERIFY2(button->width() >= button->sizeHint().width(), qPrintable(button->text()));
        }
        QVERIFY(bubble.isAncestorOf(window.focusWidget()));
        bubble.hide();
        QCOMPARE(window.focusWidget(), static_cast<QWidget*>(field));
    }

    void callOutsStayInTheWindow()
    {
        using Side = app::CallOutPlace::Side;
        const QRect window(0, 0, 1000, 700);
        const QSize size(300, 150);
        const auto right = app::placeCallOut({10, 100, 250, 300}, size, window, 12);
        QCOMPARE(right.side, Side::Right);
        QCOMPARE(right.box.left(), 260);
        QCOMPARE(app::placeCallOut({740, 100, 250, 300}, size, window, 12).side, Side::Left);
        QCOMPARE(app::placeCallOut({0, 0, 1000, 200}, size, window, 12).side, Side::Below);
        QCOMPARE(app::placeCallOut({0, 500, 1000, 200}, size, window, 12).side, Side::Above);
        const auto over = app::placeCallOut({0, 0, 1000, 700}, size, window, 12);
        QCOMPARE(over.side, Side::Over);
        QVERIFY(window.contains(over.box));
        QVERIFY(window.contains(app::placeCallOut({10, 0, 20, 20}, size, window, 12).box));

        const QRect graph(0, 0, 650, 300);
        const QRect heatmap(650, 0, 350, 300);
        QCOMPARE(app::placeCallOut(graph, size, window, 12).side, Side::Right);
        const auto below = app::placeCallOut(graph, size, window, 12, heatmap);
        QCOMPARE(below.side, Side::Below);
        QVERIFY(!below.box.intersects(heatmap));
        QCOMPARE(app::placeCallOut(graph, size, window, 12, window).side, Side::Right); // no place leaves it free
    }

    void walksFromThePictureToTheCoveredTag()
    {
        app::MainWindow window;
        beginTour(window);
        const app::Tour& tour = window.tours().tour();
        QSignalSpy ended(&tour, &app::Tour::ended);
        QStringList titles;
        for (int stop = 0; stop + 1 < app::Tour::kStops; ++stop) {
            QCOMPARE(tour.stopIndex(), stop);
            QVERIFY(tour.callOut().isVisible());
            QVERIFY(window.rect().contains(tour.callOut().geometry()));
            QVERIFY(!tour.callOut().text().isEmpty());
            titles << tour.callOut().title();
            keepPicture(window, QStringLiteral("tour-%1").arg(stop + 1));
            click(tour, QStringLiteral("Next"));
        }
        titles << tour.callOut().title();
        keepPicture(window, QStringLiteral("tour-%1").arg(app::Tour::kStops));
        titles.removeDuplicates();
        QCOMPARE(titles.size(), app::Tour::kStops);
        click(tour, QStringLiteral("Back"));
        QCOMPARE(tour.stopIndex(), app::Tour::kStops - 2);
        click(tour, QStringLiteral("Next"));

        QVERIFY(window.findChild<views::InputView*>()->hasBrush());
        coverTagByMouse(window);
        QVERIFY(QTest::qWaitFor([&] { return !window.isBusy(); }, kPatience));
        QCOMPARE(window.model().className(window.model().run().facts.targetIndex.front()), QStringLiteral("jug"));
        QVERIFY2(tour.callOut().text().contains(QStringLiteral("now says jug")), qPrintable(tour.callOut().text()));
        keepPicture(window, QStringLiteral("tour-covered"));
        click(tour, QStringLiteral("Done"));
        QCOMPARE(ended.size(), 1);
        QVERIFY(ended.front().front().toBool());
        QVERIFY(!tour.isRunning());
        QVERIFY(!tour.callOut().isVisible());
        QVERIFY(!window.findChild<views::InputView*>()->hasBrush());
        QVERIFY(app::wasTourOffered());
    }

    void escapeEndsIt()
    {
        app::MainWindow window;
        beginTour(window);
        const app::Tour& tour = window.tours().tour();
        click(tour, QStringLiteral("Next"));
        QTest::keyClick(&window, Qt::Key_Escape);
        QVERIFY(!tour.isRunning());
        QVERIFY(!tour.callOut().isVisible());
    }

    void skipEndsItAndItCanBeTakenAgain()
    {
        app::MainWindow window;
        beginTour(window);
        const app::Tour& tour = window.tours().tour();
        click(tour, QStringLiteral("Skip"));
        QVERIFY(!tour.isRunning());
        window.actions().at(QStringLiteral("cover.tag")).trigger();
        QVERIFY(QTest::qWaitFor([&] { return !window.isBusy(); }, kPatience));
        beginTour(window);
        QCOMPARE(tour.stopIndex(), 0);
        QCOMPARE(window.findChild<views::InputView*>()->cover().count(), std::int64_t{0});
        QVERIFY(tour.callOut().text().contains(QStringLiteral("jug")));
    }

    void isOfferedOnce()
    {
        QSettings(QSettings::IniFormat, QSettings::UserScope, QStringLiteral("retrograde"),
                  QStringLiteral("retrograde"))
            .clear();
        app::MainWindow window;
        window.show();
        window.tours().offerOnce();
        window.open({});
        const app::Tour& tour = window.tours().tour();
        QVERIFY(QTest::qWaitFor([&] { return tour.callOut().isVisible(); }, kPatience));
        QVERIFY(!tour.isRunning());
        QVERIFY(!app::wasTourOffered());
        click(tour, QStringLiteral("Not now"));
        QVERIFY(app::wasTourOffered());
        QVERIFY(!tour.callOut().isVisible());
    }

    void keysTurnItsPagesWhereverTheFocusIs()
    {
        app::MainWindow window;
        beginTour(window);
        const app::Tour& tour = window.tours().tour();
        auto* heatmap = window.findChild<views::InputPane*>()->parentWidget();
        heatmap->setFocusPolicy(Qt::StrongFocus);
        press(*heatmap, Qt::Key_Right);
        QCOMPARE(tour.stopIndex(), 1);
        press(*heatmap, Qt::Key_Return);
        QCOMPARE(tour.stopIndex(), 2);
        press(*heatmap, Qt::Key_PageUp);
        press(*heatmap, Qt::Key_Left);
        QCOMPARE(tour.stopIndex(), 0);
        press(*heatmap, Qt::Key_Left);
        QCOMPARE(tour.stopIndex(), 0);
        QLineEdit* field = nullptr;
        for (QLineEdit* one : window.findChildren<QLineEdit*>()) {
            field = one->isVisible() && one->isEnabled() ? one : field;
        }
        QVERIFY(field != nullptr);
        press(*field, Qt::Key_Right); // belongs to the field
        QCOMPARE(tour.stopIndex(), 0);
    }

    /// Its panes are in Explain: elsewhere it would point at nothing, beside another bubble.
    void elsewhereItIsOutOfSight()
    {
        app::MainWindow window;
        beginTour(window);
        const app::Tour& tour = window.tours().tour();
        window.showWorkspace(QStringLiteral("engine"));
        QTRY_VERIFY(tour.callOut().isHidden());
        QVERIFY(tour.isRunning());
        window.resize(window.size() + QSize(10, 10));
        QCoreApplication::processEvents();
        QVERIFY(tour.callOut().isHidden());
        window.showWorkspace(QStringLiteral("explain"));
        QTRY_VERIFY(!tour.callOut().isHidden());
    }

private:
    QTemporaryDir m_settings;
};

QTEST_MAIN(TourTest)
#include "tourtest.moc"
