// SPDX-License-Identifier: Apache-2.0
#include "app/common/report.h"

#include "app/common/exports.h"
#include "app/common/guiapplication.h"
#include "app/common/reportpage.h"
#include "core/base/file.h"
#include "core/trace/ledgersummary.h"
#include "views/classes/classscores.h"
#include "views/common/numbertext.h"
#include "views/common/paint/marks.h"
#include "views/common/run/runtexts.h"
#include "views/notebook/notebookentry.h"

#include <QCoreApplication>
#include <QFile>
#include <QTemporaryDir>

#include <algorithm>

namespace retro::app
{

namespace
{

using base::Result;
using views::countText;
using views::valueText;

constexpr std::size_t kMostNodes = 20;

QString translated(const char* text) { return QCoreApplication::translate("retro::app::report", text); }

QString text(const std::string& utf8) { return QString::fromStdString(utf8); }

/// A run on a stage of its own, for what views know of runs.
struct Reader
{
    views::Cursor cursor;
    views::RunModel model{cursor};
};

class Report
{
public:
    Report(const views::RunHandle& handle, std::span<const trace::Note> notes, const ExportRequest& picture,
           const ReportedDiagnosis& diagnosis)
        : m_handle(handle), m_run(*handle.run), m_notes(notes), m_picture(picture), m_diagnosis(diagnosis),
          m_position(std::min(picture.position.value_or(m_run.eventCount()), m_run.eventCount())), m_page(title())
    {
        m_reader.model.setRun(handle);
        m_reader.cursor.moveTo(m_position);
    }

    Result<QString> make()
    {
        if (!m_folder.isValid()) {
            return base::outputError("there is no folder for temporary files", m_folder.path().toStdString());
        }
        addFacts();
        addClasses();
        addDiagnosis(m_page, m_diagnosis);
        RETRO_CHECK(addHeatmap());
        if (m_run.eventCount() > 0) {
            drawViews();
            m_page.addHeading(translated("Timeline"));
            RETRO_CHECK(addView(0, translated("Modes, frontier and promises over the steps of the pass")));
            m_page.addHeading(translated("Ledger"));
            RETRO_CHECK(addView(1, translated("Where the relevance went")));
            addCauses();
            addNodes();
        }
        addNotes();
        m_page.addParagraph(translated("Written by %1.").arg(text(views::softwareText())));
        return m_page.take();
    }

private:
    [[nodiscard]] QString title() const
    {
        return translated("Relevance report") +
               (m_run.facts.modelName.empty() ? QString() : QStringLiteral(": ") + text(m_run.facts.modelName));
    }

    void addFacts()
    {
        const trace::RunFacts& facts = m_run.facts;
        QList<QPair<QString, QString>> rows;
        const auto add = [&](const QString& name, const QString& what) {
            if (!what.isEmpty()) {
                rows.append({name, what});
            }
        };
        add(translated("Model"), text(facts.modelName));
        add(translated("What it is"), text(facts.title));
        add(translated("Hash of the graph"), text(views::modelHashText(*m_run.graph)));
        add(translated("Graph"),
            translated("%1 nodes").arg(countText(static_cast<std::int64_t>(m_run.graph->nodeCount()))));
        add(translated("Input"), inputs());
        if (facts.input) {
            add(translated("Input file"), text(facts.input->file));
            add(translated("True class"), text(facts.input->trueClass));
        }
        add(translated("Target"), target());
        add(translated("Start"), text(facts.start));
        add(translated("Rules"), text(facts.composite));
        add(translated("Engine"), text(facts.engine));
        add(translated("Saved for the pass"), text(facts.save));
        add(translated("Precision"), text(facts.precision));
        if (m_run.eventCount() > 0) {
            add(translated("Run"),
                translated("%1 visits, %2 events")
                    .arg(countText(m_run.visitCount()), countText(static_cast<std::int64_t>(m_run.eventCount()))));
        }
        if (m_position < m_run.eventCount()) {
            add(translated("Pictures"),
                translated("after %1 events").arg(countText(static_cast<std::int64_t>(m_position))));
        }
        m_page.addFacts(rows);
    }

    [[nodiscard]] QString inputs() const
    {
        QStringList all;
        for (const base::ValueId id : m_run.graph->inputs()) {
            const QString shape = m_reader.model.shapeText(id);
            all << m_reader.model.label(id) + (shape.isEmpty() ? QString() : QStringLiteral(" (%1)").arg(shape));
        }
        return all.join(QStringLiteral(", "));
    }

