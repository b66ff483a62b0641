// SPDX-License-Identifier: Apache-2.0
#include "views/classes/classesview.h"

#include "views/classes/classespane.h"
#include "views/common/csv.h"
#include "views/common/numbertext.h"
#include "views/common/paint/theme.h"

#include <QPainter>
#include <QScrollArea>

namespace retro::views
{

ClassesView::ClassesView(RunModel& model, Cursor& cursor, Selection& selection, QWidget* parent)
    : View(model, cursor, selection, parent)
{
    setAccessibleName(tr("Classes"));
    setEmptyText(tr("No answer yet. Open a model and a picture, then run."));
    m_pane = new ClassesPane(this);
    m_pane->setAccessibleName(tr("Best classes"));
    auto* scroll = qobject_cast<QScrollArea*>(makeScroll(m_pane));
    setBody(scroll);
    connect(m_pane, &ClassesPane::chosen, this, [this](std::int64_t index) {
        if (m_pane->answer().isSegments) {
            emit placeWanted(QStringLiteral("segment=%1").arg(index));
        } else {
            emit classWanted(index);
        }
    });
    connect(m_pane, &ClassesPane::currentMoved, scroll, [scroll](const QRect& row) {
        scroll->ensureVisible(row.center().x(), row.top(), 0, 0);
        scroll->ensureVisible(row.center().x(), row.bottom(), 0, 0);
    });
}

QString ClassesView::subject() const
{
    const ClassAnswer& answer = m_pane->answer();
    if (answer.best.empty()) {
        return {};
    }
    return tr("%1 best of %2").arg(answer.best.size()).arg(countText(answer.classes));
}

QString ClassesView::title() const { return m_pane->answer().isSegments ? tr("Segments") : tr("Classes"); }

QString ClassesView::hint() const
{
    if (m_pane->answer().isSegments) {
        return tr("Which class wins where, and the sum of its scores there.");
    }
    return m_pane->answer().kind == formats::ScoreKind::Numbers ? tr("What the model gives out.")
                                                                : tr("How sure the model is.");
}

bool ClassesView::canShow(const SelectedThing& thing) const
{
    return model().hasRun() && model().valueOf(thing) == model().run().facts.targetValue;
}

QString ClassesView::emptyReason() const
{
    return m_pane->answer().best.empty() ? tr("The explained output is not a row of numbers, one for each class; its "
                                              "elements are chosen in the pane Output.")
                                         : QString();
}

void ClassesView::refresh(Changes changes)
{
    if (changes.testFlag(Change::Run)) {
        m_pane->setAnswer(classAnswer(model()));
        emit captionChanged();
    }
}

std::string ClassesView::csv() const
{
    CsvText text({"class", "name", "probability", "score"});
    for (const ClassScore& score : m_pane->answer().best) {
        text.row(score.index, score.name, score.probability, score.score);
    }
    return text.take();
}

base::Result<void> ClassesView::exportTo(const std::filesystem::path& path)
{
    if (m_pane->answer().best.empty()) {
        return base::usageError("there are no classes to write", path.string());
    }
    const QSizeF size(280, m_pane->sizeHint().height() + 16);
    const auto paint = [&](QPainter& painter, const Theme& light) {
        paintClasses(painter, m_pane->answer(), layoutClasses(m_pane->answer(), {12, 8, size.width() - 24, 0}), light);
    };
    return write(path, csv(), size, paint, 1);
}

} // namespace retro::views

#include "moc_classesview.cpp"
