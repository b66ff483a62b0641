// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/engine/explain/cover.h"
#include "core/engine/explain/explain.h"
#include "core/engine/input/pictureinput.h"
#include "core/engine/language/languagequestion.h"
#include "core/engine/question/question.h"
#include "core/schedule/portfolio.h"
#include "core/trace/notes.h"
#include "core/trace/runplan.h"
#include "core/trace/runregion.h"
#include "core/trace/runtext.h"
#include "views/common/run/fusednode.h"
#include "views/common/run/verification.h"
#include "views/common/viewcontext.h"
#include "views/plan/shownplan.h"
#include "views/problems/problemlist.h"
#include "views/run/runfacts.h"

#include <QMetaType>
#include <QRect>
#include <QString>

#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace retro::app
{

/// A plan that a pass shall be carried out by.
struct PlanToCarry
{
    schedule::Plan plan;
    schedule::PlanResult found; ///< how it was come by; without the plan itself
    std::string strategy;
    views::PlanFor half = views::PlanFor::Gradient; ///< relevance as asked, or the gradient of the target
};

/// What the window asks of the engine: which model, which input, which question. Plain values; the newest request wins.
struct ExplainJob
{
    std::uint64_t generation = 0;
    /// A model file, a `.retro` file, the path of a built-in sample, or empty for the first of those.
    QString path;
    /// Already loaded model (then `path` is not read again).
    engine::LoadedModelPointer model;
    /// What is asked. Without inputs: the card's first picture, or none (then only the graph is shown).
    engine::Question question;
    /// Its rewrites are those of the model; else the model stays as it was loaded.
    bool setsRewrites = false;
    /// The inputs as read, before anything is covered; empty = read those of the question.
    std::vector<tensor::Tensor> tensors;
    /// Pixels of the one input that the model shall not see; null = it sees all.
    std::shared_ptr<const engine::Cover> cover;
    /// Fused nodes whose members get relevance, by name.
    std::vector<std::string> opened;
    /// A plan by which the pass is to be carried out; null = as the run saves.
    std::shared_ptr<const PlanToCarry> plan;
    /// A plan whose search is to be shown in place of a pass; null = none.
    views::ShownPlanPointer search;
    /// How forward values get to the rules of the gradient of the target; none = as the run saves them.
    std::optional<engine::ForwardingOptions> forwarding;
    /// Asked while the user paints: the window shows no stages for it.
    bool isLive = false;
    /// The person chose something else and pressed Run: it is written into the card beside the model.
    bool isChoice = false;

    /// How pixels become numbers.
    [[nodiscard]] engine::PictureOptions options() const;
    /// The same input and target, but the gradient from one, forward values as `wish` says.
    [[nodiscard]] ExplainJob gradientBy(engine::ForwardingOptions wish) const;
    /// The card of its model; null = none.
    [[nodiscard]] const formats::ModelCard* card() const { return model && model->card ? &*model->card : nullptr; }
};

/// The question about a text that a job asks; none where its model reads none, or nothing is asked of a text. Errors:
/// as engine::languageQuestion().
[[nodiscard]] base::Result<std::optional<engine::LanguageQuestion>> languageOf(const ExplainJob& job);

/// What the question of a job asks of its model, but for the data of its inputs. Errors: Usage.
[[nodiscard]] base::Result<engine::ExplainRequest> requestOf(const ExplainJob& job);

/// The model of a job with the shapes, the data of optional inputs and the rewrites that it asks for. A requested stop
/// ends it with Cancelled. Errors: Usage.
[[nodiscard]] base::Result<engine::LoadedModelPointer> modelOf(const ExplainJob& job, const std::stop_token& stop = {});
/// The inputs of a job with what is covered; reads files only once, into job.tensors. Errors: Usage, Input.
[[nodiscard]] base::Result<std::vector<tensor::Tensor>> readInputs(ExplainJob& job);

/// The same input explained by the control model of the card.
struct ControlResult
{
    QString name;
    tensor::Tensor relevance; ///< of the picture
    std::int64_t predicted = 0;
    std::optional<double> probability; ///< none when its outputs are no class scores
    std::optional<QRect> objectBox;    ///< around what the picture shows, where the card knows it
};

/// A small heatmap of another composite for the same input.
struct CompositeSample
{
    QString composite;
    tensor::Tensor relevance;
};

/// A pass that was carried out by a plan.
struct PlanPass
{
    std::shared_ptr<const schedule::Plan> plan;
    std::vector<std::uint64_t> bytes; ///< in memory while each step of the plan ran, as measured; may be empty
};

/// What came out; immutable, shared with the window.
struct ExplainDone
{
    std::shared_ptr<const trace::RunText> text{}; ///< of a question about a text; null = of none
    std::uint64_t generation = 0;
    engine::LoadedModelPointer model; ///< null for recorded runs
    views::RunHandle run;
    views::InputInfo input;
    std::string composite;
    std::shared_ptr<const execute::BoundModel> bound;    ///< that ran; null for recorded runs
    std::shared_ptr<const lrp::RuleAssignment> assigned; ///< rules of its nodes; null where none are known
    std::vector<std::string> warnings;                   ///< what the engine says of the question
    std::size_t rulesApplied = 0;
    std::size_t rulesReused = 0; ///< of the run before
    std::vector<std::string> inputs;
    std::shared_ptr<const base::HeldFiles> inputFiles; ///< that were read; nothing is exported over them
    std::int64_t predicted = -1;          ///< class that the model answers; −1 = its output has no classes
    bool hasRelevance = false;            ///< false: only the graph (no input was given)
    ExplainJob job;                       ///< what was asked, with model, inputs and rules filled in
    views::ModelFacts facts;              ///< of graphReady() and of other rewrites: the model for the run panel
    std::vector<views::Problem> problems; ///< of graphReady(): what may mislead in the model
    views::FusedNodesPointer fused;       ///< what nodes stand for; null for recorded runs
    std::vector<trace::Note> notes;       ///< of recorded runs
    std::optional<PlanPass> planPass;     ///< of a job with a plan, and of a recorded run that has one
    std::shared_ptr<const trace::RunPlan> runPlan;     ///< what a file of the run keeps of it
    std::shared_ptr<const trace::RunRegion> runRegion; ///< of a recorded run: the region that its file keeps
    views::ShownPlanPointer shownPlan;                 ///< of a recorded run: the plan that it has
};

/// Side results that come after the main one.
struct ComparisonDone
{
    std::uint64_t generation = 0;
    std::optional<ControlResult> control;
    QString controlFailure; ///< why the control model has no answer; empty = it has one, or there is none
    std::vector<CompositeSample> samples;
};

} // namespace retro::app

Q_DECLARE_METATYPE(std::shared_ptr<const retro::app::ExplainDone>)
Q_DECLARE_METATYPE(std::shared_ptr<const retro::app::ComparisonDone>)
Q_DECLARE_METATYPE(std::shared_ptr<const retro::views::QuestionCheck>)
Q_DECLARE_METATYPE(std::shared_ptr<const retro::trace::RunText>)
Q_DECLARE_METATYPE(retro::engine::LoadedModelPointer)
Q_DECLARE_METATYPE(retro::views::VerificationPointer)
