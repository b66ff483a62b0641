// SPDX-License-Identifier: Apache-2.0
// The example of docs/extending/view.md and export.md: compiled, run, and compared with the pages letter by letter.
#include <QtTest>

#include "core/base/file.h"
#include "tests/docs/snippet.h"
#include "tests/views/support/grabs.h"
#include "tests/views/support/tinyrun.h"
#include "views/common/cursor.h"
#include "views/common/view.h"

#include <fmt/format.h>

#include <QLabel>
#include <QTemporaryDir>

using namespace retro;

namespace
{

// [view]
using namespace retro::views;

/// How far the run on screen has come.
class ProgressView final : public View
{
public:
    ProgressView(RunModel& model, Cursor& cursor, Selection& selection, QWidget* parent = nullptr)
        : View(model, cursor, selection, parent), m_words(new QLabel(this))
    {
        setAccessibleName(title());
        setEmptyText(tr("How far the run has come. Open a model first."));
        setBody(m_words);
    }

    QString title() const override { return tr("Progress"); }
    QString hint() const override { return tr("Events that have been applied, of all that there are"); }
    bool canShow(const SelectedThing&) const override { return false; } // it shows no single thing

    // In export.md.
    base::Result<void> exportTo(const std::filesystem::path& path) override;

protected:
    // Once per frame at most, with what changed since the last time; never while nobody sees it.
    void refresh(Changes) override
    {
        m_words->setText(tr("%1 of %2 events").arg(cursor().position()).arg(cursor().end()));
        emit captionChanged();
    }

private:
    QLabel* m_words;
};
// [end of view]

// [export]
base::Result<void> ProgressView::exportTo(const std::filesystem::path& path)
{
    if (!model().hasRun()) {
        return base::usageError("there is no run to write; open a model and run it first", path.string());
    }
    return base::writeFile(path, fmt::format("applied,events\n{},{}\n", cursor().position(), cursor().end()));
}
// [end of export]

QString codeBetween(const char* begin, const char* end)
{
    return tests::between(tests::sourceText("tests/docs/extendingview.cpp"), QLatin1String(begin), QLatin1String(end));
}

QString codeOf(const char* page) { return tests::between(tests::sourceText(page), "```cpp", "```"); }

} // namespace

class ExtendingView : public QObject
{
    Q_OBJECT

private slots:
    void initTestCase() { tests::installLook(); }

    void thePagesShowThisCode()
    {
        QVERIFY(!codeOf("docs/extending/view.md").isEmpty() && !codeOf("docs/extending/export.md").isEmpty());
        QCOMPARE(codeOf("docs/extending/view.md"), codeBetween("// [view]", "// [end of view]"));
        QCOMPARE(codeOf("docs/extending/export.md"), codeBetween("// [export]", "// [end of export]"));
    }

    void itFollowsTheCursor()
    {
        tests::ViewContext context;
        ProgressView view(context.model, context.cursor, context.selection);
        view.resize(200, 100);
        view.show();
        context.showTinyRun();
        view.flush();
        const QString end = QString::number(context.cursor.end());
        const auto says = [&](const QString& words) {
            const auto labels = view.findChildren<QLabel*>();
            return std::any_of(labels.begin(), labels.end(), [&](const QLabel* one) { return one->text() == words; });
        };
        QVERIFY(says(end + " of " + end + " events"));
        context.cursor.moveTo(3);
        view.flush();
        QVERIFY(says("3 of " + end + " events"));
    }

    void itIsWritten()
    {
        tests::ViewContext context;
        ProgressView view(context.model, context.cursor, context.selection);
        const QTemporaryDir folder;
        const std::string path = folder.filePath(QStringLiteral("progress.csv")).toStdString();
        QCOMPARE(view.exportTo(path).error().code, base::ErrorCode::Usage); // no run
        context.showTinyRun();
        QVERIFY(view.exportTo(path).ok());
        const auto text = base::readTextFile(path, 1000);
        QVERIFY(text.ok() && text->starts_with("applied,events\n"));
    }
};

QTEST_MAIN(ExtendingView)
#include "extendingview.moc"
