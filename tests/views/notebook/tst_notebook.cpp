// SPDX-License-Identifier: Apache-2.0
// The notebook: what a place is in words, the rows, the view with mouse and keys, Markdown.
#include <QtTest>

#include "tests/views/support/grabs.h"
#include "tests/views/support/tinyrun.h"
#include "views/notebook/notebooktext.h"
#include "views/notebook/notebookview.h"

#include <QAbstractItemModelTester>
#include <QLineEdit>
#include <QMenu>
#include <QRandomGenerator>
#include <QTableView>
#include <QTemporaryDir>
#include <QToolButton>

using namespace retro;
using namespace retro::views;

namespace
{

base::NodeId node(std::uint32_t id) { return base::NodeId(id); }

struct Fixture : tests::ViewContext
{
    NotebookModel items{model};
    QAbstractItemModelTester tester{&items, QAbstractItemModelTester::FailureReportingMode::QtTest};

    Fixture() { showTinyRun(); }
    void visitStep(std::uint32_t visit, SelectedThing thing = {})
    {
        items.visit({tests::endOfVisit(model, visit), thing});
    }
    QStringList column(int column) const
    {
        QStringList texts;
        for (int row = 0; row < items.rowCount(); ++row) {
            texts << items.index(row, column).data().toString();
        }
        return texts;
    }
    void write(int row, const QString& comment)
    {
        QVERIFY(items.setData(items.index(row, NotebookModel::CommentColumn), comment, Qt::EditRole));
    }
};

/// The view on screen, with its parts.
struct Shown : tests::ViewContext
{
    NotebookView view{model, cursor, selection};
    QTableView* table = view.findChild<QTableView*>();

    Shown()
    {
        showTinyRun();
        view.resize(640, 300);
        view.show();
        QApplication::setActiveWindow(&view);
        view.flush();
    }
    void visitStep(std::uint32_t visit, SelectedThing thing = {})
    {
        view.items().visit({tests::endOfVisit(model, visit), thing});
    }
    QPoint at(int row, int column) const { return table->visualRect(view.items().index(row, column)).center(); }
    QLineEdit* editor() const { return table->findChild<QLineEdit*>(); }
    /// Writes into the open comment and keeps it.
    void type(const QString& text)
    {
        QVERIFY(editor() != nullptr);
        QTest::keyClicks(editor(), text);
        QTest::keyClick(editor(), Qt::Key_Return);
        QTRY_VERIFY_WITH_TIMEOUT(editor() == nullptr, 30'000); // the view takes it with the next turn
    }
    QToolButton* button(const QString& text) const
    {
        for (auto* one : view.findChildren<QToolButton*>()) {
            if (one->text() == text) {
                return one;
            }
        }
        return nullptr;
    }
};

} // namespace

class NotebookTest : public QObject
{
    Q_OBJECT

private slots:
    void initTestCase() { tests::installLook(); }

    void aPlaceInWords()
    {
        Fixture f;
        const std::uint64_t end = f.model.run().eventCount();
        const NotebookEntry last = describePlace(f.model, {end, node(tests::kConv1)});
        QCOMPARE(*last.visit, tests::kTinyVisits - 1);
        QVERIFY(last.hasSelection());
        QCOMPARE(last.what, f.model.placeLabel(node(tests::kConv1)));
        const base::HandleId known = f.model.relevanceHandle(f.model.valueOf(node(tests::kConv1)));
        QVERIFY(known.isValid() && last.sum.has_value());
        QCOMPARE(*last.sum, f.model.run().handles[known.index()].sum);
        const NotebookEntry early = describePlace(f.model, {tests::endOfVisit(f.model, 0), node(tests::kConv1)});
        QVERIFY(!early.sum); // it had no relevance yet
        const NotebookEntry start = describePlace(f.model, {0, {}});
        QVERIFY(!start.visit && start.what.isEmpty() && !start.sum);
        const NotebookEntry bare = describePlace(f.model, {tests::endOfVisit(f.model, 5), {}});
        QCOMPARE(bare.mode, event::Mode::Search); // the sixth visit searches
        QVERIFY(!bare.what.isEmpty() && !bare.hasSelection());
        const NotebookEntry promise = describePlace(f.model, {end, base::PromiseId(std::uint32_t{0})});
        QVERIFY2(promise.what.startsWith("P0 of "), qPrintable(promise.what));
        QVERIFY(sentenceOf(promise).contains(promise.what));
    }

