// SPDX-License-Identifier: Apache-2.0
#include "tests/views/support/grabs.h"
#include "views/common/paint/fonts.h"
#include "views/common/paint/icons.h"
#include "views/common/paint/marks.h"
#include "views/common/paint/style.h"
#include "views/common/widgets/docktitle.h"
#include "views/common/widgets/emptystate.h"
#include "views/common/widgets/hintlabel.h"

#include <QCheckBox>
#include <QComboBox>
#include <QDockWidget>
#include <QFormLayout>
#include <QHeaderView>
#include <QLabel>
#include <QLineEdit>
#include <QPainter>
#include <QProgressBar>
#include <QPushButton>
#include <QScrollArea>
#include <QScrollBar>
#include <QSignalSpy>
#include <QSlider>
#include <QSpinBox>
#include <QStandardItemModel>
#include <QTabBar>
#include <QTest>
#include <QToolButton>
#include <QTreeView>
#include <QVBoxLayout>
#include <QWheelEvent>

using namespace retro::views;

namespace
{

/// As a mouse sends it: one notch down over the middle of a widget.
void turnWheel(QWidget& widget)
{
    const QPointF at = widget.rect().center();
    QWheelEvent event(at, widget.mapToGlobal(at), {}, {0, -120}, Qt::NoButton, {}, Qt::NoScrollPhase, false);
    QSpontaneKeyEvent::setSpontaneous(&event);
    qApp->notify(&widget, &event);
}

/// What a control says, as a number.
int turnedTo(const QWidget& control)
{
    if (const auto* combo = qobject_cast<const QComboBox*>(&control)) {
        return combo->currentIndex();
    }
    if (const auto* number = qobject_cast<const QDoubleSpinBox*>(&control)) {
        return static_cast<int>(number->value());
    }
    return control.property("value").toInt();
}

/// One of each mark.
class MarkSheet final : public QWidget
{
public:
    using QWidget::QWidget;

protected:
    void paintEvent(QPaintEvent*) override
    {
        const Theme& colors = theme(this);
        QPainter painter(this);
        painter.fillRect(rect(), colors[Role::Base]);
        double x = 8;
        for (const auto mode : {retro::event::Mode::None, retro::event::Mode::Normal, retro::event::Mode::Search,
                                retro::event::Mode::Fulfilment}) {
            paintModeBox(painter, {x, 8, 60, 24}, mode, colors);
            paintModeMark(painter, {x, 40, 16, 16}, mode, colors);
            x += 70;
        }
        paintDiamond(painter, {300, 20}, 6, colors[Role::SearchLine], false);
        paintDiamond(painter, {320, 20}, 6, colors[Role::FulfilLine], true);
        paintTick(painter, {340, 20}, 5, colors[Role::Text3]);
        paintCross(painter, {360, 20}, 5, colors[Role::AlarmLine]);
        paintTriangle(painter, {380, 20}, 5, colors[Role::Accent]);
        paintHatch(painter, {300, 40, 80, 14}, colors[Role::SearchLine]);
        paintShareBar(painter, {300, 60, 80, 9}, 0.4, colors[Role::Accent], colors);
        double iconX = 8;
        for (const QString& name : icons::names()) {
            painter.drawPixmap(QPointF(iconX, 80), icons::pixmap(name, 16, colors[Role::Text]));
            iconX += 22;
        }
        painter.drawPixmap(QPointF(8, 104), icons::logo(48));
        painter.drawPixmap(QPointF(64, 104), icons::logo(22));
    }
};

/// A bar of 80 pixels, as far as it is filled on the left and on the right half.
std::pair<bool, bool> filledHalves(double share)
{
    const Theme& colors = Theme::of(ThemeKind::Light);
    QImage image(80, 9, QImage::Format_RGB32);
    image.fill(colors[Role::Base]);
    QPainter painter(&image);
    paintShareBar(painter, QRectF(image.rect()), share, colors[Role::AlarmLine], colors);
    painter.end();
    const auto has = [&](int from) {
        int ink = 0;
        for (int x = from; x < from + 38; ++x) {
            ink += image.pixelColor(x, 4) != colors[Role::Alt] && x > 0 && x < 79 ? 1 : 0;
        }
        return ink > 0;
    };
    return {has(0), has(42)};
}

QWidget* makeControls(QWidget* parent)
{
    auto* sheet = new QWidget(parent);
    auto* form = new QFormLayout(sheet);
    auto* combo = new QComboBox(sheet);
    combo->addItems({QStringLiteral("clever-hans.onnx"), QStringLiteral("control.onnx")});
    form->addRow(QStringLiteral("Model"), combo);
    form->addRow(QStringLiteral("Picture"), new QLineEdit(QStringLiteral("jug-tagged.png"), sheet));
    auto* slider = new QSlider(Qt::Horizontal, sheet);
    slider->setValue(35);
    form->addRow(QStringLiteral("Epsilon"), slider);
    auto* check = new QCheckBox(QStringLiteral("Keep scale over layers"), sheet);
    check->setChecked(true);
    form->addRow(check);
    auto* button = new QPushButton(QStringLiteral("Run"), sheet);
    setFilled(*button, true);
    form->addRow(button);
    form->addRow(new QPushButton(QStringLiteral("Cover the tag"), sheet));
    auto* segments = new QHBoxLayout;
    segments->setSpacing(0);
    for (const char* name : {"Layer", "Visit", "Event"}) {
        auto* segment = new QToolButton(sheet);
        segment->setText(QLatin1String(name));
        segment->setCheckable(true);
        segment->setChecked(QLatin1String(name) == QLatin1String("Visit"));
        segment->setProperty("segment", true);
        segments->addWidget(segment);
    }
    form->addRow(segments);
    auto* bar = new QProgressBar(sheet);
    bar->setValue(40);
    form->addRow(bar);
    auto* tabs = new QTabBar(sheet);
    tabs->addTab(QStringLiteral("Inspector"));
    tabs->addTab(QStringLiteral("Heatmap"));
    form->addRow(tabs);
    auto* tree = new QTreeView(sheet);
    auto* items = new QStandardItemModel(tree);
    items->setHorizontalHeaderLabels({QStringLiteral("Promise"), QStringLiteral("State")});
    auto* top = new QStandardItem(QStringLiteral("P0 add"));
    top->appendRow(new QStandardItem(QStringLiteral(".0 conv2")));
    auto* nested = new QStandardItem(QStringLiteral(".1 P1 relu1"));
    nested->appendRow(new QStandardItem(QStringLiteral(".0 relu1")));
    top->appendRow(nested);
    items->appendRow(top);
    tree->setModel(items);
    tree->expandAll();
    tree->setCurrentIndex(items->index(0, 0));
    tree->setFixedHeight(140);
    form->addRow(tree);
    return sheet;
}

} // namespace

