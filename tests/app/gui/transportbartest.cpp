// SPDX-License-Identifier: Apache-2.0
// What the tool bar of time leaves out, and in which order, when the window is narrow.
#include <QtTest>

#include "app/gui/controllers/exportcontroller.h"
#include "app/gui/stepping/nowline.h"
#include "app/gui/stepping/transportbar.h"
#include "tests/views/support/tinyrun.h"
#include "views/common/paint/fonts.h"
#include "views/common/paint/style.h"

#include <QComboBox>
#include <QLineEdit>
#include <QMainWindow>
#include <QToolButton>

using namespace retro;
using app::NowFigure;

namespace
{

/// The tool bar in a window, over the tiny run.
struct Fixture : tests::ViewContext
{
    explicit Fixture(int width)
    {
        actions.addAll(views::standardActions());
        app::addExportActions(actions);
        showTinyRun();
        bar = new app::TransportBar({actions, model, cursor, selection, list}, &window);
        bar->addExplainTool("export.heatmap");
        window.addToolBar(bar);
        window.resize(width, 200);
        window.show();
        settle();
    }

    void settle() { QTest::qWait(0); }

    /// The arrow at the end of a tool bar that is too long.
    bool hasArrow() const
    {
        const auto* arrow = bar->findChild<QToolButton*>(QStringLiteral("qt_toolbar_ext_button"));
        return arrow != nullptr && arrow->isVisible();
    }

    bool isWhole(const QWidget* part) const
    {
        return part->isVisible() && bar->rect().contains(QRect(part->mapTo(bar, QPoint()), part->size()));
    }

    const app::NowLine& line() const { return *bar->findChild<app::NowLine*>(); }

    views::ActionRegistry actions;
    views::BreakpointList list{model};
    QMainWindow window;
    app::TransportBar* bar = nullptr;
};

} // namespace

class TransportBarTest : public QObject
{
    Q_OBJECT

private slots:
    void initTestCase() { views::Style::install(*qApp); }
    void cleanup() { views::Style::install(*qApp); }

    void theLowestRankGoesFirst()
    {
        const std::vector<NowFigure> figures{{"b", 1}, {"a", 0}, {"c", 2}};
        const std::vector<double> widths{20, 10, 30};
        using Kept = std::vector<bool>;
        QCOMPARE(app::figuresThatFit(figures, widths, 5, 75), Kept({true, true, true}));
        QCOMPARE(app::figuresThatFit(figures, widths, 5, 74), Kept({true, false, true}));
        QCOMPARE(app::figuresThatFit(figures, widths, 5, 59), Kept({false, false, true})); // though "a" would fit
        QCOMPARE(app::figuresThatFit(figures, widths, 5, 34), Kept({false, false, false}));
        QVERIFY(app::figuresThatFit({}, {}, 5, 10).empty());
    }

    void nothingEndsInAnArrow_data()
    {
        QTest::addColumn<int>("width");
        QTest::addColumn<double>("scale");
        QTest::addColumn<bool>("isDetailed");
        for (const bool isDetailed : {false, true}) {
            const char* kind = isDetailed ? "engine" : "explain";
            QTest::addRow("%s", kind) << 1600 << 1.0 << isDetailed;
            QTest::addRow("%s, small", kind) << 1280 << 1.0 << isDetailed;
            QTest::addRow("%s, small, large font", kind) << 1280 << 1.25 << isDetailed;
        }
    }

    void nothingEndsInAnArrow()
    {
        QFETCH(const int, width);
        QFETCH(const double, scale);
        QFETCH(const bool, isDetailed);
        views::Style::install(*qApp, scale);
        Fixture f(width);
        f.bar->setDetailed(isDetailed);
        f.settle();
        QCOMPARE(f.window.width(), width);
        QVERIFY(!f.hasArrow());
        QVERIFY(f.isWhole(f.bar->findChild<QLineEdit*>()));
        const QList<QComboBox*> boxes = f.bar->findChildren<QComboBox*>();
        QCOMPARE(boxes.size(), 2);
        QCOMPARE(f.isWhole(boxes[0]), isDetailed); // what to run to
        QVERIFY(f.isWhole(boxes[1]) || boxes[1]->isHidden() || !isDetailed || !boxes[1]->isVisible());
        // The sentence has room for a few words, whatever else has to go.
        QVERIFY2(f.line().width() >= views::fonts::px(220), qPrintable(QString::number(f.line().width())));
    }

    void theSpeedComesBackInAWideBar()
    {
        views::Style::install(*qApp, 1);
        Fixture f(1000);
        f.bar->setDetailed(true);
        f.settle();
        const QComboBox* speed = f.bar->findChildren<QComboBox*>().back();
        QVERIFY(!speed->isVisible());
        f.window.resize(1700, 200);
        f.settle();
        QVERIFY(speed->isVisible());
        QVERIFY(f.isWhole(speed));
    }

    /// What a step is can be chosen in Explain too, where there is room.
    void explainChoosesWhatAStepIs()
    {
        views::Style::install(*qApp, 1);
        Fixture f(1600);
        f.bar->setDetailed(false);
        f.settle();
        const auto segment = [&]() -> QToolButton* {
            for (QToolButton* button : f.bar->findChildren<QToolButton*>()) {
                if (button->text() == QStringLiteral("Visit")) {
                    return button;
                }
            }
            return nullptr;
        };
        QVERIFY(segment() != nullptr && segment()->isVisible());
        QTest::mouseClick(segment(), Qt::LeftButton);
        QVERIFY(segment()->isChecked());
        f.window.resize(500, 200);
        f.settle();
        QVERIFY(!segment()->isVisible());
        f.bar->setDetailed(true);
        f.window.resize(1280, 200);
        f.settle();
        QVERIFY(segment()->isVisible());
    }

    void figuresGoInOrderAndTheTipKeepsThem()
    {
        Fixture f(2200);
        const QStringList all = f.line().shownFigures();
        QCOMPARE(all.size(), 4);
        qsizetype before = all.size();
        QString last = all.back();
        for (int width = 2200; width > 1000 && before > 0; width -= 20) {
            f.window.resize(width, 200);
            f.settle();
            const QStringList shown = f.line().shownFigures();
            QVERIFY(shown.size() <= before);
            QVERIFY(shown.isEmpty() || shown.back() == last); // that nothing is lost goes last
            QVERIFY(shown.size() != 3 || !shown.join(QString()).contains(QStringLiteral("frontier")));
            before = shown.size();
        }
        QCOMPARE(before, 0);
        for (const QString& figure : all) {
            QVERIFY(f.line().toolTip().contains(figure));
        }
    }

    void explainHasItsButtonsAndNoFigures()
    {
        Fixture f(1600);
        const auto isShown = [&] {
            for (const QToolButton* button : f.bar->findChildren<QToolButton*>()) {
                if (button->defaultAction() == &f.actions.at(QStringLiteral("export.heatmap"))) {
                    return button->isVisible();
                }
            }
            return false;
        };
        QVERIFY(!isShown());
        f.bar->setDetailed(false);
        f.settle();
        QVERIFY(isShown());
        QVERIFY(f.line().shownFigures().isEmpty());
        QVERIFY(f.actions.at(QStringLiteral("export.heatmap")).isVisible()); // menus keep it either way
    }
};

QTEST_MAIN(TransportBarTest)
#include "transportbartest.moc"
