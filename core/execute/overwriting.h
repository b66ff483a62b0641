// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/execute/boundmodel.h"

#include <map>
#include <memory>
#include <optional>
#include <vector>

namespace retro::execute
{

/// Element-wise nodes that write over an operand which nobody reads after them (metadata key rewrite puts there), in a
/// forward pass that gives operands away with their last reader. Each node runs block by block; a block is written
/// where its operand lay. Results are those of the plain node, bit for bit.
class Overwriting
{
public:
    /// Binds the marked nodes of a model to blocks; a node that cannot run in blocks is left out.
    explicit Overwriting(const BoundModel& model);

    /// Runs a marked node over operands of its own. Nothing when the node is not marked, or when the memory of the
    /// operand is not its alone: then it has to run as ever.
    [[nodiscard]] std::optional<Tensor> run(NodeId node, std::vector<Tensor>& operands) const;

private:
    using Operator = std::unique_ptr<ops::BoundOperator>;

    struct Marked
    {
        std::size_t slot = 0;      ///< operand that is written over
        std::vector<bool> isSplit; ///< per operand: goes by blocks; else one element that every block reads
        Operator whole;            ///< bound to a block
        Operator rest;             ///< bound to what is left behind the last whole block
    };

    static std::optional<Marked> bound(const BoundModel& model, NodeId node, std::size_t slot);
    static bool isAlone(const Marked& marked, const std::vector<Tensor>& operands);
    static std::vector<Tensor> block(const Marked& marked, const std::vector<Tensor>& operands, std::int64_t begin,
                                     std::int64_t count);
    static void runInBlocks(const Marked& marked, const std::vector<Tensor>& operands);

    std::map<NodeId, Marked> m_marked;
};

} // namespace retro::execute
