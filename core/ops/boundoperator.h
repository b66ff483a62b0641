// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/base/result.h"
#include "core/graph/graph.h"
#include "core/ops/kernel/rowsover.h"
#include "core/ops/structure.h"

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

namespace retro::ops
{

/// Element type and concrete shape of a value.
struct TensorType
{
    tensor::DType dtype = tensor::DType::Float32;
    tensor::Shape shape;
    bool operator==(const TensorType&) const = default;
};

/// Which operands and outputs something reads: bit i = operand (output) i. Nodes with more than 64 operands keep all or
/// none: bit 63 stands for operand 63 and all after it.
struct Reads
{
    std::uint64_t operands = 0;
    std::uint64_t outputs = 0;

    /// The bit that stands for operand or output i.
    static constexpr std::uint64_t bit(std::size_t i) { return 1ULL << (i < 63 ? i : 63); }
    /// True when operand (output) i is read.
    [[nodiscard]] bool operand(std::size_t i) const { return (operands & bit(i)) != 0; }
    [[nodiscard]] bool output(std::size_t i) const { return (outputs & bit(i)) != 0; }
    /// The usual choices.
    static constexpr Reads nothing() { return {}; }
    static constexpr Reads allOperands() { return {~0ULL, 0}; }
    static constexpr Reads firstOperand() { return {1, 0}; }
    static constexpr Reads firstOutput() { return {0, 1}; }
};

/// What an operator is run for: its results, its reverse rule, or relevance that it shares by itself (TableLookup).
enum class Work : std::uint8_t { Forward, Reverse, Relevance };

/// Data of operands that are no constants, while a model is bound for given inputs.
class OperandSource
{
public:
    virtual ~OperandSource() = default;
    /// The data of operand `slot` (present), worked out from the inputs. Errors (Input) when the inputs are not given.
    [[nodiscard]] virtual base::Result<Tensor> operand(std::size_t slot) const = 0;
};

/// What an operator is told when it is bound: its node, the types of its operands, and the data of those that are
/// constant.
struct BindContext
{
    const graph::Graph& graph;
    graph::NodeId id;
    const graph::Node& node;
    /// Per operand; an entry of an empty optional input has no meaning (see `present`).
    std::span<const TensorType> operandTypes;
    /// Per operand: the data when it is a constant (already in the run's precision), else invalid.
    std::span<const Tensor> constants;
    /// Floating type of the run, for results whose type no floating operand decides.
    tensor::DType floatType = tensor::DType::Float32;
    /// Where known() finds what is no constant; null when there is no such place.
    const OperandSource* source = nullptr;
    /// Per operand: the type that it has in the model, whose numbers it holds (numbertypes.h). Empty: results keep all
    /// digits of the run.
    std::span<const tensor::DType> numbers = {};

    /// True when operand `slot` is given.
    [[nodiscard]] bool present(std::size_t slot) const
    {
        return slot < node.inputs.size() && node.inputs[slot].isValid();
    }
    /// True when operand `slot` is a constant.
    [[nodiscard]] bool constant(std::size_t slot) const { return slot < constants.size() && constants[slot].isValid(); }
    /// An Input error whose place names node, operator, opset and operand shapes.
    [[nodiscard]] base::Error error(std::string message) const;
    [[nodiscard]] std::int64_t intAttribute(std::string_view name, std::int64_t fallback) const;
    [[nodiscard]] double floatAttribute(std::string_view name, double fallback) const;
    [[nodiscard]] std::string textAttribute(std::string_view name, std::string fallback) const;
    [[nodiscard]] std::vector<std::int64_t> intsAttribute(std::string_view name,
                                                          std::vector<std::int64_t> fallback) const;
    /// The data of operand `slot` (present): the constant, else what follows from the inputs of the run, to which the
    /// model is then bound. For what shapes depend on. Errors: neither is at hand.
    [[nodiscard]] base::Result<Tensor> known(std::size_t slot) const;
    /// Integers of operand `slot` as known() finds them; empty when the operand is absent.
    [[nodiscard]] base::Result<std::vector<std::int64_t>> constantInts(std::size_t slot) const;
};

/// What rounding the results of an operator did to them.
struct Overflow
{
    std::size_t output = 0; ///< the first output that has such elements
    std::int64_t count = 0; ///< its finite numbers beyond the largest of the type, which became infinite
};

/// An operator with its shapes, attributes and constants known: computes, differentiates, and says what it is.
/// Immutable; used from the thread that runs. float32 may use oneDNN; float64 uses the reference templates.
class BoundOperator
{
public:
    virtual ~BoundOperator() = default;

