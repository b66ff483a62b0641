// SPDX-License-Identifier: Apache-2.0
// The graph view while it shows cards and what moves.
#include "views/common/numbertext.h"
#include "views/graph/graphcanvas.h"
#include "views/graph/graphtools.h"
#include "views/graph/graphview.h"

namespace retro::views
{

namespace
{

constexpr double kWide = 1.6; // width : height from which on a pane shows the graph sideways

} // namespace

void GraphView::setInMotion(bool isInMotion)
{
    if (m_isInMotion != isInMotion) {
        m_isInMotion = isInMotion;
        followPane();
        emit captionChanged();
    }
}

void GraphView::setRunning(Run run)
{
    m_running = run;
    if (m_tools != nullptr) {
        m_tools->setRunning(wantedStyle().isSideways);
    }
    followPane();
}

SceneStyle GraphView::wantedStyle() const
{
    if (!m_isInMotion) {
        return {};
    }
    const bool isWide = m_canvas->width() > kWide * m_canvas->height();
    return {true, m_running == Run::Auto ? isWide : m_running == Run::Sideways};
}

/// Lays the graph out again when the pane has got another shape.
void GraphView::followPane()
{
    if (!m_isInMotion || !showsThisRun() || m_canvas->scene()->style == wantedStyle()) {
        return;
    }
    build(m_closed, false);
    if (m_tools != nullptr) {
        m_tools->setRunning(wantedStyle().isSideways);
    }
    emit captionChanged();
}

/// What the cards hold at the present position.
void GraphView::applyCards()
{
    const ScenePointer scene = m_canvas->scene();
    if (!scene->style.hasCards) {
        m_canvas->setMotion(nullptr);
        return;
    }
    const trace::RunState& state = model().state();
    const auto count = static_cast<std::int64_t>(state.frontierLanded) + state.frontierHeld;
    const QString tensors = count == 1 ? tr("1 tensor") : tr("%1 tensors").arg(countText(count));
    if (m_motionOf != model().sharedRun()) {
        m_motionOf = model().sharedRun();
        m_canvas->setMotion(model().run().eventCount() > 0 ? model().derived<trace::Motion>() : nullptr);
        m_canvas->setEnds(tr("input"), scoreText());
    }
    m_canvas->setCards(cardsOf(*scene, m_canvas->groupVisits(), state, model().position()), model().position(),
                       tr("%1, %2").arg(tensors, bytesText(state.frontierBytes.sum())));
    const bool isMany = scene->style.isSideways && scene->book->graph->nodeCount() >= kFewestForStripe;
    m_canvas->setStripe(isMany ? stripeOf(model().run(), state) : NodeStripe());
    m_canvas->setMoment(cursor().moment());
    m_canvas->setSpeed(cursor().speed());
}

/// "score of mug, 2.373".
QString GraphView::scoreText() const
{
    const trace::RunFacts& facts = model().run().facts;
    if (facts.targetIndex.size() != 1 || facts.targetLogit.size() != 1) {
        return tr("score");
    }
    return tr("score of %1, %2")
        .arg(model().className(facts.targetIndex.front()), valueText(facts.targetLogit.front()));
}

void GraphView::resumeFollowing()
{
    m_isFollowing = true;
    m_canvas->setFollowing(true);
    emit settingsChanged();
}

} // namespace retro::views
