// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/base/result.h"
#include "core/engine/explain/checkpoints.h"
#include "core/engine/explain/parameterrelevance.h"
#include "core/engine/explain/target.h"
#include "core/engine/forwarding/forwarding.h"
#include "core/engine/input/pictureuse.h"
#include "core/engine/model/loadmodel.h"
#include "core/engine/region/region.h"
#include "core/execute/forward.h"
#include "core/execute/savedvalues.h"
#include "core/lrp/composite/composite.h"
#include "core/lrp/traversal/oracle.h"
#include "core/lrp/traversal/traversal.h"
#include "core/program/program.h"
#include "core/trace/run.h"
#include "core/trace/runplan.h"

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

namespace retro::diagnosis
{
struct Diagnosis;
}

namespace retro::engine
{

/// Which program carries relevance.
enum class EngineKind {
    Promise,  ///< the traversal with promises
    Compiled, ///< the program of such a traversal (docs/program.md)
    Oracle    ///< the plain loop to compare with: everything saved, reverse order
};

struct SearchRecord;
struct CarriedPlan;
struct LutLayer;

/// Forward values that a plan keeps, without inputs, and the search that led to it (null: it is not recorded).
struct KeptValues
{
    std::vector<base::ValueId> values;
    std::shared_ptr<const SearchRecord> search;
    std::shared_ptr<const CarriedPlan> plan; ///< whose forward steps the pass takes; null = it has its own order
};

class PassSubject;
/// Which forward values a plan keeps for a relevance pass (engine/plan/plannedsaving.h).
using KeptByPlan = std::function<base::Result<KeptValues>(const PassSubject&)>;
/// Gets the relevance of a value when it is final.
using OnRelevance = std::function<base::Result<void>(const execute::BoundModel&, base::ValueId, const tensor::Tensor&)>;

/// How a pass under the saving policy `plan` came by the forward values that its rules read.
struct PlanSaving
{
    std::vector<base::ValueId> kept; ///< without inputs
    std::int64_t keptBytes = 0;
    std::map<base::ValueId, std::size_t> promised;  ///< dropped, and brought by promises: how often
    std::shared_ptr<const SearchRecord> search;     ///< of the plan, where it is recorded
    std::map<base::NodeId, std::size_t> recomputed; ///< nodes that ran again for a rule: how often
    std::shared_ptr<const CarriedPlan> plan;        ///< null where the forward pass had its own order
    std::vector<trace::DroppedValue> dropped;       ///< each forward value that is not kept, by value
    std::uint64_t peak = 0;                         ///< of a recorded pass: most bytes of its frontier; else 0
    std::uint64_t foretoldPeak = 0;                 ///< what that was foretold to be, before the pass; else 0
    std::uint64_t heldPeak = 0;                     ///< bytes that promises brought and held, at most at one time
};

/// How the forward values of a pass came to the rules that read them.
struct ForwardingDone
{
    ForwardingPlan plan;                         ///< with what was kept; an alias names whose memory it is
    std::int64_t storedBytes = 0;                ///< that storing every value by itself would have kept
    std::int64_t keptBytes = 0;                  ///< that were kept between forward and reverse
    std::map<base::NodeId, std::size_t> rebuilt; ///< nodes that were computed again: how often

