// SPDX-License-Identifier: Apache-2.0
#include "core/base/failure.h"
#include "core/base/memorylimit.h"
#include "core/graph/attributes.h"
#include "core/ops/elements.h"
#include "core/ops/kernel/matrixproduct.h"
#include "core/ops/kernel/roundnumbers.h"
#include "core/ops/layerkind.h"
#include "core/ops/numbertypes.h"
#include "core/ops/registry.h"
#include "core/rewrite/passes.h"
#include "core/tensor/checkedshape.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>

namespace retro::rewrite
{

using ops::BoundOperator;
using tensor::DType;
using tensor::Tensor;

namespace
{

using OperatorPointer = std::unique_ptr<BoundOperator>;

/// Smaller matrices are copied: products read rows of theirs a little faster.
constexpr std::int64_t kLeastTurnedBytes = 1 << 20;

class Folder
{
public:
    explicit Folder(Draft& draft) : m_draft(draft), m_most(allowanceOf(draft)) {}

    /// Bytes that all results may take together.
    [[nodiscard]] std::uint64_t most() const { return m_most; }

    /// True when the node was folded.
    bool fold(NodeId id)
    {
        const graph::Node& node = m_draft.node(id);
        if (m_draft.isRemoved(id) || !isFoldable(node)) {
            return false;
        }
        if (isTurnedWeight(node)) {
            const graph::Value& matrix = m_draft.value(node.inputs[0]);
            m_draft.makeConstant(node.outputs[0], ops::swapped(matrix.constant), matrix.dtype);
            m_draft.removeNode(id);
            return true;
        }
        const std::vector<DType> types = ops::resultNumbers(node, operandTypes(node));
        const auto computed = base::caught([&]() -> base::Result<std::vector<Tensor>> { return compute(id, types); });
        if (!computed.ok() || computed->empty()) { // without memory now, the run will say so
            return false;
        }
        const std::vector<Tensor>& results = *computed;
        for (std::size_t k = 0; k < node.outputs.size(); ++k) {
            if (node.outputs[k].isValid()) {
                const DType own = results[k].dtype();
                const DType declared = tensor::isFloating(own) ? types[k] : own; // results in between declare none
                m_draft.makeConstant(node.outputs[k], results[k].contiguous(), declared);
            }
        }
        m_draft.removeNode(id);
        return true;
    }

private:
    /// Bytes of all results together: some times what the file holds, so that a small file cannot take a gigabyte.
    [[nodiscard]] static std::uint64_t allowanceOf(const Draft& draft)
    {
        std::uint64_t bytes = 0;
        for (std::size_t i = 0; i < draft.before().valueCount(); ++i) {
            const Tensor& constant = draft.before().value(ValueId(i)).constant;
            bytes += constant.isValid() ? static_cast<std::uint64_t>(constant.bytes()) : 0;
        }
        return std::clamp(kMaxFoldedTimes * std::min(bytes, kMaxFoldedBytesTogether), kMaxFoldedBytes,
                          kMaxFoldedBytesTogether);
    }

    [[nodiscard]] bool isFoldable(const graph::Node& node) const
    {
        const auto isMissing = [](ValueId id) { return !id.isValid(); };
        const bool hasOperand = !std::all_of(node.inputs.begin(), node.inputs.end(), isMissing);
        const bool isConstant = std::all_of(node.inputs.begin(), node.inputs.end(),
                                            [&](ValueId id) { return isMissing(id) || m_draft.isConstant(id); });
        const bool makesOutput = std::any_of(node.outputs.begin(), node.outputs.end(),
                                             [&](ValueId id) { return !isMissing(id) && m_draft.isOutput(id); });
        return hasOperand && isConstant && !makesOutput;
    }

    /// The element types of the operands in the model.
    [[nodiscard]] std::vector<DType> operandTypes(const graph::Node& node) const
    {
        std::vector<DType> types;
        for (const ValueId id : node.inputs) {
            types.push_back(id.isValid() ? m_draft.value(id).dtype : DType::Bool); // an absent one decides nothing
        }
        return types;
    }

    /// Float64 once an operand has that many digits, else float32.
    [[nodiscard]] DType floatType(const graph::Node& node) const
    {
        const bool isWide = std::any_of(node.inputs.begin(), node.inputs.end(), [&](ValueId id) {
            return id.isValid() && m_draft.value(id).constant.dtype() == DType::Float64;
        });
        return isWide ? DType::Float64 : DType::Float32;
    }

    /// The one type that all floating operands are stored in; moving elements keeps it, also a narrow one.
    [[nodiscard]] std::optional<DType> storedType(const graph::Node& node) const
    {
        std::optional<DType> common;
        for (const ValueId id : node.inputs) {
            const DType type = id.isValid() ? m_draft.value(id).constant.dtype() : DType::Int64;
            if (isFloating(type) && common && *common != type) {
                return std::nullopt;
            }
            common = isFloating(type) ? std::optional(type) : common;
        }
        return common;
    }

    [[nodiscard]] std::vector<Tensor> operandsOf(const graph::Node& node, DType floats) const
    {
        std::vector<Tensor> operands(node.inputs.size());
        for (std::size_t slot = 0; slot < operands.size(); ++slot) {
            if (node.inputs[slot].isValid()) {
                const Tensor& constant = m_draft.value(node.inputs[slot]).constant;
                operands[slot] = tensor::isFloating(constant.dtype()) ? constant.to(floats) : constant;
            }
        }
        return operands;
    }