class WidgetsTest : public QObject
{
    Q_OBJECT

private slots:
    /// What is below 0 must not look like what is above.
    void barsHaveASign()
    {
        QCOMPARE(filledHalves(0.4), (std::pair{true, false}));
        QCOMPARE(filledHalves(-0.4), (std::pair{false, true}));
        QCOMPARE(filledHalves(0), (std::pair{false, false}));
        QCOMPARE(filledHalves(-3), (std::pair{true, true}));
    }

    void initTestCase() { retro::tests::installLook(); }

    void both_data()
    {
        QTest::addColumn<bool>("isDark");
        QTest::newRow("light") << false;
        QTest::newRow("dark") << true;
    }
    void controls_data() { both_data(); }
    void controls()
    {
        QFETCH(bool, isDark);
        const ThemeKind kind = isDark ? ThemeKind::Dark : ThemeKind::Light;
        QWidget window;
        (new QVBoxLayout(&window))->addWidget(makeControls(&window));
        const QImage image = retro::tests::grab(window, {360, 480}, kind, QStringLiteral("controls"));
        QVERIFY(retro::tests::hasColor(image, Theme::of(kind)[Role::Accent]));
        QVERIFY(retro::tests::hasColor(image, Theme::of(kind)[Role::Sel]));
    }

    void marks_data() { both_data(); }
    void marks()
    {
        QFETCH(bool, isDark);
        const ThemeKind kind = isDark ? ThemeKind::Dark : ThemeKind::Light;
        MarkSheet sheet;
        const QImage image = retro::tests::grab(sheet, {640, 160}, kind, QStringLiteral("marks"));
        for (const Role role : {Role::NormalTint, Role::SearchTint, Role::FulfilTint, Role::FulfilLine}) {
            QVERIFY2(retro::tests::hasColor(image, Theme::of(kind)[role]), nameOf(role));
        }
    }

    void dockTitle_data() { both_data(); }
    void dockTitle()
    {
        QFETCH(bool, isDark);
        QDockWidget dock(QStringLiteral("Input"));
        auto* title = new DockTitle(dock);
        dock.setTitleBarWidget(title);
        dock.setWidget(new QWidget(&dock));
        title->setSubject(QStringLiteral("3 × 96 × 96"));
        title->setHint(QStringLiteral("The picture as the model sees it."));
        const QImage image = retro::tests::grab(dock, {300, 120}, isDark ? ThemeKind::Dark : ThemeKind::Light,
                                                QStringLiteral("docktitle"));
        QVERIFY(retro::tests::colorCount(image) > 20);
        const int withHint = title->sizeHint().height();
        title->setHintShown(false);
        QVERIFY(title->sizeHint().height() < withHint);
        const auto buttons = title->findChildren<QToolButton*>();
        QCOMPARE(buttons.size(), 2);
        for (const QToolButton* button : buttons) {
            QVERIFY(!button->accessibleName().isEmpty());
        }
        QTest::mouseClick(buttons.last(), Qt::LeftButton);
        QVERIFY(!dock.isVisible());
    }