    [[nodiscard]] QString target() const
    {
        const trace::RunFacts& facts = m_run.facts;
        QStringList all;
        for (std::size_t i = 0; i < facts.targetIndex.size(); ++i) {
            const QString logit =
                i < facts.targetLogit.size() ? QStringLiteral(" (%1)").arg(valueText(facts.targetLogit[i])) : QString();
            all << m_reader.model.className(facts.targetIndex[i]) + logit;
        }
        if (all.isEmpty() && facts.targetValue.isValid()) {
            all << m_reader.model.label(facts.targetValue);
        }
        return all.join(QStringLiteral(", "));
    }

    void addClasses()
    {
        const views::ClassAnswer answer = views::classAnswer(m_reader.model);
        if (answer.best.empty()) {
            return;
        }
        m_page.addHeading(translated("Best classes"));
        m_page.addParagraph(views::answerSentence(answer));
        QList<QStringList> rows;
        for (const views::ClassScore& score : answer.best) {
            rows << QStringList{score.isTarget ? translated("%1 (explained)").arg(score.name) : score.name,
                                valueText(score.score),
                                score.probability ? views::percentText(*score.probability) : QStringLiteral("–")};
        }
        m_page.addTable(
            {translated("Class"), QLatin1Char('#') + translated("Score"), QLatin1Char('#') + translated("Probability")},
            rows);
    }

    [[nodiscard]] std::filesystem::path pathOf(const QString& name) const
    {
        return m_folder.filePath(name).toStdString();
    }

    /// The bytes of a file, when it was written.
    [[nodiscard]] Result<QByteArray> bytesOf(const Result<void>& written, const std::filesystem::path& path) const
    {
        RETRO_CHECK(written);
        QFile file(QString::fromStdString(path.string()));
        if (!file.open(QIODevice::ReadOnly)) {
            return base::outputError("a picture for the report was written but cannot be read", path.string());
        }
        return file.readAll();
    }

    void addReason(const base::Error& error)
    {
        m_page.addParagraph(translated("There is none: %1.").arg(text(error.message)));
    }

    /// What was not asked for by name may be missing; the page says why.
    Result<void> addHeatmap()
    {
        m_page.addHeading(translated("Heatmap"));
        const std::filesystem::path path = pathOf(QStringLiteral("heatmap.png"));
        const auto picture = bytesOf(exportHeatmap(m_run, path, m_picture), path);
        if (picture.ok()) {
            if (const QString warning = warningForHeatmap(m_diagnosis); !warning.isEmpty()) {
                m_page.addParagraph(warning);
            }
            m_page.addPicture(translated("Relevance of the input"), QStringLiteral("image/png"), *picture);
            return {};
        }
        const bool isAsked = !m_picture.value.empty() || m_picture.colormap != ExportRequest().colormap;
        if (isAsked || picture.error().code != base::ErrorCode::Usage) {
            return picture.error();
        }
        addReason(picture.error());
        return {};
    }

    /// Timeline and ledger in both themes, light first.
    void drawViews()
    {
        for (const bool isDark : {false, true}) {
            for (const char* view : {"timeline", "ledger"}) {
                const QString name = QLatin1String(view) + (isDark ? QStringLiteral("-dark") : QString());
                ViewFile& drawing = m_drawings.emplace_back();
                drawing.request.view = view;
                drawing.request.position = m_position;
                drawing.request.isDark = isDark;
                drawing.path = pathOf(name + QStringLiteral(".svg"));
            }
        }
        m_drawn = exportViews(m_handle, m_drawings);
    }

    /// The drawing of that number (as drawViews() made them); the page says why there is none.
    Result<void> addView(std::size_t number, const QString& words)
    {
        const std::size_t dark = number + m_drawings.size() / 2;
        const auto light = bytesOf(m_drawn[number], m_drawings[number].path);
        if (!light.ok() && light.error().code == base::ErrorCode::Usage) {
            addReason(light.error());
            return {};
        }
        RETRO_CHECK(light);
        RETRO_TRY(const QByteArray other, bytesOf(m_drawn[dark], m_drawings[dark].path));
        m_page.addPicture(words, QStringLiteral("image/svg+xml"), *light, other);
        return {};
    }

    [[nodiscard]] static QString amount(double value) { return valueText(value == 0 ? 0.0 : value, 6); }

    void addCauses()
    {
        const trace::LedgerSummary& sums = summary();
        const auto row = [&](const QString& name, double value) {
            return QStringList{name, amount(value),
                               sums.start != 0 ? views::percentText(value / sums.start, 2) : QStringLiteral("–")};
        };
        QList<QStringList> rows{row(translated("started"), sums.start)};
        for (std::size_t i = 0; i < sums.causes.size(); ++i) {
            if (sums.causes[i] != 0) {
                rows << row(QString::fromUtf8(event::nameOf(static_cast<event::Cause>(i)).data()), -sums.causes[i]);
            }
        }
        rows << row(translated("unexplained"), -sums.unexplained) << row(translated("reached the inputs"), sums.leaves)
             << row(translated("rest"), sums.rest);
        m_page.addTable({translated("What happened to the relevance"), QLatin1Char('#') + translated("Amount"),
                         QLatin1Char('#') + translated("Share of the start")},
                        rows);
    }