    void everySumIsThatOfTheState()
    {
        Fixture f;
        int known = 0;
        for (std::uint64_t position = 0; position <= f.model.run().eventCount(); ++position) {
            f.cursor.moveTo(position);
            for (std::uint32_t id = 0; id < tests::kTinyNodes; ++id) {
                const base::HandleId handle = f.model.relevanceHandle(f.model.valueOf(node(id)));
                const NotebookEntry entry = describePlace(f.model, {position, node(id)});
                QCOMPARE(entry.sum.has_value(), handle.isValid());
                if (handle.isValid()) {
                    QCOMPARE(*entry.sum, f.model.run().handles[handle.index()].sum);
                    ++known;
                }
            }
        }
        QVERIFY(known > 50);
    }

    void anythingCanBeDescribed()
    {
        Fixture f;
        QRandomGenerator random(7);
        for (int i = 0; i < 2000; ++i) {
            const std::uint32_t id = random.bounded(3) == 0 ? random.generate() : random.bounded(20U);
            const std::array<SelectedThing, 4> things{SelectedThing(), SelectedThing(node(id)),
                                                      SelectedThing(base::ValueId(id)),
                                                      SelectedThing(base::PromiseId(id))};
            const Place place{random.bounded(2) == 0 ? random.generate64() : random.generate64() % 300, things[id % 4]};
            static_cast<void>(describePlace(f.model, place));
            QVERIFY(placeOf(toNote(describePlace(f.model, place))) == place);
        }
    }

    void theTrailIsNewestFirst()
    {
        Fixture f;
        f.visitStep(0);
        f.visitStep(3);
        f.visitStep(3); // the same
        f.visitStep(3, node(tests::kAdd));
        QCOMPARE(f.column(NotebookModel::StepColumn), (QStringList{"4", "4", "1"}));
        QVERIFY(f.items.index(1, NotebookModel::PlaceColumn).data(NotebookModel::IsQuietRole).toBool());
        QVERIFY(!f.items.index(0, NotebookModel::PlaceColumn).data(NotebookModel::IsQuietRole).toBool());
        f.items.setLast({tests::endOfVisit(f.model, 0), {}});
        f.visitStep(0); // going back is no new place
        QCOMPARE(f.items.rowCount(), 3);
        f.visitStep(5);
        QCOMPARE(f.items.rowCount(), 4);
        f.items.clearTrail();
        QCOMPARE(f.items.rowCount(), 0);
    }

    void theTrailIsBounded()
    {
        Fixture f;
        f.visitStep(2);
        f.items.pin(0);
        for (int i = 0; i < NotebookModel::kMostTrail + 30; ++i) {
            f.visitStep(static_cast<std::uint32_t>(i % 2), node(static_cast<std::uint32_t>(i % 5)));
        }
        QCOMPARE(f.items.rowCount(), NotebookModel::kMostTrail + 1);
        QVERIFY(f.items.isPinned(0));
    }

