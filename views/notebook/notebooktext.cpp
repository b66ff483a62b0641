// SPDX-License-Identifier: Apache-2.0
#include "views/notebook/notebooktext.h"

#include "views/common/numbertext.h"
#include "views/common/paint/marks.h"
#include "views/common/run/runtexts.h"
#include "views/notebook/notebooktranslation.h"

#include <QStringList>

namespace retro::views
{

namespace
{

/// Facts of the run as a list, in this order.
QString factsText(const RunModel& model)
{
    const PictureTexts texts = runTexts(model.run(), model.run().eventCount());
    const std::pair<const char*, QString> facts[] = {{"model", notebookText("Model")},
                                                     {"model_hash", notebookText("Hash of the graph")},
                                                     {"rules", notebookText("Rules")},
                                                     {"target", notebookText("Target")},
                                                     {"software", notebookText("Written by")}};
    QString text;
    for (const auto& [key, name] : facts) {
        if (const auto at = texts.find(key); at != texts.end()) {
            text += QStringLiteral("- %1: %2\n").arg(name, markdownText(QString::fromStdString(at->second)));
        }
    }
    return text;
}

QString rowText(const NotebookEntry& entry)
{
    const QString step = entry.visit ? QString::number(*entry.visit + 1) : notebookText("start");
    const QString mode = entry.mode == event::Mode::None ? QString() : wordOf(entry.mode);
    // Not through arg(): a name may contain "%1".
    const QStringList cells{step,
                            QString::number(entry.place.position),
                            mode,
                            entry.hasSelection() || entry.what.isEmpty()
                                ? markdownText(entry.what)
                                : notebookText("at ") + markdownText(entry.what),
                            entry.sum ? valueText(*entry.sum, 6) : QStringLiteral("–"),
                            markdownText(entry.comment)};
    return QStringLiteral("| ") + cells.join(QStringLiteral(" | ")) + QStringLiteral(" |\n");
}

QString tableText(const QString& heading, const NotebookModel& notebook, int first, int end)
{
    if (first == end) {
        return {};
    }
    QString text = QStringLiteral("\n## ") + heading + QStringLiteral("\n\n| ") + notebookText("Step") +
                   QStringLiteral(" | ") + notebookText("Events") + QStringLiteral(" | ") + notebookText("Mode") +
                   QStringLiteral(" | ") + notebookText("Place") + QStringLiteral(" | ") + notebookText("Σ R") +
                   QStringLiteral(" | ") + notebookText("Comment") +
                   QStringLiteral(" |\n|---:|---:|---|---|---:|---|\n");
    for (int row = first; row < end; ++row) {
        text += rowText(notebook.entryAt(row));
    }
    return text;
}

} // namespace

QString markdownText(const QString& text)
{
    static const QString kMarkup = QStringLiteral("\\`*_{}[]<>#|~&!");
    QString escaped;
    for (const QChar c : text.simplified()) {
        if (kMarkup.contains(c)) {
            escaped += QLatin1Char('\\');
        }
        escaped += c;
    }
    return escaped;
}

std::string notebookMarkdown(const RunModel& model, const NotebookModel& notebook)
{
    const QString name = markdownText(QString::fromStdString(model.run().facts.modelName));
    QString text = QStringLiteral("# ") + notebookText("Notebook") +
                   (name.isEmpty() ? QString() : QStringLiteral(": ") + name) + QStringLiteral("\n\n");
    text += factsText(model);
    text += tableText(notebookText("Pinned places"), notebook, 0, notebook.pinnedCount());
    text += tableText(notebookText("Trail, newest first"), notebook, notebook.pinnedCount(), notebook.rowCount());
    return text.toStdString();
}

} // namespace retro::views
