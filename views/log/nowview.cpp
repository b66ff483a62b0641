// SPDX-License-Identifier: Apache-2.0
#include "views/log/nowview.h"

#include "views/common/numbertext.h"
#include "views/log/nowpane.h"

#include <QTimer>

#include <algorithm>

namespace retro::views
{

namespace
{
constexpr int kFastFigures = 100; // milliseconds between changes that can still be read
} // namespace

NowView::NowView(RunModel& model, Cursor& cursor, Selection& selection, QWidget* parent)
    : View(model, cursor, selection, parent), m_rest(new QTimer(this))
{
    setAccessibleName(tr("Now"));
    setEmptyText(tr("Says what happens at each step. Open a model and run it."));
    m_pane = new NowPane(this);
    setBody(makeScroll(m_pane));
    m_rest->setSingleShot(true);
    connect(m_rest, &QTimer::timeout, this, [this] { schedule(Change::State); });
    connect(&cursor, &Cursor::speedChanged, this, [this] {
        m_shown.invalidate();
        schedule(Change::State);
    });
    connect(m_pane, &NowPane::eventChosen, this, &NowView::choose);
    connect(m_pane, &NowPane::eventWanted, this, [this](quint64 step) { this->cursor().moveTo(step + 1); });
    connect(m_pane, &NowPane::stepWanted, this, [this](int direction) {
        const std::uint64_t position = this->cursor().position();
        if (direction > 0 || position > 0) {
            this->cursor().moveTo(direction > 0 ? position + 1 : position - 1);
        }
    });
}

QString NowView::subject() const
{
    return model().hasRun() ? tr("event %1 of %2")
                                  .arg(countText(static_cast<std::int64_t>(model().position())),
                                       countText(static_cast<std::int64_t>(model().run().eventCount())))
                            : QString();
}

bool NowView::canShow(const SelectedThing& thing) const { return std::holds_alternative<std::monostate>(thing); }

void NowView::choose(std::uint64_t step)
{
    const base::NodeId node(model().run().events[step].node);
    if (node.isValid() && node.index() < model().graph().runNodeCount()) {
        selection().selectNode(node);
    }
}

void NowView::refresh(Changes changes)
{
    if (!(changes & (Change::Run | Change::State | Change::Theme))) {
        return;
    }
    const bool isFast = trace::speedClassOf(cursor().speed()) == trace::SpeedClass::Sum;
    const bool isSoon = isFast && m_shown.isValid() && m_shown.elapsed() < kFastFigures;
    if (isSoon && !changes.testFlag(Change::Run)) {
        m_rest->start(std::max(1, kFastFigures - static_cast<int>(m_shown.elapsed())));
        return;
    }
    m_shown.start();
    const auto motion = model().derived<trace::Motion>();
    m_pane->setEvents(eventsAround(model()));
    m_pane->setSpan(isFast ? std::optional(spanNow(model(), *motion, cursor().speed())) : std::nullopt);
    if (!isFast) {
        m_pane->setRelevance(relevanceNow(model(), *motion));
    }
    emit captionChanged();
}

} // namespace retro::views

#include "moc_nowview.cpp"