    void addNodes()
    {
        const std::vector<trace::NodeBalance>& nodes = summary().nodes;
        if (nodes.empty()) {
            return;
        }
        m_page.addHeading(translated("Nodes that change most"));
        if (nodes.size() > kMostNodes) {
            m_page.addParagraph(translated("The first %1 of %2.")
                                    .arg(countText(static_cast<std::int64_t>(kMostNodes)),
                                         countText(static_cast<std::int64_t>(nodes.size()))));
        }
        QList<QStringList> rows;
        for (const trace::NodeBalance& node : std::span(nodes).first(std::min(nodes.size(), kMostNodes))) {
            const auto cause = node.largestCause();
            rows << QStringList{m_reader.model.label(node.node),
                                m_reader.model.op(node.node),
                                amount(node.arrived),
                                amount(node.handedOn),
                                amount(node.unexplained),
                                cause ? QString::fromUtf8(event::nameOf(*cause).data()) + QLatin1Char(' ') +
                                            amount(node.causes[static_cast<std::size_t>(*cause)])
                                      : QStringLiteral("–")};
        }
        m_page.addTable({translated("Node"), translated("Operator"), QLatin1Char('#') + translated("Arrived"),
                         QLatin1Char('#') + translated("Handed on"), QLatin1Char('#') + translated("Unexplained"),
                         translated("Largest cause")},
                        rows);
    }

    void addNotes()
    {
        if (m_notes.empty()) {
            return;
        }
        m_page.addHeading(translated("Notes"));
        QList<QStringList> rows;
        for (const trace::Note& note : m_notes) {
            const views::NotebookEntry entry = views::describePlace(m_reader.model, views::placeOf(note));
            rows << QStringList{entry.visit ? QString::number(*entry.visit + 1) : translated("start"),
                                entry.mode == event::Mode::None ? QString() : views::wordOf(entry.mode), entry.what,
                                entry.sum ? amount(*entry.sum) : QStringLiteral("–"), text(note.text)};
        }
        m_page.addTable({QLatin1Char('#') + translated("Step"), translated("Mode"), translated("Place"),
                         QLatin1Char('#') + translated("Σ R"), translated("Comment")},
                        rows);
    }

    const trace::LedgerSummary& summary()
    {
        if (!m_summary) {
            m_summary = trace::summarise(m_run);
        }
        return *m_summary;
    }

    const views::RunHandle& m_handle;
    const trace::Run& m_run;
    std::span<const trace::Note> m_notes;
    const ExportRequest& m_picture;
    const ReportedDiagnosis& m_diagnosis;
    std::uint64_t m_position;
    ReportPage m_page;
    Reader m_reader;
    std::optional<trace::LedgerSummary> m_summary;
    QTemporaryDir m_folder;
    std::vector<ViewFile> m_drawings;
    std::vector<Result<void>> m_drawn;
};

/// What XML 1.0 cannot hold, not even escaped.
bool isForbidden(const QString& text, qsizetype at)
{
    const QChar c = text[at];
    if (c.isSurrogate()) {
        const bool isPair = c.isHighSurrogate() ? at + 1 < text.size() && text[at + 1].isLowSurrogate()
                                                : at > 0 && text[at - 1].isHighSurrogate();
        return !isPair;
    }
    const char16_t code = c.unicode();
    return (code < 0x20 && code != '\t' && code != '\n' && code != '\r') || (code >= 0x7f && code < 0xa0) ||
           code >= 0xfffe;
}

} // namespace

QString htmlText(const QString& text)
{
    QString safe = text;
    for (qsizetype i = 0; i < safe.size(); ++i) {
        if (isForbidden(text, i)) {
            safe[i] = QChar::ReplacementCharacter;
        }
    }
    return safe.toHtmlEscaped().replace(QLatin1Char('\''), QStringLiteral("&#39;"));
}

Result<QString> reportHtml(const views::RunHandle& run, std::span<const trace::Note> notes,
                           const ExportRequest& picture, const ReportedDiagnosis& diagnosis)
{
    ensureGuiApplication();
    return Report(run, notes, picture, diagnosis).make();
}

Result<void> writeReport(const std::filesystem::path& path, const views::RunHandle& run,
                         std::span<const trace::Note> notes, const ExportRequest& picture,
                         const ReportedDiagnosis& diagnosis)
{
    RETRO_CHECK(checkEnding("a report", kReportEndings, path));
    RETRO_TRY(const QString html, reportHtml(run, notes, picture, diagnosis));
    return base::writeFile(path, html.toStdString());
}

} // namespace retro::app