    /// Computations of nodes beyond those of the forward pass.
    [[nodiscard]] std::size_t rebuilds() const;
};

/// What of a pass a condition keeps beside the relevance that it lets through (docs/region.md).
enum class ConditionForm {
    Only,  ///< nothing: relevance starts again there with what passes
    Beside ///< what goes round the value
};

/// What came of one condition.
struct PassedCondition
{
    base::ValueId value;
    std::vector<std::string> texts; ///< as asked
    double arrived = 0;             ///< Σ R there
    double passed = 0;              ///< Σ of what was let through
};

/// A relevance pass to make.
struct ExplainRequest
{
    /// Per graph input, in order. A batch axis of any extent is allowed where the model allows it.
    std::vector<tensor::Tensor> inputs;
    TargetRequest target;
    /// Further targets whose relevance starts in the same pass; those in the value of another one are added there.
    std::vector<TargetRequest> alsoTargets;
    StartRequest start;
    /// Built-in specification or a composite file (ends in .json), with rules to put before its entries, if any
    /// (lrp::splitSpecification).
    std::string composite = "auto";
    EngineKind engine = EngineKind::Promise;
    execute::SavePolicy save = execute::SavePolicy::Autograd;
    /// For SavePolicy::Plan. The plan carries out the whole pass, within its memory, unless steps of a traversal are
    /// asked for (carriesOut() of plannedsaving.h); then it says what the forward pass keeps for them.
    KeptByPlan keptByPlan;
    /// Of a pass that a plan carries out: takes what is made, so that the result holds that of targets and
    /// inputs alone.
    OnRelevance onRelevance;
    /// How forward values get to the rules that read them, in place of a saving policy: each rule gets what it reads,
    /// so there are no promises (promise engine only; not with inputsOnly). None = as `save` says. Loops of the model
    /// are added.
    std::optional<ForwardingOptions> forwarding;
    execute::Precision precision = execute::Precision::Float;
    /// Record events, ledger and tensors into ExplainResult::run (promise engine only).
    bool record = false;
    /// Take the profile of the pass (ExplainResult::profile); of a recorded pass it is taken anyhow.
    bool profile = false;
    /// Keep every forward value in the recorded run, for inspection.
    bool keepValues = false;
    /// LRP checkpoints: names of values that take a snapshot of their relevance when it is final, beside the checkpoint
    /// operators of the model.
    std::vector<std::string> checkpoints;
    /// End when all checkpoints have been taken (promise engine only).
    bool stopAtCheckpoints = false;
    /// Of an Explainer: the pass is kept for the next explanation of the same input, which then computes only what
    /// another rule reaches, with the bits of a whole pass (promise engine only). Costs the memory of both passes. With
    /// inputsOnly its forward pass is kept: another word at the same position starts from there, and of another
    /// position only what lies behind the choice of its row is computed.
    bool keepsPass = false;
    /// Of the relevance, that of the graph's inputs alone is wanted. What nothing reads any more is then let go on the
    /// way, forward values too, and no first pass is made (engine promise; not with what keeps more: a recorded run,
    /// checkpoints). Same bits, less memory.
    bool inputsOnly = false;
    /// Conditional relevance: only what passes these parts of values (conditions.h has the form of the texts).
    std::vector<std::string> conditions;
    ConditionForm conditionForm = ConditionForm::Only;
    std::string conditionWords; ///< of a pass that a condition started: which, for its run
    /// Also where the relevance of every element ends: how much of it in this region. Not with inputsOnly.
    RegionRequest region;
    /// Also the relevance of weights, biases and other floating constants (parameterrelevance.h), once the pass is
    /// done. Not with inputsOnly or stopAtCheckpoints.
    bool parameters = false;
    /// Traverse as the source document has it (docs/traversal.md, section 6): promise engine only, not with inputsOnly;
    /// nothing is reused of earlier explanations, and relevance may differ in the last digits.
    bool followsDocument = false;
    /// Relevance that is no finite number does not end the pass with an error (Engine) that names where it began.
    bool goesOnWhenNotFinite = false;
    /// Hand out the forward pass, as far as it was kept (ExplainResult::forward). Not with inputsOnly.
    bool keepsForward = false;
    /// Where the inputs came from, as --input says it, for the recorded run.
    std::vector<std::string> sources;
    /// The words of a text, one per token, for the recorded run; none = by the vocabulary of the card.
    std::vector<std::string> words;
    /// How pixels became the inputs, for the recorded run; none = as the card says.
    std::optional<PictureOptions> preparation;
    std::vector<PictureUse> pictures;  ///< among the sources
    std::vector<std::string> warnings; ///< for people, said with those of the result
};

/// (stage, done, total) now and then; stages: "bind", "forward", "relevance".
using StageProgress = std::function<void(const std::string&, std::size_t, std::size_t)>;

/// What a relevance pass gives.
struct ExplainResult
{
    std::shared_ptr<const execute::BoundModel> model;
    std::vector<tensor::Tensor> outputs; ///< per graph output
    ResolvedTarget target;
    std::vector<ResolvedTarget> alsoTargets; ///< as asked
    lrp::Composite composite;
    std::vector<std::string> writtenOut;                 ///< what If, Loop and Scan became: "Loop 'steps': 12 times"
    std::vector<trace::NodeRule> rules;                  ///< by NodeId
    std::shared_ptr<const lrp::RuleAssignment> assigned; ///< the same, to be asked
    std::vector<std::string> warnings;          ///< for people: rules that change nothing, a target behind a softmax
    std::vector<std::string> unusedRules;       ///< of those: rules that change nothing
    std::vector<tensor::Tensor> relevance;      ///< by ValueId; invalid where nothing arrived, or was not asked for
    std::vector<ParameterRelevance> parameters; ///< where they were asked for, by ValueId
    std::optional<RegionResult> region;         ///< where it was asked for
    std::vector<PassedCondition> conditions;    ///< in the order in which relevance met them
    std::optional<ResolvedTarget> asked; ///< under ConditionForm::Only: what is explained, where `target` is a part
    std::vector<TakenCheckpoint> checkpoints;
    bool stoppedEarly = false; ///< at the checkpoints: relevance is known of what was visited before alone
    std::vector<event::LedgerEntry> ledger;
    lrp::TraversalCounts counts;
    std::size_t nodes = 0; ///< nodes that the traversal saw (inputs included)
    std::size_t rulesApplied = 0;
    std::size_t rulesReused = 0; ///< of the pass before (ExplainRequest::keepsPass): those were not applied
    bool forwardReused = false;  ///< so was its forward pass
    double relevanceStart = 0;
    double relevanceInputs = 0;
    double secondsBind = 0;
    double secondsForward = 0;
    double secondsRelevance = 0;
    std::int64_t peakBytes = 0;
    std::shared_ptr<const trace::Run> run; ///< when recorded
    /// Where a plan carried out a pass that was not recorded; see lutLayersOf() of results.h.
    std::shared_ptr<std::vector<LutLayer>> lutLayers;
    std::shared_ptr<const trace::Profile> profile;         ///< when recorded, or asked for
    std::shared_ptr<const trace::RunPlan> runPlan;         ///< of a recorded pass by a plan
    std::shared_ptr<const diagnosis::Diagnosis> diagnosis; ///< where it was made (diagnose.h)
    std::shared_ptr<const execute::ForwardResult> forward; ///< when it was asked for; null where none was kept
    /// When the relevance comes from a program; `counts` are then those of the pass that it was made from.
    std::shared_ptr<const program::Program> program;
    bool programReused = false;                 ///< it was made for an earlier input
    double secondsProgram = 0;                  ///< making and checking it
    std::optional<PlanSaving> planSaving;       ///< of a traversal under SavePolicy::Plan
    std::shared_ptr<const CarriedPlan> carried; ///< the plan that carried out all of it; null: none did
    std::optional<ForwardingDone> forwarding;   ///< of a request with a wish for it
};

/// Binds, runs forward, and carries relevance from the target to the inputs. Errors: Input (shapes, unsupported
/// operator, rule that does not fit), Usage (target, composite), Engine (NaN or infinity: first node, rule and value),
/// Cancelled.
[[nodiscard]] base::Result<ExplainResult> explain(const LoadedModel& model, const ExplainRequest& request,
                                                  std::stop_token stop = {}, const StageProgress& progress = {});

class ProgramCache;

/// Explains inputs of one model, one after the other. The first input of a kind (types, composite, target value, what
/// is saved) gets a first pass, from which a program is made; the next ones run the program, with the same bits. So
/// does the promise engine here, also when the run is recorded: its events are those of the pass that was recorded
/// first, with the tensors and the ledger of this input. Used by one thread at a time.
class Explainer
{
public:
    /// The model must not be null.
    explicit Explainer(LoadedModelPointer model);
    ~Explainer();
    Explainer(Explainer&&) noexcept;
    Explainer& operator=(Explainer&&) noexcept;