    /// The operator, or nothing when it is not implemented for these operands (the run will say so, with the reason).
    [[nodiscard]] OperatorPointer bind(NodeId id, const std::vector<Tensor>& operands) const
    {
        std::vector<ops::TensorType> types(operands.size());
        for (std::size_t slot = 0; slot < operands.size(); ++slot) {
            if (operands[slot].isValid()) {
                types[slot] = {operands[slot].dtype(), operands[slot].shape()};
            }
        }
        base::Result<OperatorPointer> bound = ops::bind({m_draft.before(), id, m_draft.node(id), types, operands});
        return bound.ok() ? std::move(bound).value() : nullptr;
    }

    /// `types` of the results in the model.
    std::vector<Tensor> compute(NodeId id, std::span<const DType> types)
    {
        const graph::Node& node = m_draft.node(id);
        DType floats = floatType(node);
        std::vector<Tensor> operands = operandsOf(node, floats);
        OperatorPointer op = bind(id, operands);
        if (op && floats == DType::Float32 && isArithmetic(*op)) {
            operands = operandsOf(node, DType::Float64);
            op = bind(id, operands);
        }
        if (!op || !op->check(operands).ok() || !takeAllowance(*op)) {
            return {};
        }
        std::vector<Tensor> results = op->forward(operands);
        const std::optional<DType> stored = isArithmetic(*op) ? std::nullopt : storedType(node);
        for (std::size_t k = 0; k < results.size(); ++k) {
            if (results[k].isValid() && isFloating(results[k].dtype())) {
                results[k] = stored ? results[k].to(*stored) : m_draft.kept(std::move(results[k]), floats);
                results[k] = k < types.size() ? inModelType(std::move(results[k]), types[k]) : results[k];
            }
        }
        return results;
    }

    /// Rounded to the type that it has in the model, unless all digits are asked for.
    [[nodiscard]] Tensor inModelType(Tensor result, DType type) const
    {
        return ops::isWiderThan(result.dtype(), type) && !m_draft.keepsDigits() ? result.to(type) : std::move(result);
    }

    /// True when results are floats that are computed, not moved.
    static bool isArithmetic(const BoundOperator& op)
    {
        const std::vector<ops::TensorType>& types = op.outputTypes();
        return op.structure().kind() != ops::StructureKind::ShapeMap &&
               std::any_of(types.begin(), types.end(), [](const auto& type) { return isFloating(type.dtype); });
    }

    /// A large matrix that is turned for products alone: they read it as it lies, so it is no copy.
    [[nodiscard]] bool isTurnedWeight(const graph::Node& node) const
    {
        if (!ops::areElements(node, {ops::Elements::Turned}) || node.inputs.size() != 1 || node.outputs.size() != 1) {
            return false;
        }
        const Tensor& matrix = m_draft.value(node.inputs[0]).constant;
        const std::vector<std::int64_t> turned{1, 0};
        return matrix.rank() == 2 && matrix.isContiguous() && matrix.bytes() >= kLeastTurnedBytes &&
               attributeOr(node, "perm", turned) == turned && isReadByProductsAlone(node.outputs[0]);
    }

    [[nodiscard]] bool isReadByProductsAlone(ValueId value) const
    {
        std::size_t count = 0;
        for (std::size_t i = 0; i < m_draft.nodeCount(); ++i) {
            const graph::Node& node = m_draft.node(NodeId(i));
            if (m_draft.isRemoved(NodeId(i)) || std::ranges::count(node.inputs, value) == 0) {
                continue;
            }
            if (!ops::isMatMul(node) || node.inputs.front() == value) {
                return false;
            }
            ++count;
        }
        return count > 0 && count == m_draft.readerCount(value); // else a graph within a node reads it
    }

    bool takeAllowance(const BoundOperator& op)
    {
        std::uint64_t bytes = 0;
        for (const ops::TensorType& type : op.outputTypes()) {
            const auto size = tensor::checkedBytes(type.shape, type.dtype, kMaxFoldedBytes);
            bytes += size.ok() ? *size : kMaxFoldedBytes + 1;
        }
        if (bytes > kMaxFoldedBytes || m_bytes + bytes > m_most || op.flops() > kMaxFoldedFlops) {
            return false;
        }
        m_bytes += bytes;
        return true;
    }

    Draft& m_draft;
    std::uint64_t m_bytes = 0;
    std::uint64_t m_most;
};

/// "3 Transpose, 1 Cast".
std::string countsText(const std::map<std::string, int>& counts)
{
    std::string text;
    for (const auto& [op, count] : counts) {
        text += fmt::format("{}{} {}", text.empty() ? "" : ", ", count, op);
    }
    return text;
}

} // namespace

void foldConstants(Draft& draft, std::vector<RewriteStep>& steps)
{
    Folder folder(draft);
    const base::MemoryAllowance allowance(base::MemoryLimit::beforeRun() + folder.most());
    RewriteStep step;
    step.rewrite = "fold constants";
    std::map<std::string, int> counts;
    for (std::size_t i = 0; i < draft.nodeCount() && !draft.isStopped(); ++i) {
        if (folder.fold(NodeId(i))) {
            step.removed.push_back(draft.node(NodeId(i)).name);
            ++counts[draft.node(NodeId(i)).op];
        }
    }
    if (!step.removed.empty()) {
        step.text = fmt::format("{} with constant operands computed once ({})", counted(step.removed.size(), "node"),
                                countsText(counts));
        steps.push_back(std::move(step));
    }
}

} // namespace retro::rewrite
