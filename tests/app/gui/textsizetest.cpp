// SPDX-License-Identifier: Apache-2.0
// Text of another size while the window is open: everything looks as in a window that was made with it.
#include <QtTest>

#include "app/gui/shell/preferences.h"
#include "app/gui/shell/shell.h"
#include "app/gui/window/mainwindow.h"
#include "app/gui/window/workspaces.h"
#include "tests/app/gui/settles.h"
#include "tests/views/support/tinyrun.h"
#include "views/common/paint/fonts.h"
#include "views/common/paint/style.h"
#include "views/common/paint/textsize.h"

#include <QAbstractButton>
#include <QDockWidget>
#include <QHeaderView>
#include <QLayout>
#include <QTemporaryDir>

using namespace retro;

namespace
{

/// Lengths may come out a little different: some are the widths of texts, which do not grow evenly.
constexpr int kNear = 4;
constexpr double kNearShare = 0.03;

struct Lengths
{
    QString name; ///< of the widget, with those around it
    QList<int> exact;
    QList<int> near;
};

QString nameOf(const QWidget& widget)
{
    QStringList names;
    for (const QWidget* up = &widget; up != nullptr && !up->isWindow(); up = up->parentWidget()) {
        const QString own = up->objectName().isEmpty() ? up->accessibleName() : up->objectName();
        names.prepend(QLatin1String(up->metaObject()->className()) + QLatin1Char(' ') + own);
    }
    return names.join(QStringLiteral(" / "));
}

void addLayout(Lengths& lengths, const QLayout& layout)
{
    const QMargins margins = layout.contentsMargins();
    lengths.near << margins.left() << margins.top() << margins.right() << margins.bottom() << layout.spacing();
}

Lengths lengthsOf(const QWidget& widget)
{
    Lengths lengths;
    lengths.name = nameOf(widget);
    lengths.exact << widget.font().pixelSize();
    lengths.near << widget.width() << widget.height();
    if (const auto* header = qobject_cast<const QHeaderView*>(&widget)) {
        lengths.near << header->defaultSectionSize() << header->minimumSectionSize();
    }
    if (const auto* button = qobject_cast<const QAbstractButton*>(&widget)) {
        lengths.near << button->iconSize().width();
    }
    if (widget.layout() != nullptr && qobject_cast<const QMainWindow*>(&widget) == nullptr) {
        addLayout(lengths, *widget.layout());
    }
    return lengths;
}

QList<Lengths> allLengths(const app::MainWindow& window)
{
    QList<Lengths> all;
    for (const QWidget* widget : window.findChildren<QWidget*>()) {
        if (widget->window() == &window && !widget->visibleRegion().isEmpty()) { // not behind a tab
            all << lengthsOf(*widget);
        }
    }
    return all;
}

bool isNear(const QList<int>& a, const QList<int>& b)
{
    return a.size() == b.size() && std::equal(a.begin(), a.end(), b.begin(), [](int one, int other) {
               return std::abs(one - other) <= std::max<double>(kNear, kNearShare * std::max(one, other));
           });
}

QString textOf(const QList<int>& numbers)
{
    QStringList words;
    for (const int number : numbers) {
        words << QString::number(number);
    }
    return words.join(QLatin1Char(' '));
}

/// By name and number among those of that name: Qt makes and drops some parts of tool bars and docks as it needs them.
QMap<QString, Lengths> byName(const QList<Lengths>& all)
{
    QMap<QString, Lengths> named;
    QMap<QString, int> count;
    for (const Lengths& lengths : all) {
        named.insert(QStringLiteral("%1 #%2").arg(lengths.name).arg(count[lengths.name]++), lengths);
    }
    return named;
}

QStringList differences(const app::MainWindow& live, const app::MainWindow& fresh)
{
    const QMap<QString, Lengths> one = byName(allLengths(live));
    const QMap<QString, Lengths> other = byName(allLengths(fresh));
    QStringList found;
    for (auto at = one.begin(); at != one.end(); ++at) {
        const auto twin = other.find(at.key());
        if (twin != other.end() && (at->exact != twin->exact || !isNear(at->near, twin->near))) {
            found << QStringLiteral("%1: %2 | %3, fresh %4 | %5")
                         .arg(at.key(), textOf(at->exact), textOf(at->near), textOf(twin->exact), textOf(twin->near));
        }
    }
    return found;
}

/// Says what differs, one widget a line: a message of QVERIFY2 would be cut.
bool areSame(const app::MainWindow& live, const app::MainWindow& fresh)
{
    const QStringList found = differences(live, fresh);
    for (const QString& line : found) {
        qWarning().noquote() << line;
    }
    return found.isEmpty();
}

void show(app::MainWindow& window, const QString& workspace)
{
    window.showWorkspace(workspace);
    window.flush();
    QCoreApplication::processEvents();
}

/// Makes a window with every workspace seen once, the last one on screen.
void fill(app::MainWindow& window, double scale)
{
    window.resize(QSize(1600, 1000) * std::max(1.0, scale));
    window.model().setRun(tests::makeTinyRun(), tests::makeTinyInput());
    window.show();
    for (const QString& workspace : app::MainWindow::workspaceIds()) {
        show(window, workspace);
    }
}

void setScale(app::MainWindow& window, double scale)
{
    window.shell().preferences().setFontScale(scale);
    QCOMPARE(views::fonts::content().pixelSize(), std::max(8, qRound(13 * scale)));
    window.flush();
    QCoreApplication::processEvents();
}

} // namespace

