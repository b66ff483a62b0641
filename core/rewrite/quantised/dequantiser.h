// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/rewrite/draft.h"
#include "core/rewrite/genericshapes.h"
#include "core/rewrite/rewrite.h"

#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace retro::rewrite
{

/// What the levels of a quantised value stand for: (level − zero point)·scale.
struct Grid
{
    ValueId scale;
    ValueId zero; ///< may be invalid: 0
    /// Which axis has a scale each, and blocks, as QuantizeLinear and DequantizeLinear name them.
    std::int64_t axis = 1;
    std::int64_t block = 0;
};

/// The grid of a QuantizeLinear or DequantizeLinear node.
[[nodiscard]] Grid gridOf(const graph::Node& node);
/// True when both stand for the same numbers: the same values, or constants with equal bits; a zero point that is
/// missing is 0.
[[nodiscard]] bool isSame(const Draft& draft, const Grid& a, const Grid& b);
/// True for a grid with one scale for all elements.
[[nodiscard]] bool isOfTensor(const Draft& draft, const Grid& grid);
/// The numbers that a constant of levels stands for, in float64; invalid when scale or zero point are computed, or fit
/// no axis, or the result would be larger than what folding makes. One scale serves any number of zero points.
[[nodiscard]] tensor::Tensor dequantised(const Draft& draft, ValueId levels, const Grid& grid);
/// A constant in float64; invalid when it is computed or not there.
[[nodiscard]] tensor::Tensor wideConstant(const Draft& draft, ValueId id);
/// The operand of a node; invalid where it has none.
[[nodiscard]] ValueId operandOf(const graph::Node& node, std::size_t slot);

/// What a node is, but for its operands and results.
struct NodeForm
{
    std::string domain;
    std::string op;
    std::int64_t opset = 13;
    graph::Attributes attributes = {};
    tensor::DType type = tensor::DType::Float32; ///< of its results
};

/// Writes quantised values as the floats that they stand for. A value of levels keeps its name and becomes a float;
/// whoever still needs levels gets them from a new QuantizeLinear. Nodes that are not understood stay as they are.
class Dequantiser
{
public:
    Dequantiser(Draft& draft, std::vector<RewriteStep>& steps) : m_draft(draft), m_steps(steps), m_shapes(draft) {}

    /// Over all nodes, in order.
    void run();

    [[nodiscard]] Draft& draft() { return m_draft; }
    /// The floats that `levels` stand for, by this grid; made where that is possible (a constant, the result of a
    /// QuantizeLinear or of what was rewritten, moved elements of these), else a DequantizeLinear of them.
    [[nodiscard]] ValueId floatsOf(ValueId levels, const Grid& grid);
    /// As floatsOf(), invalid where no relevance could pass.
    [[nodiscard]] ValueId tracedFloatsOf(ValueId levels, const Grid& grid);
    /// The grid of a value that was rewritten, or is the result of a quantising node, moved or not.
    [[nodiscard]] std::optional<Grid> knownGrid(ValueId levels) const;

    /// True for levels that an input of the model gives, moved or not.
    [[nodiscard]] bool isOfInput(ValueId levels) const;

    /// A new node with one result of the declared shape of `like`; names are those of the node being rewritten, with
    /// `suffix`.
    ValueId add(const NodeForm& form, const std::string& suffix, std::vector<ValueId> inputs, ValueId like);
    /// As add(), with results of unknown shape, one per name.
    std::vector<ValueId> addFreeOf(const NodeForm& form, const std::string& suffix, std::vector<ValueId> inputs,
                                   const std::vector<std::string>& results);
    /// As addFreeOf(), with one result.
    ValueId addFree(const NodeForm& form, const std::string& suffix, std::vector<ValueId> inputs);
    /// As add(), but the node makes values that nobody makes any more.
    void addMaking(const NodeForm& form, const std::string& suffix, std::vector<ValueId> inputs,
                   std::vector<ValueId> results);
    /// As add(), but the node takes the place of one that made `results`.
    void finish(NodeId id, const NodeForm& form, const std::string& suffix, std::vector<ValueId> inputs,
                std::vector<ValueId> results);
    /// `floats` quantised by `grid` take the place of the node's levels (its output 0).
    void finishQuantised(NodeId id, ValueId floats, const Grid& grid);
    /// The same of a node that works on levels and leaves out what is behind the decimal point of its results.
    void finishTruncated(NodeId id, ValueId floats, const Grid& grid);
    /// DynamicQuantizeLinear and FakeQuantize of `x`: its floats, and their grid.
    [[nodiscard]] std::pair<ValueId, Grid> dynamicOf(ValueId x);
    /// A constant that is worked out in float64.
    ValueId constant(const std::string& stem, tensor::Tensor data);
    /// Another node that goes, too: nobody reads what it makes any more.
    void remove(NodeId id);
    /// A node that cannot be rewritten, and why.
    void note(NodeId id, const std::string& why);
    /// Axes of a value of the graph before, as declared or as they follow from the inputs; 0 where neither says it.
    [[nodiscard]] std::size_t rankOf(ValueId id);
    /// The floating type that a grid's numbers have.
    [[nodiscard]] tensor::DType floatTypeOf(const Grid& grid) const;

    /// While one lives, what is added is named after the node, and is listed in its step.
    class Working
    {
    public:
        Working(Dequantiser& dequantiser, NodeId id);
        ~Working();
        Working(const Working&) = delete;
        Working& operator=(const Working&) = delete;

    private:
        Dequantiser& m_dequantiser;
        std::string m_name;
        std::string m_scope;
        std::size_t m_step;
    };

private:
    void visit(NodeId id);
    void dequantise(NodeId id);
    [[nodiscard]] Grid withScalePerZero(Grid grid);
    [[nodiscard]] ValueId traced(ValueId levels, const Grid& grid, int depth);
    [[nodiscard]] ValueId madeBy(NodeId producer, ValueId levels, const Grid& grid, int depth);
    [[nodiscard]] bool isDynamicOf(const graph::Node& node, ValueId levels, const Grid& grid) const;
    [[nodiscard]] ValueId ofConstant(ValueId levels, const Grid& grid);
    [[nodiscard]] ValueId ofQuantize(NodeId id, const Grid& grid);
    [[nodiscard]] ValueId ofDynamic(NodeId id, const Grid& grid);
    [[nodiscard]] bool ofMover(NodeId id, const Grid& grid, int depth);
    void becomeFloats(ValueId levels, const Grid& grid, const graph::Attributes& attributes);
    [[nodiscard]] graph::Node made(const NodeForm& form, const std::string& suffix, std::vector<ValueId> inputs,
                                   std::vector<ValueId> results);
    void restoreLevels();
    [[nodiscard]] bool giveLevels(graph::Node& node);
    [[nodiscard]] ValueId levelsOf(ValueId floats);

    struct Floats
    {
        ValueId floats;
        Grid grid;
        graph::Attributes attributes; ///< of a QuantizeLinear that makes the levels again
    };

    Draft& m_draft;
    std::vector<RewriteStep>& m_steps;
    GenericShapes m_shapes;
    std::map<ValueId, Floats> m_floats; ///< by the value of levels
    std::map<ValueId, std::vector<std::pair<Grid, ValueId>>> m_constants;
    std::map<ValueId, ValueId> m_levels; ///< of values that became floats: levels made again
    std::set<NodeId> m_written;          ///< nodes that are made here
    std::vector<ValueId> m_to;           ///< what readers of a value read instead
    std::string m_name;                  ///< of the node being rewritten
    std::string m_scope;
    std::size_t m_step = 0; ///< of that node
};

/// Rewrites one node; false when it stays.
using DequantiseFunction = bool (*)(Dequantiser&, NodeId);
/// What rewrites nodes of an operator; nullptr for others.
[[nodiscard]] DequantiseFunction layerDequantiser(const graph::Node& node);

} // namespace retro::rewrite