    void pinnedRowsStandOnTopByStep()
    {
        Fixture f;
        for (const std::uint32_t visit : {1, 7, 4}) {
            f.visitStep(visit);
        }
        QCOMPARE(f.items.pin(1), 0); // step 8
        QCOMPARE(f.items.pin(1), 0); // step 5, before it
        QCOMPARE(f.column(NotebookModel::StepColumn), (QStringList{"5", "8", "2"}));
        f.write(1, "  where it\nis lost ");
        QCOMPARE(f.items.index(1, NotebookModel::CommentColumn).data().toString(), QStringLiteral("where it is lost"));
        QVERIFY(!f.items.setData(f.items.index(2, NotebookModel::CommentColumn), "not pinned", Qt::EditRole));
        f.visitStep(7); // pinned already
        QCOMPARE(f.items.rowCount(), 3);
        f.items.unpin(0);
        QCOMPARE(f.column(NotebookModel::StepColumn), (QStringList{"8", "5", "2"}));
        QCOMPARE(f.items.pinnedCount(), 1);
        QCOMPARE(f.items.pin(2), 0);
        f.items.unpin(1);
        QCOMPARE(f.column(NotebookModel::StepColumn), (QStringList{"2", "8", "5"}));
        f.items.remove(0);
        f.items.remove(1);
        QCOMPARE(f.column(NotebookModel::StepColumn), QStringList{"8"});
        QCOMPARE(f.items.pinnedCount(), 0);
        QVERIFY(f.items.index(0, NotebookModel::CommentColumn).data().toString().isEmpty()); // it is no note any more
    }

    void anyOrderOfDoingsKeepsTheModelWhole()
    {
        Fixture f; // the tester looks on
        QRandomGenerator random(11);
        for (int i = 0; i < 600; ++i) {
            const int rows = std::max(1, f.items.rowCount());
            switch (random.bounded(6)) {
            case 0:
                f.items.pin(random.bounded(rows));
                break;
            case 1:
                f.items.unpin(random.bounded(rows));
                break;
            case 2:
                f.items.remove(random.bounded(3) == 0 ? random.bounded(rows) : -1);
                break;
            case 3:
                f.items.pin(Place{static_cast<std::uint64_t>(random.bounded(40)), {}});
                break;
            default:
                f.visitStep(static_cast<std::uint32_t>(random.bounded(10)),
                            node(static_cast<std::uint32_t>(random.bounded(8))));
            }
            std::uint64_t before = 0;
            for (int row = 0; row < f.items.pinnedCount(); ++row) {
                QVERIFY(f.items.entryAt(row).place.position >= before);
                before = f.items.entryAt(row).place.position;
            }
        }
        QVERIFY(f.items.rowCount() > 10);
    }

    void notesComeBack()
    {
        Fixture f;
        const std::uint64_t end = f.model.run().eventCount();
        f.items.pin(Place{end, base::PromiseId(std::uint32_t{1})});
        f.items.pin(Place{3, {}});
        f.items.pin(Place{end, f.model.valueOf(node(tests::kFc))});
        f.write(0, "začátek | *start*");
        const std::vector<trace::Note> notes = f.items.notes();
        QCOMPARE(notes.size(), std::size_t{3});
        QCOMPARE(QString::fromStdString(notes[0].text), QStringLiteral("začátek | *start*"));
        const QStringList places = f.column(NotebookModel::PlaceColumn);
        f.showTinyRun(); // another run
        QCOMPARE(f.items.rowCount(), 0);
        f.items.setNotes(notes);
        QVERIFY(f.items.notes() == notes);
        QCOMPARE(f.column(NotebookModel::PlaceColumn), places);
        f.model.setRun({f.model.sharedRun(), std::make_shared<trace::Timeline>(f.model.timeline())});
        QVERIFY(f.items.notes() == notes); // the same run with other numbers
        f.model.clear();
        QCOMPARE(f.items.rowCount(), 0);
        QCOMPARE(f.items.pin(Place{3, {}}), -1);
    }

