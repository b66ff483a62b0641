// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "views/plan/plananalysis.h"
#include "views/plan/runaxis.h"
#include "views/plan/shownplan.h"

#include <QObject>

#include <algorithm>
#include <optional>
#include <set>

namespace retro::views
{

/// Where the window is with planning for the model that is open.
enum class PlanState : std::uint8_t {
    Absent,  ///< nothing can be planned; absence() says why
    Loading, ///< the joint graph is being made
    Failed,  ///< it cannot be; failure() and remedy() say why
    Ready    ///< there is a subject
};

/// A plan that some planner proposed while the curve was made: a point of memory against work.
struct PlanPoint
{
    std::string planner;
    std::uint64_t peak = 0; ///< bytes
    double cost = 0;        ///< in the subject's unit
};

/// A plan of blocks of one size: a point of the curve of block sizes.
struct BlockPoint
{
    std::size_t operators = 0; ///< of one block
    std::uint64_t peak = 0;    ///< bytes
    double cost = 0;           ///< in the subject's unit
    bool operator==(const BlockPoint&) const = default;
};

/// What one choice made by hand does: the plan with it less the plan without it.
struct PinEffect
{
    analysis::OpValueId value = 0;
    std::int64_t peak = 0; ///< bytes
    double cost = 0;       ///< in the subject's unit
    bool operator==(const PinEffect&) const = default;
};

/// What a person has chosen about the plan: the question, and the tensors that were touched by hand.
struct PlanChoices
{
    PlanQuestion question;
    std::set<analysis::OpValueId> touched;
    std::vector<analysis::OpValueId> rebuiltBefore; ///< by the plan that the choices began from; ascending
    bool operator==(const PlanChoices& other) const;
};

/// What the views of a plan share, and the way from them to who plans: the question, the plan that answers it, the one
/// before it for comparison, the step that is looked at, and the points of all planners. Views set questions; the
/// window answers with take…(). GUI thread, one per window.
class PlanModel final : public QObject
{
    Q_OBJECT

public:
    explicit PlanModel(QObject* parent = nullptr) : QObject(parent) {}

    // What the window tells.

    /// Another model: nothing is known of it. `absence` in words, when nothing can be planned for it; empty = ask.
    void reset(const QString& absence);
    void setLoading();
    void setFailed(const QString& what, const QString& remedy);
    /// The joint graph is there; a first question follows.
    void setSubject(PlanSubjectPointer subject);
    /// A planner is at work, or no longer.
    void setPlanning(bool isPlanning);
    /// The plan that answers a question.
    void takePlan(ShownPlanPointer plan);
    /// A plan that nobody asked for, with its subject: out of a run or a file. No question follows; its own becomes
    /// the question.
    void showPlan(PlanSubjectPointer subject, ShownPlanPointer plan);
    /// The plan on screen over the time of a run that it carried out; null = over its own steps.
    void setOverRun(ShownPlanPointer plan);
    /// There is no plan for the question: what is wrong, and what to do. The plan before stays.
    void takeRefusal(const QString& what, const QString& remedy);
    /// More points of the curve; `share` done (0…1); 1 = no more will come.
    void addPoints(const std::vector<PlanPoint>& points, double share);
    /// The curve is not made any further.
    void endCurve();
    /// Bytes in memory that were measured while the plan on screen ran, per step of the plan from the first on; empty
    /// = none were.
    void setMeasured(std::vector<std::uint64_t> bytes);
    /// The curve of block sizes, by rising size.
    void setBlockPoints(std::vector<BlockPoint> points);
    /// What each choice made by hand does.
    void setPinEffects(std::vector<PinEffect> effects);

    [[nodiscard]] PlanState state() const { return m_state; }
    [[nodiscard]] const QString& absence() const { return m_what; }
    [[nodiscard]] const QString& failure() const { return m_what; }
    [[nodiscard]] const QString& remedy() const { return m_remedy; }
    /// Why a pane has nothing to show, in words; empty when there is a subject. `failed` has a %1 for failure().
    [[nodiscard]] QString whyNoSubject(const QString& failed) const;
    /// The same for a pane that shows the plan; empty when there is one.
    [[nodiscard]] QString whyNoPlan(const QString& failed) const;
    [[nodiscard]] const PlanSubjectPointer& subject() const { return m_subject; }
    [[nodiscard]] bool isPlanning() const { return m_isPlanning; }
    /// The plan on screen; null before the first.
    [[nodiscard]] const ShownPlanPointer& plan() const { return m_overRun ? m_overRun : m_plan; }
    /// The same over its own steps.
    [[nodiscard]] const ShownPlanPointer& planOfSteps() const { return m_plan; }
    /// Which pass is planned for: that of the subject, or the one that was chosen before there is a subject.
    [[nodiscard]] PlanFor half() const { return m_half; }
    /// What is known of the subject whatever the plan; null while nobody has worked it out.
    [[nodiscard]] const PlanAnalysisPointer& analysis() const { return m_analysis; }
    void setAnalysis(PlanAnalysisPointer analysis);
    /// What planners have reached for the present subject: those of the last question that went to several, and of the
    /// questions to one since. Whether they fit is about the budget of the plan on screen.
    [[nodiscard]] const std::vector<schedule::Attempt>& attempts() const { return m_attempts; }
    /// The plan before it, for comparison; may be null.
    [[nodiscard]] const ShownPlanPointer& planBefore() const { return m_planBefore; }
    /// Why the last question has no plan; empty when it has one.
    [[nodiscard]] const QString& refusal() const { return m_refusal; }
    [[nodiscard]] const QString& refusalRemedy() const { return m_refusalRemedy; }
    [[nodiscard]] const std::vector<PlanPoint>& points() const { return m_points; }
    /// Share of the curve that is done; 1 = all of it, negative = it is not being made.
    [[nodiscard]] double curveShare() const { return m_curveShare; }
    [[nodiscard]] const std::vector<std::uint64_t>& measured() const { return m_measured; }
    [[nodiscard]] const std::vector<BlockPoint>& blockPoints() const { return m_blockPoints; }
    [[nodiscard]] const std::vector<PinEffect>& pinEffects() const { return m_pinEffects; }
    /// Least peak of all plans that are known; the store-all peak before the first.
    [[nodiscard]] std::uint64_t leastPeak() const;