    /// Whoever uses the keyboard sees where it is, on every kind of button.
    void focusIsSeenOnEveryButton()
    {
        QWidget window;
        auto* row = new QVBoxLayout(&window);
        auto* other = new QLineEdit(&window);
        row->addWidget(other);
        QList<QAbstractButton*> buttons{new QPushButton(QStringLiteral("Plain"), &window),
                                        new QPushButton(QStringLiteral("Filled"), &window),
                                        new QToolButton(&window),
                                        new QToolButton(&window),
                                        new QToolButton(&window),
                                        new QCheckBox(QStringLiteral("Check"), &window)};
        setFilled(*buttons[1], true);
        static_cast<QToolButton*>(buttons[2])->setAutoRaise(true);
        for (const int segment : {3, 4}) {
            buttons[segment]->setText(QStringLiteral("Segment"));
            buttons[segment]->setProperty("segment", true);
            buttons[segment]->setCheckable(true);
            buttons[segment]->setChecked(segment == 3);
            setFilled(*buttons[segment], true);
        }
        for (QAbstractButton* button : buttons) {
            row->addWidget(button);
        }
        window.show();
        QVERIFY(QTest::qWaitForWindowExposed(&window));
        window.activateWindow();
        other->setFocus();
        for (QAbstractButton* button : buttons) {
            const QImage without = button->grab().toImage();
            QTest::keyClick(QApplication::focusWidget(), Qt::Key_Tab);
            QVERIFY2(button->hasFocus(), qPrintable(button->text()));
            QVERIFY2(button->grab().toImage() != without, qPrintable(button->text()));
        }
    }

    /// What lies beside the names of tabs becomes narrower before a name is cut.
    void tabsGiveUpRoomBeforeLetters()
    {
        QTabBar tabs;
        tabs.setFont(fonts::label());
        tabs.setExpanding(false);
        for (const char* name : {"Promises", "Breakpoints", "Diagnose"}) {
            tabs.addTab(QLatin1String(name));
        }
        tabs.show();
        const auto widths = [&] {
            int all = 0;
            for (int i = 0; i < tabs.count(); ++i) {
                all += tabs.tabRect(i).width();
            }
            return all;
        };
        const int wide = widths();
        fitTabs(tabs, wide + 1);
        QCOMPARE(widths(), wide);
        fitTabs(tabs, wide - 3 * fonts::px(10));
        QVERIFY(widths() <= wide - 3 * fonts::px(10));
        for (int i = 0; i < tabs.count(); ++i) {
            QVERIFY(tabs.tabRect(i).width() > fonts::widthOf(fonts::label(QFont::DemiBold), tabs.tabText(i)));
        }
        fitTabs(tabs, wide + 1);
        QCOMPARE(widths(), wide);
    }

