// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/execute/savedvalues.h"
#include "core/lrp/composite/composite.h"
#include "core/lrp/rules/ruleapplication.h"
#include "core/lrp/traversal/oracle.h"
#include "core/program/program.h"

#include <functional>
#include <memory>
#include <span>
#include <stop_token>
#include <vector>

namespace retro::lrp
{

/// Relevance as a run makes it, for whoever wants more than the whole relevance of values. Invalid where nothing was
/// made.
struct MadeTensors
{
    std::vector<std::vector<Tensor>> parts; ///< by node and operand slot: what its rule gave
    std::vector<std::vector<Tensor>> sums;  ///< by node and output: relevance of several parts
};

/// Takes the relevance of one output of a node.
using TakeRelevance = std::function<void(NodeId, std::uint32_t, const Tensor&)>;

/// Is told of a forward value that the run reads no more.
using ValueIsRead = std::function<void(ValueId)>;

/// A program tied to a bound model, its rules and what a forward pass of it keeps. What an instruction needs of them is
/// looked up once: rule, types, where each value comes from. A value that the forward pass keeps for anybody is taken
/// from there, and what would only have led to it is left out; the bits are the same, because recomputing a node gives
/// the bits of the forward pass. Used from one thread at a time.
class ProgramRunner
{
public:
    /// `program` must be of this graph under this save policy (its key says so). `keepsArguments`: the forward passes
    /// that it runs on also keep alsoKept(), so that ARGS has nothing left to make.
    ProgramRunner(std::shared_ptr<const program::Program> program, std::shared_ptr<const execute::BoundModel> model,
                  std::shared_ptr<const RuleAssignment> rules, execute::SavePolicy save, bool keepsArguments = false);

    /// Runs both sections on what a forward pass saved. `starts` per explained value, in its shape. Tensors live until
    /// their last use, relevance of values to the end. Adds a row per rule to `ledger` when it is given, its visit the
    /// number of the instruction, and behind them the rows of inputs. `progress` gets (done, total) after every
    /// instruction; `made`, when given, all relevance. `take`, when given, gets the relevance of each value as soon as
    /// nothing reads it any more; then it is let go, and the table is empty. `isRead`, when given, is told of each of
    /// readValues() after its last reader. Errors: Cancelled.
    [[nodiscard]] base::Result<RelevanceTable> run(const execute::SavedValues& saved, std::span<const Tensor> starts,
                                                   std::stop_token stop = {},
                                                   std::vector<event::LedgerEntry>* ledger = nullptr,
                                                   const std::function<void(std::size_t, std::size_t)>& progress = {},
                                                   MadeTensors* made = nullptr, const TakeRelevance& take = {},
                                                   const ValueIsRead& isRead = {});

    /// Values that a forward pass before run() must keep beside what the policy says.
    [[nodiscard]] const std::vector<ValueId>& alsoKept() const { return m_alsoKept; }
    /// All that run() asks a forward pass for: no other value need be kept.
    [[nodiscard]] std::vector<ValueId> readValues() const;
    [[nodiscard]] const std::shared_ptr<const program::Program>& program() const { return m_program; }
    /// Instructions that are carried out; the others of the program only led to values that were kept.
    [[nodiscard]] std::size_t stepCount() const { return m_steps.size(); }

private:
    /// Where a value comes from.
    struct Source
    {
        enum class From : std::uint8_t { Nowhere, Buffer, Kept };
        From from = From::Nowhere;
        std::uint32_t id = 0; ///< buffer, or value
    };
    /// An instruction with all that it needs.
    struct Step
    {
        program::InstructionIndex index = 0;
        std::vector<Source> operands;           // of values and rules: per operand slot
        std::vector<Source> outputs;            // of rules: per output
        std::vector<std::uint32_t> lastUses;    // buffers that nothing reads any more
        std::vector<std::uint32_t> lastResults; // the same of buffers that are results
        std::vector<ValueId> lastValues;        // forward values that nothing reads any more
        std::shared_ptr<const RuleSite> site{}; // of rules
        bool recomputesOutputs = false;         // of rules: outputs that nobody has
    };

    void link();
    void keepArguments();
    void keepReadOutputs(const Step& step);
    void keep(ValueId value);
    [[nodiscard]] Source kept(ValueId value) const;
    [[nodiscard]] Source sourceOf(program::BufferId buffer, ValueId otherwise) const;
    [[nodiscard]] Source sourceOf(const program::Buffer& buffer, std::uint32_t id) const;
    [[nodiscard]] Step linked(program::InstructionIndex index);
    void linkOperands(const program::Instruction& step, std::span<const program::BufferId> buffers, std::uint64_t read,
                      Step& linked) const;
    void linkRule(const program::Instruction& step, Step& linked);
    [[nodiscard]] bool isMade(const program::Instruction& step) const;
    void dropUnneeded(std::vector<Step>& all);
    void findLastUses();
    void findLastValues();
    template <class Visit>
    static void eachSource(const Step& step, Visit&& visit);
    template <class Visit>
    static void eachBuffer(const Step& step, Visit&& visit);

    [[nodiscard]] Tensor fetched(const Source& source, const execute::SavedValues& saved) const;
    [[nodiscard]] std::vector<Tensor> fetchedAll(const std::vector<Source>& sources,
                                                 const execute::SavedValues& saved) const;
    void carryOut(const Step& step, const execute::SavedValues& saved, std::span<const Tensor> starts,
                  std::vector<event::LedgerEntry>* ledger);
    void computeValue(const Step& step, const execute::SavedValues& saved);
    void sumParts(const Step& step, std::vector<event::LedgerEntry>* ledger);
    void bookSum(const Step& step, double lost);
    void note(const program::Instruction& step);
    /// Relevance that arrived at the outputs of a node; adds what was lost when its parts were summed to `lost`.
    [[nodiscard]] std::vector<Tensor> arrivedAt(const program::Instruction& which, double& lost) const;
    void applyRule(const Step& step, const execute::SavedValues& saved, std::vector<event::LedgerEntry>* ledger);
    void letGo(const Step& step, const TakeRelevance& take, const ValueIsRead& isRead);
    void handOver(std::uint32_t buffer, const TakeRelevance& take);
    [[nodiscard]] RelevanceTable table(const TakeRelevance& take);
    [[nodiscard]] const program::Instruction& instruction(const Step& step) const
    {
        return m_program->instructions[step.index];
    }

    std::shared_ptr<const program::Program> m_program;
    std::shared_ptr<const execute::BoundModel> m_model;
    std::shared_ptr<const RuleAssignment> m_rules;
    execute::SavePlan m_plan;
    std::vector<ValueId> m_alsoKept;
    std::vector<bool> m_isAlsoKept; // by ValueId
    std::vector<Source> m_sources;  // by buffer: itself, or the value that is kept
    std::vector<Step> m_steps;
    std::vector<Tensor> m_buffers;         // by BufferId, while it runs
    std::vector<double> m_lost;            // by BufferId, of sums: to rounding
    std::vector<std::uint32_t> m_resultOf; // by BufferId: which result it is
    InputRows m_inputRows;
    MadeTensors* m_made = nullptr; // while it runs
};

} // namespace retro::lrp
