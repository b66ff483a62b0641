// SPDX-License-Identifier: Apache-2.0
#include "views/plan/planmodel.h"

#include <cmath>
#include <tuple>
#include <utility>

namespace retro::views
{

namespace
{

/// Share of the store-all peak that a model is first planned for.
constexpr double kFirstShare = 0.6;

/// A budget that is a share of the store-all peak, within what sliders reach.
std::uint64_t firstBudget(std::uint64_t storeAll)
{
    return static_cast<std::uint64_t>(std::floor(static_cast<double>(storeAll) * kFirstShare));
}

bool isSame(const schedule::BlockWish& a, const schedule::BlockWish& b)
{
    return a.count == b.count && a.operators == b.operators && a.bytes == b.bytes;
}

void toggle(std::vector<analysis::OpValueId>& list, analysis::OpValueId value, bool isIn)
{
    std::erase(list, value);
    if (isIn) {
        list.push_back(value);
        std::ranges::sort(list);
    }
}

} // namespace

void PlanModel::reset(const QString& absence)
{
    m_state = PlanState::Absent;
    m_what = absence;
    m_remedy.clear();
    m_canAsk = absence.isEmpty();
    m_subject.reset();
    m_plan.reset();
    m_overRun.reset();
    m_analysis.reset();
    m_planBefore.reset();
    m_attempts.clear();
    m_question = {};
    m_refusal.clear();
    m_touched.clear();
    m_rebuiltBefore.clear();
    m_points.clear();
    m_blockPoints.clear();
    m_pinEffects.clear();
    m_measured.clear();
    m_curveShare = -1;
    m_step = 0;
    m_isPlanning = false;
    m_isDragging = false;
    m_endsDrag = false;
    emit stateChanged();
    emit planChanged();
    emit questionChanged();
    emit pointsChanged();
    emit blockPointsChanged();
    emit pinEffectsChanged();
}

QString PlanModel::whyNoSubject(const QString& failed) const
{
    switch (m_state) {
    case PlanState::Absent:
        return m_what.isEmpty() ? tr("Nothing is planned yet.") : m_what;
    case PlanState::Loading:
        return tr("Working out what the model needs in memory…");
    case PlanState::Failed:
        return failed.arg(m_what);
    case PlanState::Ready:
        break;
    }
    return {};
}

QString PlanModel::whyNoPlan(const QString& failed) const
{
    if (plan()) {
        return {};
    }
    if (m_state == PlanState::Absent || m_state == PlanState::Failed) {
        return whyNoSubject(failed);
    }
    return m_refusal.isEmpty() ? tr("Planning…") : m_refusal;
}

void PlanModel::want()
{
    if (std::exchange(m_canAsk, false)) {
        emit subjectWanted();
    }
}

void PlanModel::setLoading()
{
    m_state = PlanState::Loading;
    emit stateChanged();
}

void PlanModel::setFailed(const QString& what, const QString& remedy)
{
    m_state = PlanState::Failed;
    m_what = what;
    m_remedy = remedy;
    emit stateChanged();
}

void PlanModel::setSubject(PlanSubjectPointer subject)
{
    m_subject = std::move(subject);
    m_half = m_subject->half;
    m_state = PlanState::Ready;
    m_canAsk = false;
    m_question = {};
    m_question.budget = firstBudget(m_subject->storeAllPeak);
    m_ownBudget = m_question.budget;
    emit halfChanged();
    emit stateChanged();
    emit questionChanged();
    ask();
}

void PlanModel::showPlan(PlanSubjectPointer subject, ShownPlanPointer plan)
{
    m_subject = std::move(subject);
    m_half = m_subject->half;
    m_state = PlanState::Ready;
    m_canAsk = false;
    m_question = plan->question;
    m_touched.clear();
    m_rebuiltBefore.clear();
    m_attempts.clear();
    m_blockPoints.clear();
    m_pinEffects.clear();
    m_ownBudget.reset();
    m_planBefore.reset();
    m_plan.reset();
    emit halfChanged();
    emit stateChanged();
    takePlan(std::move(plan));
    emit questionChanged();
}

void PlanModel::setOverRun(ShownPlanPointer plan)
{
    if (m_overRun == plan) {
        return;
    }
    m_overRun = std::move(plan);
    const std::size_t columns = this->plan() ? this->plan()->matrix.columns().size() : 0;
    m_step = std::clamp<std::int64_t>(m_step, -std::int64_t{searchVisits()},
                                      std::max<std::int64_t>(0, static_cast<std::int64_t>(columns) - 1));
    emit planChanged();
    emit stepChanged();
}

void PlanModel::setAnalysis(PlanAnalysisPointer analysis)
{
    m_analysis = std::move(analysis);
    emit analysisChanged();
}

void PlanModel::setHalf(PlanFor half)
{
    if (half != m_half) {
        m_half = half;
        emit halfChanged();
    }
}

void PlanModel::setOrder(const std::string& order)
{
    if (m_subject && order != m_question.order) {
        m_question.order = order;
        emit questionChanged();
        ask();
    }
}

void PlanModel::setBlocks(const schedule::BlockWish& blocks)
{
    if (m_subject && !isSame(blocks, m_question.blocks)) {
        m_question.blocks = blocks;
        emit questionChanged();
        ask();
    }
}

void PlanModel::setBlockSize(std::size_t operators)
{
    schedule::BlockWish blocks;
    blocks.operators = operators;
    const char* strategy = operators > 0 ? kBlockStrategy : kFastStrategy;
    const bool isKnown = isSame(blocks, m_question.blocks) && m_question.strategy == strategy;
    if (m_subject && !isKnown) {
        m_question.blocks = blocks;
        m_question.strategy = strategy;
        emit questionChanged();
        ask();
    }
}

void PlanModel::wantBlockPoints()
{
    if (m_subject) {
        emit blockPointsWanted();
    }
}

void PlanModel::setBlockPoints(std::vector<BlockPoint> points)
{
    m_blockPoints = std::move(points);
    emit blockPointsChanged();
}

void PlanModel::wantPinEffects()
{
    if (m_subject) {
        emit pinEffectsWanted();
    }
}

void PlanModel::setPinEffects(std::vector<PinEffect> effects)
{
    m_pinEffects = std::move(effects);
    emit pinEffectsChanged();
}

void PlanModel::ask()
{
    if (m_subject) {
        emit planWanted();
    }
}

void PlanModel::setPlanning(bool isPlanning)
{
    if (!isPlanning && m_endsDrag) {
        m_endsDrag = false;
        m_isDragging = false;
    }
    if (m_isPlanning != isPlanning) {
        m_isPlanning = isPlanning;
        emit planChanged();
    }
}

void PlanModel::takePlan(ShownPlanPointer plan)
{
    if (!m_isDragging && m_plan) {
        m_planBefore = m_plan;
    }
    const ShownPlanPointer& shown = this->plan();
    const double share = shown && !shown->matrix.columns().empty()
                             ? static_cast<double>(step()) / static_cast<double>(shown->matrix.columns().size())
                             : 0;
    m_plan = std::move(plan);
    m_ownBudget.reset();
    m_overRun.reset();
    m_refusal.clear();
    m_refusalRemedy.clear();
    m_measured.clear(); // of another plan
    takeAttempts();
    // The step that is looked at stays at about the same part of the plan.
    const std::size_t columns = m_plan->matrix.columns().size();
    m_step = share == 0 ? m_plan->matrix.peakAt() : std::llround(share * static_cast<double>(columns));
    m_step = columns == 0 ? 0 : std::min(m_step, static_cast<std::int64_t>(columns - 1));
    emit planChanged();
    emit stepChanged();
    emit measuredChanged();
}

/// A question to one planner, as when a tensor is chosen by hand, leaves what the others reached on the table.
void PlanModel::takeAttempts()
{
    const std::vector<schedule::Attempt>& own = m_plan->result.attempts;
    const std::string& strategy = m_plan->question.strategy;
    if (m_attempts.empty() || strategy == kFastStrategy || strategy == kBestStrategy) {
        m_attempts = own;
        return;
    }
    for (schedule::Attempt& one : m_attempts) {
        one.fits = one.refusal.empty() && one.peak > 0 && one.peak <= m_plan->question.budget;
    }
    for (const schedule::Attempt& one : own) {
        std::erase_if(m_attempts, [&one](const schedule::Attempt& other) { return other.planner == one.planner; });
        m_attempts.push_back(one);
    }
}

void PlanModel::takeRefusal(const QString& what, const QString& remedy)
{
    const bool isOurs = m_question.budget == m_ownBudget && m_question.strategy == PlanQuestion().strategy;
    if (m_subject && !m_plan && isOurs && m_question.budget < m_subject->storeAllPeak) {
        // The first budget was ours, not asked for: half of the way to the one that always has a plan.
        const std::uint64_t all = m_subject->storeAllPeak;
        const std::uint64_t rest = all - m_question.budget;
        m_ownBudget = rest > all / 10 ? m_question.budget + rest / 2 : all;
        setBudget(*m_ownBudget);
        return;
    }
    m_refusal = what;
    m_refusalRemedy = remedy;
    emit planChanged();
}

void PlanModel::addPoints(const std::vector<PlanPoint>& points, double share)
{
    m_points.insert(m_points.end(), points.begin(), points.end());
    m_curveShare = share;
    emit pointsChanged();
}

void PlanModel::endCurve()
{
    if (m_curveShare >= 0 && m_curveShare < 1) {
        m_curveShare = -1;
        emit pointsChanged();
    }
}

void PlanModel::setMeasured(std::vector<std::uint64_t> bytes)
{
    m_measured = std::move(bytes);
    emit measuredChanged();
}

std::uint64_t PlanModel::leastPeak() const
{
    std::uint64_t least = m_subject ? m_subject->storeAllPeak : 0;
    for (const PlanPoint& point : m_points) {
        least = std::min(least, point.peak);
    }
    if (m_plan) {
        for (const schedule::Attempt& attempt : m_plan->result.attempts) {
            least = attempt.peak > 0 && attempt.refusal.empty() ? std::min(least, attempt.peak) : least;
        }
    }
    return least;
}

void PlanModel::setBudget(std::uint64_t bytes)
{
    if (m_subject && bytes != m_question.budget) {
        m_question.budget = bytes;
        emit questionChanged();
        ask();
    }
}

void PlanModel::setStrategy(const std::string& strategy)
{
    if (!m_subject || strategy == m_question.strategy) {
        return;
    }
    if (strategy == kUserStrategy) {
        startOwnChoices();
    }
    m_question.strategy = strategy;
    emit questionChanged();
    ask();
}

void PlanModel::setTier(const std::optional<schedule::Tier>& tier)
{
    if (m_subject && tier != m_question.tier) {
        m_question.tier = tier;
        emit questionChanged();
        ask();
    }
}

void PlanModel::beginDrag()
{
    m_isDragging = true;
    m_endsDrag = false;
    m_planBefore = m_plan;
}

void PlanModel::endDrag()
{
    m_endsDrag = m_isPlanning; // what was asked during the drag belongs to it
    m_isDragging = m_isPlanning;
}

/// The user's own plan begins as the one on screen: what that rebuilds is rebuilt.
void PlanModel::startOwnChoices()
{
    if (hasChoices() || !m_plan) {
        return;
    }
    m_question.choices = {};
    for (const ScheduleRow& row : m_plan->matrix.rows()) {
        if (row.decision == Decision::Recompute) {
            toggle(m_question.choices.recompute, row.value, true);
        }
    }
    m_rebuiltBefore = m_question.choices.recompute;
}

void PlanModel::choose(analysis::OpValueId value, Decision decision)
{
    if (!m_subject || value >= m_subject->graph().values().size() || decision == Decision::Pass) {
        return;
    }
    if (m_question.strategy != kUserStrategy) {
        startOwnChoices();
    }
    // What is not to be rebuilt stays; naming what is kept would drop all that is not named.
    toggle(m_question.choices.recompute, value, decision == Decision::Recompute);
    m_touched.insert(value);
    m_question.strategy = kUserStrategy;
    emit questionChanged();
    ask();
}

void PlanModel::setChoices(const schedule::UserChoices& choices)
{
    m_question.choices = choices;
    std::ranges::sort(m_question.choices.keep);
    std::ranges::sort(m_question.choices.recompute);
    m_touched.clear();
    m_touched.insert(choices.keep.begin(), choices.keep.end());
    m_touched.insert(choices.recompute.begin(), choices.recompute.end());
    m_rebuiltBefore.clear();
    m_question.strategy = kUserStrategy;
    emit questionChanged();
    ask();
}

void PlanModel::clearChoices()
{
    const bool wasOwn = m_question.strategy == kUserStrategy;
    m_question.choices = {};
    m_touched.clear();
    m_rebuiltBefore.clear();
    m_question.strategy = wasOwn ? kFastStrategy : m_question.strategy;
    emit questionChanged();
    if (wasOwn) {
        ask();
    }
}

PlanQuestion PlanModel::questionWithout(analysis::OpValueId value) const
{
    PlanQuestion question = m_question;
    std::erase(question.choices.keep, value);
    toggle(question.choices.recompute, value, std::ranges::binary_search(m_rebuiltBefore, value));
    return question;
}

void PlanModel::unpin(analysis::OpValueId value)
{
    if (!m_touched.contains(value)) {
        return;
    }
    if (m_touched.size() == 1) {
        clearChoices();
        return;
    }
    m_question = questionWithout(value);
    m_touched.erase(value);
    emit questionChanged();
    ask();
}

bool PlanChoices::operator==(const PlanChoices& other) const
{
    const auto parts = [](const PlanQuestion& q) {
        return std::tie(q.strategy, q.budget, q.choices.keep, q.choices.recompute, q.seconds, q.tier, q.order,
                        q.blocks.count, q.blocks.operators, q.blocks.bytes);
    };
    return parts(question) == parts(other.question) && touched == other.touched && rebuiltBefore == other.rebuiltBefore;
}

void PlanModel::takeChoices(const PlanChoices& choices)
{
    if (m_subject && !(choices == this->choices())) {
        m_question = choices.question;
        m_touched = choices.touched;
        m_rebuiltBefore = choices.rebuiltBefore;
        emit questionChanged();
        ask();
    }
}

std::optional<Decision> PlanModel::choiceOf(analysis::OpValueId value) const
{
    if (!m_touched.contains(value)) {
        return std::nullopt;
    }
    return std::ranges::binary_search(m_question.choices.recompute, value) ? Decision::Recompute : Decision::Keep;
}

void PlanModel::wantCurve(bool isWanted)
{
    if (!m_subject) {
        return;
    }
    if (isWanted) {
        m_points.clear();
        m_curveShare = 0;
        emit pointsChanged();
    }
    emit curveWanted(isWanted);
}

void PlanModel::cancel() { emit cancelWanted(); }

void PlanModel::setStep(std::int64_t step)
{
    const std::int64_t last = plan() ? static_cast<std::int64_t>(plan()->matrix.columns().size()) - 1 : 0;
    const std::int64_t next =
        std::clamp<std::int64_t>(step, -std::int64_t{searchVisits()}, std::max<std::int64_t>(last, 0));
    if (next != m_step) {
        m_step = next;
        emit stepChanged();
    }
}

} // namespace retro::views

#include "moc_planmodel.cpp"