    void aHintTakesASecondLineWhereItIsNarrow()
    {
        const QString sentence = QStringLiteral("Red pixels speak for mug, blue ones against it.");
        QDockWidget dock(QStringLiteral("Relevance"));
        auto* title = new DockTitle(dock);
        dock.setTitleBarWidget(title);
        title->setHint(sentence);
        auto* hint = title->findChild<HintLabel*>();
        dock.resize(700, 200);
        dock.show();
        QCoreApplication::processEvents();
        const int line = title->height();
        QCOMPARE(hint->shownLines(), QStringList{sentence});
        dock.resize(220, 200);
        QTRY_VERIFY_WITH_TIMEOUT(title->height() > line, 30'000);
        QCOMPARE(hint->shownLines().size(), 2);
        QCOMPARE(hint->shownLines().join(QLatin1Char(' ')), sentence);
        QVERIFY(hint->height() >= 2 * QFontMetrics(hint->font()).height());
        dock.resize(700, 200);
        QTRY_COMPARE_WITH_TIMEOUT(title->height(), line, 30'000);
        title->setHint(sentence.repeated(5)); // more than two lines end in …
        dock.resize(220, 200);
        QTRY_VERIFY_WITH_TIMEOUT(hint->shownLines().last().endsWith(QChar(0x2026)), 30'000);
        QString shown = hint->shownLines().join(QLatin1Char(' '));
        shown.chop(1);
        const QString all = hint->text();
        QVERIFY2(all.startsWith(shown) && all.at(shown.size()) == QLatin1Char(' '), qPrintable(shown)); // whole words
    }

    void emptyStates_data() { both_data(); }
    void emptyStates()
    {
        QFETCH(bool, isDark);
        const ThemeKind kind = isDark ? ThemeKind::Dark : ThemeKind::Light;
        EmptyState state;
        QSignalSpy activated(&state, &EmptyState::activated);
        QSignalSpy cancelled(&state, &EmptyState::cancelled);
        state.showEmpty(QStringLiteral("Nothing is open yet."), QStringLiteral("Open a model"));
        auto* button = state.findChild<QPushButton*>();
        const QImage empty = retro::tests::grab(state, {360, 200}, kind, QStringLiteral("state-empty"));
        QTest::mouseClick(button, Qt::LeftButton);
        QCOMPARE(activated.count(), 1);
        state.showLoading(QStringLiteral("Reading the model"), 0.4);
        QVERIFY(!button->isVisible());
        QTRY_VERIFY_WITH_TIMEOUT(button->isVisible(), 30'000);
        const QImage loading = retro::tests::grab(state, {360, 200}, kind, QStringLiteral("state-loading"));
        QTest::mouseClick(button, Qt::LeftButton);
        QCOMPARE(cancelled.count(), 1);
        state.showError(QStringLiteral("bad.onnx: this is not an ONNX model."),
                        QStringLiteral("Open a file that ends in .onnx, or a recorded run (.retro)."));
        const QImage error = retro::tests::grab(state, {360, 200}, kind, QStringLiteral("state-error"));
        QVERIFY(!button->isVisible());
        QVERIFY(empty != loading && loading != error);
        QVERIFY(retro::tests::hasColor(loading, Theme::of(kind)[Role::Accent]));
    }

    void theWheelTurnsOnlyWhatHasTheKeyboard_data()
    {
        QTest::addColumn<int>("which");
        int which = 0;
        for (const char* name : {"slider", "spin box", "fractions", "combo box", "combo box to type in"}) {
            QTest::newRow(name) << which++;
        }
    }
    void theWheelTurnsOnlyWhatHasTheKeyboard()
    {
        QFETCH(const int, which);
        auto* slider = new QSlider(Qt::Horizontal);
        auto* whole = new QSpinBox;
        auto* fraction = new QDoubleSpinBox;
        auto* choice = new QComboBox;
        auto* typed = new QComboBox;
        typed->setEditable(true);
        for (auto* combo : {choice, typed}) {
            combo->addItems({QStringLiteral("one"), QStringLiteral("two"), QStringLiteral("three")});
            combo->setCurrentIndex(1);
        }
        slider->setValue(50);
        whole->setValue(50);
        fraction->setValue(50);
        const QList<QWidget*> controls{slider, whole, fraction, choice, typed};
        QWidget& control = *controls[which];
        QScrollArea area;
        auto* page = new QWidget;
        auto* rows = new QVBoxLayout(page);
        auto* other = new QPushButton(QStringLiteral("Run"));
        rows->addWidget(other);
        for (QWidget* each : controls) {
            rows->addWidget(each);
        }
        page->setMinimumHeight(2000);
        area.setWidget(page);
        area.setWidgetResizable(true);
        area.resize(300, 400);
        area.show();
        QVERIFY(QTest::qWaitForWindowActive(&area));
        other->setFocus();
        const int before = turnedTo(control);
        const auto* edit = control.findChild<QLineEdit*>();
        for (QWidget* under : {&control, edit != nullptr ? const_cast<QLineEdit*>(edit) : &control}) {
            const int top = area.verticalScrollBar()->value();
            turnWheel(*under);
            QCOMPARE(turnedTo(control), before);
            QVERIFY(area.verticalScrollBar()->value() > top);
            QVERIFY(other->hasFocus());
        }
        control.setFocus();
        const int top = area.verticalScrollBar()->value();
        turnWheel(control);
        QVERIFY(turnedTo(control) != before);
        QCOMPARE(area.verticalScrollBar()->value(), top);
    }

    void loadingAsksForNoRoomOfItsOwn()
    {
        // Three views that load side by side must not push their window wider.
        EmptyState state;
        state.showEmpty(QStringLiteral("Nothing is open yet."), QStringLiteral("Open"));
        state.showLoading(QStringLiteral("Reading the model"), 0.4);
        QVERIFY(state.minimumSizeHint().width() <= fonts::px(160));
        const auto* bar = state.findChild<QProgressBar*>();
        for (const int width : {140, 800}) {
            state.resize(width, 200);
            state.show();
            QApplication::sendPostedEvents();
            QVERIFY(state.rect().contains(bar->geometry()));
            QVERIFY(bar->width() <= fonts::px(220));
            QVERIFY(std::abs(bar->geometry().center().x() - state.rect().center().x()) <= 1);
        }
    }
};

QTEST_MAIN(WidgetsTest)
#include "tst_widgets.moc"