    /// Types of all outputs, in order.
    [[nodiscard]] const std::vector<TensorType>& outputTypes() const { return m_outputTypes; }
    /// What a run computes: forward(), each floating result rounded to the numbers of the type that it has in the
    /// model. `overflow` (may be null) is written to where finite numbers became infinite by that.
    [[nodiscard]] std::vector<Tensor> run(std::span<const Tensor> operands, Overflow* overflow = nullptr) const;
    /// As run(), for a caller who needs the operands no more: results may lie in the memory of those that nobody else
    /// holds. Same bits.
    [[nodiscard]] std::vector<Tensor> runOver(std::span<Tensor> operands, Overflow* overflow = nullptr) const;
    /// The only result of `next`, which reads the only result of this one and nothing else: both in one walk, with the
    /// bits that they have one after the other. `operands` as for runOver(). Invalid, and the operands untouched, where
    /// the two cannot go together.
    [[nodiscard]] Tensor runThrough(std::span<Tensor> operands, const BoundOperator& next) const;
    /// The type whose numbers output `k` is rounded to; nothing where it keeps all digits of the run.
    [[nodiscard]] std::optional<tensor::DType> roundedTo(std::size_t k) const
    {
        return k < m_rounded.size() ? m_rounded[k] : std::nullopt;
    }
    /// Says that results are rounded, by output; for ops::bind().
    void roundTo(std::vector<std::optional<tensor::DType>> types) { m_rounded = std::move(types); }

    /// Forward in all digits of the run: what run() rounds. `operands` by slot (constants included; absent optional
    /// ones invalid). Returns one tensor per output.
    [[nodiscard]] virtual std::vector<Tensor> forward(std::span<const Tensor> operands) const = 0;
    /// As forward(), but an operand that nobody else holds may be written over.
    [[nodiscard]] virtual std::vector<Tensor> forwardOver(std::span<Tensor> operands) const
    {
        return forward(operands);
    }
    /// forwardOver() with `rows` over its result, float32, as soon as parts of it are known; invalid, and the operands
    /// untouched, where this operator does not do that.
    [[nodiscard]] virtual Tensor forwardThrough(std::span<Tensor> operands, const RowsOver& rows) const
    {
        (void)operands;
        (void)rows;
        return {};
    }
    /// How this operator, a function of the elements of its only operand, is computed in place; null for all others.
    [[nodiscard]] virtual const RowsOver* rowsOver() const { return nullptr; }
    /// Refuses data that an operator cannot work with (an index outside its axis); called before forward() in a run.
    /// Without it, forward() is safe, but its results mean nothing then. Errors: Input, without a place.
    [[nodiscard]] virtual base::Result<void> check(std::span<const Tensor> operands) const
    {
        (void)operands;
        return {};
    }
    /// What the reverse rule (VJP) reads when every float operand requires a gradient, in PyTorch's choice where it has
    /// one: the saving policy `autograd`.
    [[nodiscard]] virtual Reads savedForGradient() const = 0;
    /// What the operator is. Structures of operators whose results are integers are NoRelevance.
    [[nodiscard]] virtual const Structure& structure() const = 0;
    /// One tensor per output when the results follow from types and constants alone and no forward pass is needed to
    /// know them (Shape); empty otherwise.
    [[nodiscard]] virtual std::vector<Tensor> knownResults() const { return {}; }
    /// Multiply-add counted as two.
    [[nodiscard]] virtual double flops() const { return 0; }
    /// Bytes of arrays that it holds beside operands and results while it runs, booked to MemoryAccount::workspace();
    /// `slot`: the operand whose part is wanted.
    [[nodiscard]] virtual std::uint64_t workspace(Work work, std::size_t slot = 0) const
    {
        (void)work;
        (void)slot;
        return 0;
    }
    /// Bytes that a forward run moves beside operands and results: rows of tables that it looks up, workspace.
    [[nodiscard]] virtual double traffic() const { return 0; }

protected:
    std::vector<TensorType> m_outputTypes;

private:
    std::vector<std::optional<tensor::DType>> m_rounded; // empty: nothing is
};

} // namespace retro::ops