    [[nodiscard]] const LoadedModelPointer& model() const { return m_model; }
    /// As the function explain(), with everything that can be reused.
    [[nodiscard]] base::Result<ExplainResult> explain(const ExplainRequest& request, std::stop_token stop = {},
                                                      const StageProgress& progress = {});

private:
    struct AskedRow;

    LoadedModelPointer m_model;
    std::unique_ptr<ProgramCache> m_cache;
    std::unique_ptr<AskedRow> m_row; ///< of the last question about one row of a target
};

/// Parses --composite: a built-in specification or a `.json` file, and the rules put before it.
[[nodiscard]] base::Result<lrp::Composite> resolveComposite(const std::string& text, const execute::BoundModel& model);

/// The same as it is for any model. Errors: as resolveComposite(), and for `auto`, which is none without a model.
[[nodiscard]] base::Result<lrp::Composite> plainComposite(const std::string& text);
/// True for `auto`, with rules before it or without.
[[nodiscard]] bool isAutomatic(const ExplainRequest& request);

/// Total per cause of a ledger, by the causes' names; only causes that occur.
[[nodiscard]] std::map<std::string, double> causeTotals(std::span<const event::LedgerEntry> ledger);

/// Node by node: which rule and which matcher chose it. Binds with the request's input shapes; runs nothing.
struct RuleLine
{
    base::NodeId node;
    std::string name;
    std::string op;
    std::string rule; ///< "-" for nodes that pass no relevance
    std::string matcher;
};
/// The rule that every node would get, without running anything; `chosen` takes the composite, `unused` what
/// lrp::unusedEntries() says. Errors as explain(); Cancelled after a requested stop.
[[nodiscard]] base::Result<std::vector<RuleLine>> listRules(const LoadedModel& model, const ExplainRequest& request,
                                                            lrp::Composite* chosen = nullptr,
                                                            const std::stop_token& stop = {},
                                                            std::vector<std::string>* unused = nullptr);

/// What a person who explains this target should know: it is a result of scores (ops::ScoreTail) whose relevance is not
/// that of the scores, which are the ones to explain. Empty when there is nothing to say.
[[nodiscard]] std::string targetHint(const execute::BoundModel& model, const ResolvedTarget& target);
/// The same as a list, with what the first axis of a target is taken for where the model has time there.
[[nodiscard]] std::vector<std::string> targetHints(const execute::BoundModel& model, const ResolvedTarget& target);
/// Adds them to the warnings of a result that has its rules, and what is to be known of a start that is above 0 where
/// the score is below: under rules of relevance the map is turned round.
void addHints(const ResolvedTarget& target, const StartRequest& start, ExplainResult& result);

} // namespace retro::engine