class TextSizeTest : public QObject
{
    Q_OBJECT

private slots:
    void initTestCase() { tests::keepSettingsIn(m_settings); }
    void cleanup() { views::setTextSize(1); }

    void isTheSameAsInAFreshWindow_data()
    {
        QTest::addColumn<double>("scale");
        for (const double scale : {0.8, 1.5}) {
            QTest::addRow("%g", scale) << scale;
        }
    }

    void isTheSameAsInAFreshWindow()
    {
        QFETCH(const double, scale);
        app::MainWindow live;
        fill(live, scale);
        setScale(live, scale);
        app::MainWindow fresh;
        fill(fresh, scale);
        for (const QString& workspace : app::MainWindow::workspaceIds()) {
            show(live, workspace);
            show(fresh, workspace);
            QVERIFY(areSame(live, fresh));
        }
    }

    void theWindowFitsASmallScreen_data()
    {
        QTest::addColumn<double>("scale");
        for (const double scale : {1.0, 1.25, 1.5, 2.0}) {
            QTest::addRow("%g", scale) << scale;
        }
    }

    /// In every workspace, also when the text grows while the window is open; with small text all panes are beside each
    /// other.
    void theWindowFitsASmallScreen()
    {
        QFETCH(const double, scale);
        const QSize screen(1276, 775); // less what a frame takes
        app::MainWindow window;
        window.shell().fitInto([screen] { return screen; });
        window.resize(screen);
        window.show();
        window.open({});
        QVERIFY(QTest::qWaitFor([&] { return !window.isBusy(); }, 60'000));
        setScale(window, scale);
        for (const QString& id : app::MainWindow::workspaceIds()) {
            show(window, id);
            QCoreApplication::processEvents();
            const QSize least = window.minimumSizeHint();
            QVERIFY2(least.width() <= screen.width() && least.height() <= screen.height(),
                     qPrintable(QStringLiteral("%1: %2 x %3").arg(id).arg(least.width()).arg(least.height())));
            for (const QDockWidget* dock : window.workspace().docks()) {
                if (scale <= 1 && dock->isVisible() && !dock->visibleRegion().isEmpty()) { // more may be lower
                    const QSize asked = dock->widget()->minimumSizeHint();
                    QVERIFY2(dock->widget()->width() >= asked.width() && dock->widget()->height() >= asked.height(),
                             qPrintable(id + QLatin1Char(' ') + dock->windowTitle()));
                }
            }
        }
        setScale(window, 1);
        app::MainWindow usual;
        usual.resize(window.size());
        usual.show();
        usual.open({});
        QVERIFY(QTest::qWaitFor([&] { return !usual.isBusy(); }, 60'000));
        for (const QString& id : app::MainWindow::workspaceIds()) {
            show(window, id);
            show(usual, id);
            const auto shown = [](const app::MainWindow& of) {
                QStringList names;
                for (const QDockWidget* dock : of.workspace().docks()) {
                    if (!dock->isHidden() && !dock->visibleRegion().isEmpty()) {
                        names << dock->objectName();
                    }
                }
                return names;
            };
            QCOMPARE(shown(window), shown(usual)); // and back
        }
    }

    void thereAndBackIsNoChange()
    {
        app::MainWindow window;
        fill(window, 1);
        for (const double scale : {1.25, 0.9, 1.75, 1.0}) {
            setScale(window, scale);
        }
        window.resize(1600, 1000); // larger text may have needed a larger window
        QCOMPARE(window.size(), QSize(1600, 1000));
        app::MainWindow fresh;
        fill(fresh, 1);
        for (const QString& workspace : app::MainWindow::workspaceIds()) {
            show(window, workspace);
            show(fresh, workspace);
            QVERIFY(areSame(window, fresh));
        }
    }

private:
    QTemporaryDir m_settings;
};

QTEST_MAIN(TextSizeTest)
#include "textsizetest.moc"
