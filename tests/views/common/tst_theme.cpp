// SPDX-License-Identifier: Apache-2.0
#include "tests/views/support/grabs.h"
#include "views/common/actions.h"
#include "views/common/numbertext.h"
#include "views/common/paint/fonts.h"
#include "views/common/paint/icons.h"

#include <QFontInfo>
#include <QSignalSpy>
#include <QTest>

#include <limits>

using retro::views::Role;
using retro::views::Theme;
using retro::views::ThemeKind;

class ThemeTest : public QObject
{
    Q_OBJECT

private slots:
    void initTestCase() { retro::tests::installLook(); }

    void textIsReadable_data()
    {
        QTest::addColumn<int>("kind");
        QTest::addColumn<int>("text");
        QTest::addColumn<int>("ground");
        for (const ThemeKind kind : {ThemeKind::Light, ThemeKind::Dark}) {
            for (const Role text : {Role::Text, Role::Text2, Role::Text3, Role::NormalText, Role::SearchText,
                                    Role::FulfilText, Role::AlarmText}) {
                for (const Role ground : {Role::Window, Role::Base, Role::Alt, Role::Header}) {
                    addRow(kind, text, ground);
                }
            }
            addRow(kind, Role::Text, Role::Sel);
            addRow(kind, Role::Text2, Role::Sel);
            addRow(kind, Role::Text, Role::Button);
            addRow(kind, Role::OnAccent, Role::Accent);
            addRow(kind, Role::NormalText, Role::NormalTint);
            addRow(kind, Role::SearchText, Role::SearchTint);
            addRow(kind, Role::FulfilText, Role::FulfilTint);
            addRow(kind, Role::AlarmText, Role::AlarmTint);
        }
    }

    void textIsReadable()
    {
        QFETCH(int, kind);
        QFETCH(int, text);
        QFETCH(int, ground);
        const Theme& theme = Theme::of(static_cast<ThemeKind>(kind));
        const double ratio =
            retro::views::contrastRatio(theme[static_cast<Role>(text)], theme[static_cast<Role>(ground)]);
        QVERIFY2(ratio >= 4.5, qPrintable(QStringLiteral("only %1 : 1").arg(ratio, 0, 'f', 2)));
    }

    void contrastOfBlackAndWhite()
    {
        QCOMPARE(retro::views::contrastRatio(Qt::black, Qt::white), 21.0);
        QCOMPARE(retro::views::contrastRatio(Qt::white, Qt::white), 1.0);
    }

    void paletteComesFromTheTable()
    {
        const QPalette palette = Theme::of(ThemeKind::Dark).makePalette();
        QCOMPARE(palette.color(QPalette::Window), QColor(0x2B, 0x2D, 0x31));
        QCOMPARE(palette.color(QPalette::Base), QColor(0x1E, 0x1F, 0x22));
        QCOMPARE(palette.color(QPalette::Highlight), QColor(0x1C, 0x3E, 0x3B));
        QCOMPARE(palette.color(QPalette::HighlightedText), palette.color(QPalette::Text));
    }

    void switchingTellsOnce()
    {
        auto& hub = retro::views::ThemeHub::instance();
        hub.setChoice(retro::views::ThemeChoice::Light);
        QSignalSpy spy(&hub, &retro::views::ThemeHub::changed);
        hub.setChoice(retro::views::ThemeChoice::Dark);
        hub.setChoice(retro::views::ThemeChoice::Dark);
        QCOMPARE(spy.count(), 1);
        QCOMPARE(qApp->palette().color(QPalette::Base), hub.theme()[Role::Base]);
        hub.setChoice(retro::views::ThemeChoice::Light);
        QCOMPARE(spy.count(), 2);
    }

    void fontsFollowTheApplication()
    {
        QCOMPARE(retro::views::fonts::content().pixelSize(), 13);
        QCOMPARE(retro::views::fonts::numbers().pixelSize(), 12);
        QCOMPARE(retro::views::fonts::small().pixelSize(), 11);
        retro::views::fonts::install(1.25);
        QCOMPARE(retro::views::fonts::content().pixelSize(), 16);
        QCOMPARE(retro::views::fonts::px(28), 34);
        retro::views::fonts::install(1.0);
        QVERIFY(QFontInfo(retro::views::fonts::numbers()).fixedPitch());
    }

    /// Also when it was asked before, with another font or another text.
    void aTextIsAsWideAsItIsDrawn()
    {
        namespace fonts = retro::views::fonts;
        for (int turn = 0; turn < 2; ++turn) {
            for (const QFont& font : {fonts::label(), fonts::label(QFont::DemiBold), fonts::smallNumbers()}) {
                for (const char* text : {"", "Where from?", "Where from!", "0.125"}) {
                    QCOMPARE(fonts::widthOf(font, QLatin1String(text)),
                             QFontMetricsF(font).horizontalAdvance(QLatin1String(text)));
                }
            }
        }
    }