    void asManyAsAFileHolds()
    {
        Fixture f;
        std::vector<trace::Note> many(trace::kMostNotes);
        for (std::size_t i = 0; i < many.size(); ++i) {
            many[i] = {1, trace::NoteSubject::Node, static_cast<std::uint32_t>(i % 8), std::string()};
        }
        f.items.setNotes(many);
        const QSignalSpy refused(&f.items, &NotebookModel::refused);
        QCOMPARE(f.items.pin(Place{5, {}}), -1);
        QCOMPARE(refused.count(), 1);
        f.write(0, QString(5000, QChar(0x20AC))); // three bytes each
        QVERIFY(f.items.notes()[0].text.size() <= trace::kMostNoteBytes);
        QVERIFY(!f.items.notes()[0].text.empty());
    }

    void aClickSelectsAndADoubleClickGoes()
    {
        Shown s;
        s.visitStep(2, node(tests::kAdd));
        s.visitStep(6, node(tests::kFc));
        const std::uint64_t end = s.cursor.position();
        QTest::mouseClick(s.table->viewport(), Qt::LeftButton, {}, s.at(1, NotebookModel::PlaceColumn));
        QVERIFY(s.selection.node() == node(tests::kAdd));
        QCOMPARE(s.cursor.position(), end); // selecting never moves time
        QTest::mouseDClick(s.table->viewport(), Qt::LeftButton, {}, s.at(1, NotebookModel::PlaceColumn));
        QCOMPARE(s.cursor.position(), tests::endOfVisit(s.model, 2));
        s.view.flush();
        QVERIFY(s.view.items().index(1, 0).data(NotebookModel::IsHereRole).toBool());
        QVERIFY(!s.view.items().index(0, 0).data(NotebookModel::IsHereRole).toBool());
        s.view.items().visit({s.cursor.position(), s.selection.thing()}); // as the window tells when it stands still
        QCOMPARE(s.view.items().rowCount(), 2);
    }

    void keysAndButtons()
    {
        Shown s;
        QVERIFY(!s.button("Go to")->isEnabled());
        QVERIFY(!s.view.message().isEmpty()); // how places come here
        s.visitStep(1);
        s.visitStep(4, node(tests::kConv2));
        QVERIFY(s.view.message().isEmpty());
        s.table->setFocus();
        s.table->setCurrentIndex(s.view.items().index(0, 0));
        QTest::keyClick(s.table, Qt::Key_Return);
        QCOMPARE(s.cursor.position(), tests::endOfVisit(s.model, 4));
        QVERIFY(s.selection.node() == node(tests::kConv2));
        QTest::keyClick(s.table, Qt::Key_Down);
        QCOMPARE(s.cursor.position(), tests::endOfVisit(s.model, 4));
        s.button("Go to")->click();
        QCOMPARE(s.cursor.position(), tests::endOfVisit(s.model, 1));
        QTest::keyClick(s.table, Qt::Key_Insert); // pins with a comment
        s.type("first look");
        QCOMPARE(s.view.items().pinnedCount(), 1);
        QCOMPARE(s.view.items().entryAt(0).comment, QStringLiteral("first look"));
        QCOMPARE(s.cursor.position(), tests::endOfVisit(s.model, 1)); // Enter in the comment goes nowhere
        QCOMPARE(s.view.subject(), QStringLiteral("1 pinned, 1 place"));
        s.button("Clear trail")->click();
        QCOMPARE(s.view.items().rowCount(), 1);
        QVERIFY(!s.button("Clear trail")->isEnabled());
        s.table->setCurrentIndex(s.view.items().index(0, 0));
        QTest::keyClick(s.table, Qt::Key_Delete);
        QCOMPARE(s.view.items().rowCount(), 0);
    }

    void pinningThePresentPlace()
    {
        Shown s;
        s.cursor.moveTo(tests::endOfVisit(s.model, 3));
        s.selection.selectNode(node(tests::kPool));
        s.view.pinHere();
        QVERIFY(s.editor() != nullptr);
        QCOMPARE(s.editor()->maxLength(), NotebookModel::kMostCharacters);
        s.type("half way");
        QCOMPARE(s.view.items().entryAt(0).comment, QStringLiteral("half way"));
        s.view.pinHere(); // there already: its comment again
        QCOMPARE(s.view.items().rowCount(), 1);
        QVERIFY(s.editor() != nullptr);
        QCOMPARE(s.editor()->text(), QStringLiteral("half way"));
        QTest::keyClick(s.editor(), Qt::Key_Escape);
        s.model.clear();
        s.view.pinHere();
        QCOMPARE(s.view.items().rowCount(), 0);
    }