    // What views ask.

    [[nodiscard]] const PlanQuestion& question() const { return m_question; }
    /// Asks for the subject when there is none yet.
    void want();
    void setBudget(std::uint64_t bytes);
    /// Plans for another pass: another subject follows.
    void setHalf(PlanFor half);
    /// The order of the forward operators: "auto", or one by name.
    void setOrder(const std::string& order);
    void setBlocks(const schedule::BlockWish& blocks);
    /// A plan of blocks of so many operators, by the planner that tries block sizes; 0 = every fast planner, sizes
    /// chosen.
    void setBlockSize(std::size_t operators);
    /// Asks for the curve of block sizes.
    void wantBlockPoints();
    void setStrategy(const std::string& strategy);
    /// Where values may be moved to; none = nothing moves.
    void setTier(const std::optional<schedule::Tier>& tier);
    /// A drag of the budget: until its end the plan before is the one from before it.
    void beginDrag();
    void endDrag();
    /// Keep or rebuild a tensor: the strategy becomes the user's own, which starts from what the plan on screen
    /// rebuilds. Refused in words where the tensor is none that can be chosen.
    void choose(analysis::OpValueId value, Decision decision);
    /// Both lists at once, as a file or a test has them.
    void setChoices(const schedule::UserChoices& choices);
    void clearChoices();
    /// Takes one choice back; with the last one a planner chooses again.
    void unpin(analysis::OpValueId value);
    /// Tensors that were chosen by hand, ascending.
    [[nodiscard]] const std::set<analysis::OpValueId>& pins() const { return m_touched; }
    /// The question without one of the choices.
    [[nodiscard]] PlanQuestion questionWithout(analysis::OpValueId value) const;
    /// Asks what each choice does.
    void wantPinEffects();
    /// Everything that was chosen, for undoing.
    [[nodiscard]] PlanChoices choices() const { return {m_question, m_touched, m_rebuiltBefore}; }
    /// Puts that back and asks. No effect without a subject.
    void takeChoices(const PlanChoices& choices);
    /// What was chosen by hand; none where nothing was.
    [[nodiscard]] std::optional<Decision> choiceOf(analysis::OpValueId value) const;
    [[nodiscard]] bool hasChoices() const { return !m_touched.empty(); }
    /// Makes the points of all planners, or stops that.
    void wantCurve(bool isWanted);
    /// Stops planning.
    void cancel();
    /// Asks for the search that led to the plan on screen, as a run.
    void wantSearch() { emit searchWanted(); }

    /// Column of the matrix that is looked at; the first one while that is the search for the plan.
    [[nodiscard]] std::uint32_t step() const { return static_cast<std::uint32_t>(std::max<std::int64_t>(0, m_step)); }
    /// The same; negative = visits before the first column, in a run that has the search for the plan.
    [[nodiscard]] std::int64_t place() const { return m_step; }
    [[nodiscard]] bool isSearching() const { return m_step < 0; }
    /// Visits of the run before the first column: of the search.
    [[nodiscard]] std::uint32_t searchVisits() const { return m_overRun ? m_overRun->axis->firstVisit : 0; }
    void setStep(std::int64_t step);

signals:
    void stateChanged();
    /// Another plan, another one before it, or a refusal; planning began or ended.
    void planChanged();
    void questionChanged();
    void stepChanged();
    void pointsChanged();
    void measuredChanged();
    void analysisChanged();
    void halfChanged();
    void blockPointsChanged();
    void pinEffectsChanged();
    /// The window is asked.
    void subjectWanted();
    void planWanted();
    void curveWanted(bool isWanted);
    void blockPointsWanted();
    void pinEffectsWanted();
    void cancelWanted();
    void searchWanted();

private:
    void ask();
    void takeAttempts();
    void startOwnChoices();

    PlanState m_state = PlanState::Absent;
    QString m_what;
    QString m_remedy;
    PlanSubjectPointer m_subject;
    PlanQuestion m_question;
    ShownPlanPointer m_plan;
    ShownPlanPointer m_overRun; ///< the same over the time of a run; null = none
    PlanAnalysisPointer m_analysis;
    PlanFor m_half = PlanFor::Relevance;
    ShownPlanPointer m_planBefore;
    std::vector<schedule::Attempt> m_attempts;
    QString m_refusal;
    QString m_refusalRemedy;
    std::set<analysis::OpValueId> m_touched; ///< chosen by hand
    std::vector<analysis::OpValueId> m_rebuiltBefore;
    std::optional<std::uint64_t> m_ownBudget; ///< the first one, which nobody chose, until there is a plan
    std::vector<BlockPoint> m_blockPoints;
    std::vector<PinEffect> m_pinEffects;
    std::vector<PlanPoint> m_points;
    std::vector<std::uint64_t> m_measured;
    double m_curveShare = -1;
    std::int64_t m_step = 0;
    bool m_isPlanning = false;
    bool m_isDragging = false;
    bool m_endsDrag = false; ///< when the planner has answered
    bool m_canAsk = false;   ///< nobody asked for the subject of this model yet
};

} // namespace retro::views
