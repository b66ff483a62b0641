// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/base/result.h"

#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace retro::analysis
{

/// Position of an operator in OpGraph::ops().
using OpId = std::uint32_t;
/// Position of a value in OpGraph::values().
using OpValueId = std::uint32_t;
/// No operator, no value.
inline constexpr std::uint32_t kNone = std::numeric_limits<std::uint32_t>::max();
/// The bytes of all values of a graph, and its costs, stay below this: sums over plans cannot overflow.
inline constexpr std::uint64_t kMaxTotalBytes = 1ULL << 60;

/// What part of a training step an operator belongs to.
enum class Phase : std::uint8_t {
    Source,  ///< stands for a graph input: it is there from the start and no plan computes it
    Forward, ///< may run several times, where it is recomputable
    Gradient ///< gradient or relevance: runs exactly once
};

/// A tensor as planning sees it: a name and a size.
struct OpValue
{
    std::string name;
    OpId producer = kNone;        ///< set by OpGraph::make
    std::uint64_t bytes = 0;      ///< 0 is allowed: such a value is planned for, and costs nothing to keep
    bool isPinned = false;        ///< in memory for the whole run, outside every budget
    bool isOutput = false;        ///< an output of the graph
    bool isRequired = false;      ///< must be in memory at the end of a plan
    bool isDifferentiable = true; ///< carries a gradient; integers and masks do not
    /// Of the relevance of a value without a gradient: tokens get that of their embedding; 0 = it carries none.
    std::uint64_t relevanceBytes = 0;
};

/// A value that an operator gives a part to in the second half, and what that part reads of the operator's operands and
/// outputs. The value is an operand, or the input that tokens are looked up from.
struct OperandPart
{
    OpValueId operand = kNone;
    std::vector<OpValueId> reads;
    std::uint64_t workspace = 0; ///< bytes while the part is worked out
};

/// An operator as planning sees it: what it reads and makes, what it costs, what its gradient reads.
struct Op
{
    std::string name; ///< unique among the operators that are no sources
    std::string type;
    std::vector<OpValueId> inputs; ///< an operand that is read twice stands twice
    std::vector<OpValueId> outputs;
    /// Operands and outputs that its reverse rule reads (specs: the save table); subsets of inputs and outputs.
    std::vector<OpValueId> savedInputs;
    std::vector<OpValueId> savedOutputs;
    /// Who gets a part from it in the second half, and what the part reads. Nothing = every operand, and each part
    /// reads all that is saved (gradient), all operands and outputs (relevance).
    std::optional<std::vector<OperandPart>> parts;
    /// What gradients of its parameters read. Nothing = all that is saved.
    std::optional<std::vector<OpValueId>> parameterReads;
    /// What hash() takes for `inputs`; empty = those. A gradient's are what it would read beside gradients of
    /// parameters: plans of files stay plans of a graph whose gradients read less.
    std::vector<OpValueId> hashedInputs;
    double cost = 0;             ///< in the graph's cost unit
    double flops = 0;            ///< floating-point operations, multiply-add counted as two
    std::uint64_t workspace = 0; ///< bytes while it runs
    double traffic = 0;          ///< bytes that it moves beside operands and results
    Phase phase = Phase::Forward;
    bool isRecomputable = true;
    bool isStochastic = false;
    bool isEffectful = false;
    bool hasParameters = false; ///< reads floating constants, which may want gradients
    bool isProduct = false;     ///< convolution or matrix product: what a framework calls compute intensive

    /// True when a plan may run it more than once. Operators that draw random numbers need their generator's state
    /// restored for that, and are not run again.
    [[nodiscard]] bool mayRepeat() const
    {
        return phase == Phase::Forward && isRecomputable && !isStochastic && !isEffectful;
    }
};

/// Operators and values with who reads what; immutable after make(). Ids follow the order of the source, which also
/// breaks every tie.
class OpGraph
{
public:
    /// Checks and indexes. Errors (Input) name the operator or value: no operators, an id that does not exist, two
    /// producers of one value, two operators of one name, a cycle, bytes or costs beyond kMaxTotalBytes, a cost that is
    /// negative or not finite. O(operators + operands).
    [[nodiscard]] static base::Result<OpGraph> make(std::vector<Op> ops, std::vector<OpValue> values);

    [[nodiscard]] std::span<const Op> ops() const { return m_ops; }
    [[nodiscard]] std::span<const OpValue> values() const { return m_values; }
    /// One of ops(); `id` must be of this graph.
    [[nodiscard]] const Op& op(OpId id) const { return m_ops[id]; }
    /// One of values(); `id` must be of this graph.
    [[nodiscard]] const OpValue& value(OpValueId id) const { return m_values[id]; }
    [[nodiscard]] std::size_t size() const { return m_ops.size(); }
    /// Distinct operators that read a value, ascending.
    [[nodiscard]] std::span<const OpId> readers(OpValueId value) const;
    /// Whether an operator of the gradient phase reads it.
    [[nodiscard]] bool isReadByGradient(OpValueId value) const;
    /// Distinct values that an operator reads, in operand order.
    [[nodiscard]] std::span<const OpValueId> reads(OpId op) const;
    /// Sum of the sizes of an operator's outputs, pinned ones left out where `countsPinned` is false.
    [[nodiscard]] std::uint64_t outputBytes(OpId op, bool countsPinned) const;
    /// Sum over all values.
    [[nodiscard]] std::uint64_t totalBytes() const { return m_totalBytes; }
    /// The operator of that name, sources left out; kNone when there is none. O(operators).
    [[nodiscard]] OpId findOp(std::string_view name) const;
    /// Topological order in which operators become ready, first come first served, ties by id (Kahn).
    [[nodiscard]] std::span<const OpId> order() const { return m_order; }
    /// Hash of everything that a plan depends on: names, operands, sizes, costs, phases.
    [[nodiscard]] std::uint64_t hash() const;

private:
    [[nodiscard]] base::Result<void> connect();
    [[nodiscard]] base::Result<void> checkNumbers();
    void indexReads();
    [[nodiscard]] base::Result<void> sort();

    std::vector<Op> m_ops;
    std::vector<OpValue> m_values;
    std::vector<OpId> m_readers;
    std::vector<std::uint32_t> m_readerStart;
    std::vector<OpValueId> m_reads;
    std::vector<std::uint32_t> m_readStart;
    std::vector<OpId> m_order;
    std::uint64_t m_totalBytes = 0;
};

} // namespace retro::analysis
