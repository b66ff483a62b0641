// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/engine/explain/explain.h"
#include "core/execute/forward.h"
#include "core/execute/rebuildingstore.h"
#include "core/execute/savedvalues.h"
#include "core/lrp/program/programrunner.h"
#include "core/lrp/traversal/handleorigin.h"
#include "core/lrp/traversal/passmemory.h"
#include "core/tensor/storagepool.h"
#include "core/trace/run.h"

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace retro::engine
{

/// What a recorded pass says of every input that takes the same course: all its events, and what each handle is. Only
/// tensors and amounts are others, and a program makes those. Immutable, shared.
struct RecordedCourse
{
    std::vector<event::Event> events;
    std::vector<std::uint64_t> visitStart;
    std::vector<lrp::HandleOrigin> origins; ///< by HandleId
    std::vector<base::ValueId> values;      ///< forward values that handles are: a forward pass must keep them
};

/// The course of a recorded pass; null when no run can be made from it: tensors were dropped to save memory, or there
/// are more than a million events.
[[nodiscard]] std::shared_ptr<const RecordedCourse> recordedCourse(const trace::Run& run,
                                                                   std::vector<lrp::HandleOrigin> origins);

/// What a program made for an input.
struct ProgramTensors
{
    const lrp::MadeTensors& made;
    std::span<const tensor::Tensor> starts;     ///< per explained value
    const execute::SavedValues& saved;          ///< with RecordedCourse::values
    std::span<const event::LedgerEntry> ledger; ///< a row per rule, then those of inputs
};

/// The run that a traversal of this input would have recorded: events, visits, handles, tensors, ledger. None when a
/// tensor is missing.
[[nodiscard]] std::optional<trace::Run> runOf(const RecordedCourse& course, const ProgramTensors& tensors);

/// What an explanation leaves behind for the next one of the same input: its forward pass, and what its relevance pass
/// computed (ExplainRequest::keepsPass). Used by one thread at a time.
struct LastPass
{
    std::shared_ptr<const execute::BoundModel> model;
    std::vector<tensor::Tensor> inputs;
    execute::SavePolicy save = execute::SavePolicy::Autograd;
    std::vector<base::ValueId> kept;    ///< values that the forward pass kept beside what the policy says
    std::vector<base::ValueId> targets; ///< where relevance started, each once
    std::vector<tensor::Tensor> starts; ///< of each
    execute::ForwardResult forward;
    lrp::PassMemory memory;

    /// Its forward pass is that of these inputs, and has every value of `wanted`.
    [[nodiscard]] bool isOf(const std::shared_ptr<const execute::BoundModel>& other,
                            std::span<const tensor::Tensor> otherInputs, execute::SavePolicy policy,
                            std::span<const base::ValueId> wanted) const;
    /// Relevance starts at these values. Those of `others` that have the bits of the last pass become the same tensors,
    /// by which its results are recognised; without the same values everything in the memory is forgotten.
    void take(const std::vector<base::ValueId>& values, std::vector<tensor::Tensor>& others);
};

/// The forward pass of an explanation of inputs alone that keeps it for the next one (ExplainRequest::keepsPass): the
/// same text, and another word or another position. Used by one thread at a time.
struct LastForward
{
    std::shared_ptr<const execute::BoundModel> model;
    std::vector<tensor::Tensor> inputs;
    std::vector<base::ValueId> targets;
    std::shared_ptr<const lrp::ProgramRunner> runner; ///< whose values it kept
    execute::ForwardResult forward;                   ///< its values are in `store`
    std::shared_ptr<const execute::RebuildingStore> store;

    /// It is the forward pass of this question.
    [[nodiscard]] bool isOf(const execute::BoundModel& other, std::span<const tensor::Tensor> otherInputs,
                            std::span<const base::ValueId> otherTargets, const lrp::ProgramRunner& otherRunner) const;
    /// It differs from that of this question in what follows from the input `choice` alone.
    [[nodiscard]] bool isBeside(const execute::BoundModel& other, std::span<const tensor::Tensor> otherInputs,
                                base::ValueId choice) const;
};

/// What a request asks of the model before any data are looked at: a bound model with its rules.
struct Prepared
{
    std::shared_ptr<const execute::BoundModel> model;
    lrp::Composite composite;
    std::shared_ptr<const lrp::RuleAssignment> rules;
    std::vector<trace::NodeRule> words;  ///< by NodeId: the rules in words
    std::vector<std::string> writtenOut; ///< what If, Loop and Scan became
    std::vector<std::string> unused;     ///< lrp::unusedEntries()
    std::vector<std::string> leftOut;    ///< what cannot run of the model, where only a part of it is bound
    bool hasCheckpoints = false;         ///< the model has checkpoint operators
};

/// What a preparation fits: element types and shapes of the inputs, precision, composite.
struct PreparedFor
{
    std::vector<ops::TensorType> inputs;
    execute::Precision precision = execute::Precision::Float;
    std::string composite; ///< specification, or the text of the file
    bool operator==(const PreparedFor&) const = default;
};

/// A program and the pass that it was made from. `program` is null for one that did not give the bits of its pass.
struct Course
{
    std::shared_ptr<const program::Program> program;
    lrp::TraversalCounts counts;
    std::vector<event::Event> snapshots;
    bool stoppedEarly = false;
    bool isChecked = true; ///< it gave the bits of a pass; else it is a program for ExplainRequest::inputsOnly alone
    std::string fault;     ///< why there is no program
    std::shared_ptr<const RecordedCourse> recorded; ///< of a recorded pass, for making runs; null when none was
};

/// What a course follows from beside a preparation: a shorter way to its key.
struct CourseOf
{
    std::shared_ptr<const Prepared> prepared;
    execute::SavePolicy save = execute::SavePolicy::Autograd;
    std::vector<base::ValueId> targets;
    std::vector<base::ValueId> checkpoints;
    bool stopsAtCheckpoints = false;
    bool operator==(const CourseOf&) const = default;
};

/// What explanations of one model leave behind for the next ones. Small and bounded: the oldest entry makes room. Used
/// by one thread at a time.
class ProgramCache
{
public:
    /// What was prepared for such inputs; null when nothing was.
    [[nodiscard]] std::shared_ptr<const Prepared> find(const PreparedFor& wanted) const;
    /// The model that was bound for such inputs, whatever the composite; null when none was.
    [[nodiscard]] std::shared_ptr<const execute::BoundModel> findModel(const PreparedFor& wanted) const;
    /// Keeps a preparation that depends on nothing but `wanted`: one with control flow written out, or bound to data,
    /// is passed over.
    void keep(const PreparedFor& wanted, const std::shared_ptr<const Prepared>& prepared, bool hasControlFlow);

    /// Key of such a course, when it was worked out before.
    [[nodiscard]] std::optional<base::Hash128> key(const CourseOf& course) const;
    void keep(CourseOf course, base::Hash128 key);

    /// What is known of the courses with this key; null when nothing is.
    [[nodiscard]] std::shared_ptr<const Course> course(base::Hash128 key) const;
    /// Takes the place of what was known of them.
    void keep(base::Hash128 key, std::shared_ptr<const Course> course);

    /// The course's program tied to a preparation, to run on forward passes that keep its alsoKept(); made at the first
    /// call, the same one afterwards.
    [[nodiscard]] std::shared_ptr<lrp::ProgramRunner> runner(const std::shared_ptr<const Prepared>& prepared,
                                                             const Course& course, execute::SavePolicy save);
    /// What the last explanation that keeps its pass left; null when none did.
    [[nodiscard]] std::unique_ptr<LastPass>& lastPass() { return m_lastPass; }

    /// What the last explanation of inputs alone that keeps its pass left; null when none did.
    [[nodiscard]] std::unique_ptr<LastForward>& lastForward() { return m_lastForward; }
    /// The input that says which row the model of this cache makes; invalid where it is a whole model.
    [[nodiscard]] base::ValueId choice() const { return m_choice; }
    void setChoice(base::ValueId choice) { m_choice = choice; }

    /// The memory that tensors of this cache's runs use again.
    [[nodiscard]] tensor::StoragePool& pool() { return *m_pool; }

private:
    struct Entry
    {
        PreparedFor madeFor;
        std::shared_ptr<const Prepared> prepared;
    };
    struct Tied
    {
        std::shared_ptr<const Prepared> prepared;
        std::shared_ptr<lrp::ProgramRunner> runner;
    };

    std::vector<Entry> m_prepared;                                                  // oldest first
    std::vector<std::pair<CourseOf, base::Hash128>> m_keys;                         // oldest first
    std::vector<Tied> m_runners;                                                    // oldest first
    std::vector<std::pair<base::Hash128, std::shared_ptr<const Course>>> m_courses; // oldest first
    std::unique_ptr<LastPass> m_lastPass;
    std::unique_ptr<LastForward> m_lastForward;
    base::ValueId m_choice;
    std::unique_ptr<tensor::StoragePool> m_pool = std::make_unique<tensor::StoragePool>();
};

} // namespace retro::engine