    void theMenuOfARow()
    {
        Shown s;
        s.visitStep(4, node(tests::kConv2));
        emit s.table->customContextMenuRequested(s.at(0, NotebookModel::PlaceColumn));
        auto* menu = s.view.findChild<QMenu*>();
        QVERIFY(menu != nullptr);
        QStringList texts;
        for (const QAction* action : menu->actions()) {
            texts << action->text();
        }
        QVERIFY(texts.contains("Go to") && texts.contains("Pin with a comment") && texts.contains("Remove"));
        menu->actions().front()->trigger();
        QCOMPARE(s.cursor.position(), tests::endOfVisit(s.model, 4));
        menu->close();
    }

    void markdownIsEscaped()
    {
        QCOMPARE(markdownText("a|b\n*c* <d> [e](f) `g` \\"),
                 QStringLiteral("a\\|b \\*c\\* \\<d\\> \\[e\\](f) \\`g\\` \\\\"));
        Shown s;
        s.visitStep(4, node(tests::kConv2));
        s.view.pinHere();
        s.type("50 %1 | *lost*");
        const QTemporaryDir folder;
        const QString path = folder.filePath("notebook.md");
        const auto done = s.view.exportTo(path.toStdString());
        QVERIFY2(done.ok(), done.ok() ? "" : done.error().text().c_str());
        QFile file(path);
        QVERIFY(file.open(QIODevice::ReadOnly));
        const QString text = QString::fromUtf8(file.readAll());
        QVERIFY(text.startsWith("# Notebook"));
        QVERIFY2(text.contains("50 %1 \\| \\*lost\\* |"), qPrintable(text));
        QVERIFY(text.contains("Rules: ") && text.contains("Hash of the graph: "));
        for (const QString& line : text.split('\n')) { // every row has every cell
            QVERIFY(!line.startsWith('|') || QString(line).remove("\\|").count('|') == 7);
        }
    }

    void nothingIsSaidInWords()
    {
        Shown s;
        const auto done = s.view.exportTo("/nowhere/notebook.md");
        QVERIFY(!done.ok());
        QCOMPARE(done.error().code, base::ErrorCode::Usage);
        QVERIFY(s.view.subject().isEmpty());
        s.model.clear();
        s.view.flush();
        QVERIFY(!s.button("Pin here")->isEnabled());
    }

    void isDrawnInBothThemes()
    {
        Shown s;
        for (const std::uint32_t visit : {1, 5, 6, 8}) {
            s.visitStep(visit, visit == 8 ? SelectedThing(node(tests::kConv1)) : SelectedThing());
        }
        s.view.items().pin(0);
        s.cursor.moveTo(tests::endOfVisit(s.model, 6));
        for (const ThemeKind kind : {ThemeKind::Light, ThemeKind::Dark}) {
            const QImage image = tests::grab(s.view, {640, 260}, kind, QStringLiteral("notebook"));
            QVERIFY(tests::colorCount(image) > 20);
            QVERIFY(tests::hasColor(image, Theme::of(kind)[Role::Accent])); // the pin, and the present place
        }
    }

    void everyControlHasAName()
    {
        const Shown s;
        QVERIFY(!s.view.accessibleName().isEmpty() && !s.table->accessibleName().isEmpty());
        for (const auto* button : s.view.findChildren<QToolButton*>()) {
            QVERIFY(!button->accessibleName().isEmpty() && !button->toolTip().isEmpty());
        }
    }
};

QTEST_MAIN(NotebookTest)
#include "tst_notebook.moc"
