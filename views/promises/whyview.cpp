// SPDX-License-Identifier: Apache-2.0
#include "views/promises/whyview.h"

#include "views/common/numbertext.h"
#include "views/common/paint/fonts.h"
#include "views/promises/whypane.h"

namespace retro::views
{

WhyView::WhyView(RunModel& model, Cursor& cursor, Selection& selection, QWidget* parent)
    : View(model, cursor, selection, parent)
{
    setAccessibleName(tr("Why is it waiting?"));
    setEmptyText(tr("Says what a promise or a node waits for. Open a model and run it."));
    m_pane = new WhyPane(this);
    connect(m_pane, &WhyPane::openingRequested, this, &WhyView::goToOpening);
    connect(m_pane, &WhyPane::fulfilmentRequested, this, &WhyView::goToFulfilment);
    connect(m_pane, &WhyPane::nodeRequested, this, &WhyView::selectNode);
    QWidget* body = makeScroll(m_pane);
    body->setMinimumHeight(fonts::px(36)); // a low window stays low
    setBody(body);
}

SelectedThing WhyView::subjectThing() const
{
    const auto isKnown = [&](base::PromiseId promise) { return m_forest->rowOf(promise) != nullptr; };
    if (const auto promise = selection().promise(); promise && isKnown(*promise)) {
        return *promise;
    }
    if (const base::NodeId node = model().nodeOf(selection().thing()); node.isValid()) {
        return node;
    }
    const trace::RunState& state = model().state();
    for (std::size_t i = state.promises.size(); i-- > 0;) {
        if (!state.promises[i].isComplete && isKnown(base::PromiseId(i))) {
            return base::PromiseId(i);
        }
    }
    return state.current.isValid() ? SelectedThing(state.current) : SelectedThing();
}

bool WhyView::canShow(const SelectedThing& thing) const
{
    return std::holds_alternative<base::PromiseId>(thing) || std::holds_alternative<base::NodeId>(thing);
}

void WhyView::refresh(Changes changes)
{
    if (changes.testFlag(Change::Run)) {
        m_forest = model().derived<PromiseForest>();
    }
    const SelectedThing thing = subjectThing();
    if (std::holds_alternative<std::monostate>(thing)) {
        m_pane->clear();
        return;
    }
    const auto* promise = std::get_if<base::PromiseId>(&thing);
    const PromiseStory story = promise != nullptr ? promiseStory(model(), *m_forest, *promise)
                                                  : nodeStory(model(), std::get<base::NodeId>(thing));
    const auto visit = [&](const std::optional<std::uint64_t>& position) {
        return position ? countText(std::int64_t{model().run().visitOf(*position - 1)} + 1) : QString();
    };
    m_pane->setStory(story, visit(story.opened), visit(story.fulfilled));
}

void WhyView::goToOpening()
{
    if (m_pane->story().opened) {
        cursor().moveTo(*m_pane->story().opened);
    }
}

void WhyView::goToFulfilment()
{
    if (m_pane->story().fulfilled) {
        cursor().moveTo(*m_pane->story().fulfilled);
    }
}

void WhyView::selectNode()
{
    const base::NodeId node = model().hasRun() ? model().nodeOf(subjectThing()) : base::NodeId();
    if (node.isValid()) {
        selection().selectNode(node);
    }
}

} // namespace retro::views

#include "moc_whyview.cpp"