    void everyActionIsComplete()
    {
        retro::views::ActionRegistry registry;
        registry.addAll(retro::views::standardActions());
        QCOMPARE(registry.problems(), QStringList());
        QVERIFY(registry.find(QStringLiteral("go.forward")) != nullptr);
        QVERIFY(registry.find(QStringLiteral("no.such")) == nullptr);
    }

    void problemsAreFound()
    {
        retro::views::ActionRegistry registry;
        registry.add({"a", "A", "does a", "open", "Ctrl+A"});
        registry.add({"b", "", "", "nosuchicon", "Ctrl+A"});
        QCOMPARE(registry.problems(),
                 (QStringList{QStringLiteral("b: no text"), QStringLiteral("b: no tip"), QStringLiteral("b: no icon"),
                              QStringLiteral("b: key Ctrl+A belongs to a")}));
    }

    void everyIconDrawsInTheColourAsked()
    {
        const QStringList names = retro::views::icons::names();
        for (const char* name :
             {"open", "save", "first", "back", "play", "pause", "forward", "last", "runback", "stepover", "zoomin",
              "zoomout", "zoomfit", "export", "search", "float", "close", "brush", "logo"}) {
            QVERIFY2(names.contains(QLatin1String(name)), name);
        }
        for (const QString& name : names) {
            const QImage image = retro::views::icons::pixmap(name, 32, QColor(10, 200, 30)).toImage();
            int inked = 0;
            for (int y = 0; y < image.height(); ++y) {
                for (int x = 0; x < image.width(); ++x) {
                    inked += image.pixelColor(x, y) == QColor(10, 200, 30) ? 1 : 0;
                }
            }
            QVERIFY2(inked > 8, qPrintable(name));
        }
        QVERIFY(retro::views::icons::icon(QStringLiteral("nosuchicon")).isNull());
    }

    void numbersForPeople()
    {
        using namespace retro::views;
        const QString minus(QChar(0x2212));
        QCOMPARE(countText(1234567), QStringLiteral("1,234,567"));
        QCOMPARE(countText(-1234), minus + QStringLiteral("1,234"));
        QCOMPARE(countText(-123), minus + QStringLiteral("123"));
        QCOMPARE(fixedText(-0.0121, 4), minus + QStringLiteral("0.0121"));
        QCOMPARE(fixedText(-0.00001, 2), QStringLiteral("0.00"));
        QCOMPARE(signedText(0.031, 3), QStringLiteral("+0.031"));
        QCOMPARE(signedText(0.0, 3), QStringLiteral("0"));
        QCOMPARE(valueText(0.00012147, 5), QStringLiteral("1.2147e") + minus + QStringLiteral("4"));
        QCOMPARE(valueText(-9.97e-6, 2), minus + QStringLiteral("1.0e") + minus + QStringLiteral("5"));
        QCOMPARE(valueText(9.9996), QStringLiteral("10.00"));
        QCOMPARE(valueText(8.42), QStringLiteral("8.420"));
        QCOMPARE(valueText(12345.678), QStringLiteral("12,346"));
        QCOMPARE(valueText(std::numeric_limits<double>::quiet_NaN()), QStringLiteral("NaN"));
        QCOMPARE(valueText(-std::numeric_limits<double>::infinity()), minus + QStringLiteral("∞"));
        QCOMPARE(percentText(0.971), QStringLiteral("97.1 %"));
        QCOMPARE(percentText(0.0001), QStringLiteral("< 0.1 %"));
        QCOMPARE(percentText(0.0), QStringLiteral("0.0 %"));
        QCOMPARE(bytesText(130765), QStringLiteral("130.8 kB"));
        QCOMPARE(bytesText(12), QStringLiteral("12 B"));
    }

private:
    static void addRow(ThemeKind kind, Role text, Role ground)
    {
        const QString name =
            QStringLiteral("%1 %2 on %3")
                .arg(kind == ThemeKind::Dark ? QStringLiteral("dark") : QStringLiteral("light"),
                     QLatin1String(retro::views::nameOf(text)), QLatin1String(retro::views::nameOf(ground)));
        QTest::newRow(qPrintable(name)) << static_cast<int>(kind) << static_cast<int>(text) << static_cast<int>(ground);
    }
};

QTEST_MAIN(ThemeTest)
#include "tst_theme.moc"
