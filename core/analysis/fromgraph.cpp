// SPDX-License-Identifier: Apache-2.0
#include "core/analysis/fromgraph.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace retro::analysis
{

namespace
{

using base::inputError;
using base::NodeId;
using base::Result;
using base::ValueId;
using graph::Graph;
using graph::Node;
using graph::Value;
using graph::ValueKind;

/// Products as exporters of captures call them, for nodes whose operator is not bound. Sorted.
constexpr std::array<std::string_view, 14> kProducts{
    "Conv",   "ConvTranspose",        "Gemm",        "Linear",      "MatMul", "addmm", "baddbmm", "bmm",
    "conv2d", "conv_general_dilated", "convolution", "dot_general", "linear", "mm"};

std::optional<std::uint64_t> elementsOf(std::span<const std::int64_t> shape)
{
    double product = 1;
    std::uint64_t elements = 1;
    for (const std::int64_t extent : shape) {
        product *= static_cast<double>(extent);
        if (extent < 0 || product > static_cast<double>(kMaxTotalBytes)) {
            return std::nullopt;
        }
        elements *= static_cast<std::uint64_t>(extent);
    }
    return elements;
}

std::optional<std::uint64_t> bytesOf(tensor::DType type, std::span<const std::int64_t> shape)
{
    const std::optional<std::uint64_t> elements = elementsOf(shape);
    const std::uint64_t size = std::max<std::uint64_t>(1, tensor::sizeOf(type));
    if (!elements || *elements > kMaxTotalBytes / size) {
        return std::nullopt;
    }
    return *elements * size;
}

std::optional<tensor::Shape> declaredShape(const Value& value)
{
    if (!value.shape) {
        return std::nullopt;
    }
    tensor::Shape shape;
    for (const graph::Dimension& dimension : *value.shape) {
        if (!dimension.extent) {
            return std::nullopt;
        }
        shape.push_back(*dimension.extent);
    }
    return shape;
}

/// Of an initializer, whether its data are there or not.
std::uint64_t constantBytes(const Value& value)
{
    if (value.facts && value.facts->bytes) {
        return *value.facts->bytes;
    }
    const bool isTyped = value.constant.isValid() || !value.constant.shape().empty();
    const auto bytes = isTyped ? bytesOf(value.constant.dtype(), value.constant.shape())
                               : bytesOf(value.dtype, declaredShape(value).value_or(tensor::Shape{0}));
    return bytes.value_or(0);
}

bool hasParameter(const Graph& graph, const Node& node)
{
    return std::ranges::any_of(node.inputs, [&](ValueId input) {
        return input.isValid() && graph.value(input).kind == ValueKind::Constant &&
               tensor::isFloating(graph.value(input).dtype);
    });
}

class Importer
{
public:
    Importer(const Graph& graph, const BoundFacts& facts)
        : m_graph(graph), m_facts(facts), m_isConstant(graph.valueCount(), false), m_root(graph.valueCount()),
          m_id(graph.valueCount(), kNone)
    {}

    Result<PlanningGraph> run()
    {
        findConstants();
        findViews();
        chooseUnit();
        RETRO_CHECK(addSources());
        for (std::size_t i = 0; i < m_graph.nodeCount(); ++i) {
            RETRO_CHECK(addNode(NodeId(i)));
        }
        const bool hasOwnOutputs = !m_facts.outputs.empty();
        for (const ValueId output : hasOwnOutputs ? std::span(m_facts.outputs) : m_graph.outputs()) {
            if (!m_isConstant[output.index()] && m_id[rootOf(output).index()] != kNone) {
                m_values[m_id[rootOf(output).index()]].isOutput = true;
            }
        }
        addWarnings();
        PlanningGraph result;
        result.unit = m_unit;
        result.constantBytes = m_constantBytes;
        result.warnings = std::move(m_warnings);
        RETRO_TRY(result.graph, OpGraph::make(std::move(m_ops), std::move(m_values)));
        return result;
    }

private:
    [[nodiscard]] ValueId rootOf(ValueId id) const { return m_root[id.index()]; }
    [[nodiscard]] bool isConstantInput(ValueId id) const { return !id.isValid() || m_isConstant[id.index()]; }

    void findConstants()
    {
        for (std::size_t i = 0; i < m_graph.valueCount(); ++i) {
            m_root[i] = ValueId(i);
            const Value& value = m_graph.value(ValueId(i));
            m_isConstant[i] = value.kind == ValueKind::Constant;
            m_constantBytes += m_isConstant[i] ? constantBytes(value) : 0;
        }
        for (const Node& node : m_graph.nodes()) {
            markOutputs(node, isConstantNode(node));
        }
    }

    [[nodiscard]] bool isConstantNode(const Node& node) const
    {
        const auto isKnown = [&](ValueId input) { return isConstantInput(input); };
        return node.op == "Constant" || (!node.inputs.empty() && std::ranges::all_of(node.inputs, isKnown));
    }

    void markOutputs(const Node& node, bool isConstant)
    {
        for (const ValueId output : node.outputs) {
            if (output.isValid()) {
                m_isConstant[output.index()] = isConstant;
            }
        }
    }

    [[nodiscard]] std::optional<std::uint32_t> storageOf(ValueId id) const
    {
        const Value& value = m_graph.value(id);
        return value.facts ? value.facts->storage : std::nullopt;
    }

    /// The one operand that all outputs of the node share memory with; invalid when the node is no view.
    [[nodiscard]] ValueId viewedBy(const Node& node) const
    {
        ValueId viewed;
        for (const ValueId input : node.inputs) {
            if (isConstantInput(input)) {
                continue;
            }
            if (viewed.isValid()) {
                return {};
            }
            viewed = input;
        }
        const bool isView =
            viewed.isValid() && storageOf(viewed).has_value() && std::ranges::all_of(node.outputs, [&](ValueId output) {
                return !output.isValid() || storageOf(output) == storageOf(viewed);
            });
        return isView ? viewed : ValueId();
    }

    void findViews()
    {
        for (const Node& node : m_graph.nodes()) {
            const ValueId viewed = viewedBy(node);
            m_isView.push_back(viewed.isValid());
            for (const ValueId output : node.outputs) {
                if (viewed.isValid() && output.isValid()) {
                    m_root[output.index()] = rootOf(viewed);
                }
            }
        }
    }

    [[nodiscard]] const ops::BoundOperator* boundOf(NodeId id) const
    {
        return m_facts.operatorOf ? m_facts.operatorOf(id) : nullptr;
    }

    [[nodiscard]] double flopsOf(NodeId id) const
    {
        const Node& node = m_graph.node(id);
        if (node.facts && node.facts->flops) {
            return *node.facts->flops;
        }
        const ops::BoundOperator* bound = boundOf(id);
        return bound == nullptr ? 0 : bound->flops();
    }

    void chooseUnit()
    {
        bool isTimed = true;
        bool isCounted = false;
        for (std::size_t i = 0; i < m_graph.nodeCount(); ++i) {
            const Node& node = m_graph.node(NodeId(i));
            isTimed = isTimed && node.facts && node.facts->milliseconds;
            isCounted = isCounted || boundOf(NodeId(i)) != nullptr || (node.facts && node.facts->flops); // 0 is a count
        }
        m_unit = isTimed ? CostUnit::Milliseconds : isCounted ? CostUnit::Flops : CostUnit::Operators;
        if (m_unit == CostUnit::Operators) {
            m_warnings.push_back(fmt::format("none of {} operators states milliseconds or operations: each costs 1",
                                             m_graph.nodeCount()));
        }
    }

    [[nodiscard]] double costOf(NodeId id) const
    {
        switch (m_unit) {
        case CostUnit::Milliseconds:
            return *m_graph.node(id).facts->milliseconds;
        case CostUnit::Flops:
            return flopsOf(id);
        case CostUnit::Operators:
            return 1;
        }
        return 1;
    }

    Result<OpValueId> addValue(ValueId id)
    {
        const Value& source = m_graph.value(id);
        OpValue value;
        value.name = source.name;
        const auto type = m_facts.typeOf ? m_facts.typeOf(id) : std::nullopt;
        value.isDifferentiable = tensor::isFloating(type ? type->dtype : source.dtype) &&
                                 (!m_facts.carriesGradient || m_facts.carriesGradient(id));
        value.relevanceBytes = m_facts.relevanceBytesOf ? m_facts.relevanceBytesOf(id) : 0;
        std::optional<std::uint64_t> bytes;
        if (source.facts) {
            bytes = source.facts->bytes;
            value.isPinned = source.facts->isPinned;
        }
        if (!bytes && type) {
            bytes = bytesOf(type->dtype, type->shape);
        } else if (const auto shape = declaredShape(source); !bytes && shape) {
            bytes = bytesOf(source.dtype, *shape);
        }
        if (!bytes) {
            return inputError("its size is not known: the graph states neither bytes nor a shape of numbers",
                              value.name);
        }
        value.bytes = *bytes;
        m_id[id.index()] = static_cast<OpValueId>(m_values.size());
        m_values.push_back(std::move(value));
        return m_id[id.index()];
    }

    Result<void> addSources()
    {
        for (const ValueId input : m_graph.inputs()) {
            Op op;
            op.name = m_graph.value(input).name;
            op.type = "Input";
            op.phase = Phase::Source;
            RETRO_TRY(const OpValueId id, addValue(input));
            m_values[id].isPinned = true;
            op.outputs.push_back(id);
            m_ops.push_back(std::move(op));
        }
        return {};
    }

    void takeFacts(NodeId id, const Node& node, Op& op) const
    {
        const ops::BoundOperator* bound = boundOf(id);
        op.workspace = bound == nullptr ? 0 : bound->workspace(ops::Work::Forward);
        op.traffic = bound == nullptr ? 0 : bound->traffic();
        if (!node.facts) {
            return;
        }
        op.workspace = node.facts->workspace.value_or(op.workspace);
        op.phase = node.facts->phase == "backward" ? Phase::Gradient : Phase::Forward;
        op.isRecomputable = node.facts->recomputable;
        op.isStochastic = node.facts->stochastic;
        op.isEffectful = node.facts->effectful;
    }

    /// Ids of the planned values at those positions for which `isRead` answers true.
    template <class IsRead>
    [[nodiscard]] std::vector<OpValueId> idsOf(const std::vector<ValueId>& values, const IsRead& isRead) const
    {
        std::vector<OpValueId> ids;
        for (std::size_t i = 0; i < values.size(); ++i) {
            if (!isConstantInput(values[i]) && isRead(i) && m_id[rootOf(values[i]).index()] != kNone) {
                ids.push_back(m_id[rootOf(values[i]).index()]);
            }
        }
        return ids;
    }

    /// Planned values that a node reads, operands first.
    [[nodiscard]] std::vector<OpValueId> idsOf(const Node& node, const ops::Reads& reads) const
    {
        std::vector<OpValueId> ids = idsOf(node.inputs, [&](std::size_t i) { return reads.operand(i); });
        const std::vector<OpValueId> results = idsOf(node.outputs, [&](std::size_t i) { return reads.output(i); });
        ids.insert(ids.end(), results.begin(), results.end());
        return ids;
    }

    /// Who gets a part from the node. What the graph states to be saved is what every part of a gradient reads.
    void takeParts(NodeId id, const Node& node, Op& op) const
    {
        if (!m_facts.partsOf || boundOf(id) == nullptr) {
            return;
        }
        const bool states = node.facts && (node.facts->savedOperands || node.facts->savedOutputs);
        const bool isStated = states && !m_facts.isOfRelevance;
        std::vector<OpValueId> saved = op.savedInputs;
        saved.insert(saved.end(), op.savedOutputs.begin(), op.savedOutputs.end());
        op.parts.emplace();
        for (const NodePart& part : m_facts.partsOf(id)) {
            const OpValueId operand = m_id[rootOf(part.operand).index()];
            if (operand != kNone) {
                op.parts->push_back({operand, isStated ? saved : idsOf(node, part.reads), part.workspace});
            }
        }
        if (op.hasParameters && !isStated && m_facts.parameterReadsOf) {
            op.parameterReads = idsOf(node, m_facts.parameterReadsOf(id));
        }
    }

    void takeSaves(NodeId id, const Node& node, Op& op)
    {
        const ops::BoundOperator* bound = boundOf(id);
        const bool states = node.facts && (node.facts->savedOperands || node.facts->savedOutputs);
        if (!states && bound == nullptr) {
            ++m_withoutSaves;
        }
        const ops::Reads all{~0ULL, ~0ULL};
        const ops::Reads reads = bound == nullptr ? all : bound->savedForGradient();
        const auto isStated = [](const std::optional<std::vector<std::uint32_t>>& list, std::size_t i) {
            return list && std::find(list->begin(), list->end(), i) != list->end();
        };
        op.savedInputs = idsOf(node.inputs, [&](std::size_t i) {
            return states ? isStated(node.facts->savedOperands, i) : reads.operand(i);
        });
        op.savedOutputs = idsOf(node.outputs, [&](std::size_t i) {
            return states ? isStated(node.facts->savedOutputs, i) : reads.output(i);
        });
        takeParts(id, node, op);
    }

    [[nodiscard]] bool isProduct(NodeId id, const Node& node) const
    {
        if (const ops::BoundOperator* bound = boundOf(id)) {
            const ops::StructureKind kind = bound->structure().kind();
            return kind == ops::StructureKind::LinearMap || kind == ops::StructureKind::Bilinear;
        }
        return std::ranges::binary_search(kProducts, std::string_view(node.op));
    }

    Result<void> addNode(NodeId id)
    {
        const Node& node = m_graph.node(id);
        const bool isConstant =
            std::ranges::all_of(node.outputs, [&](ValueId output) { return isConstantInput(output); });
        if (isConstant && !node.outputs.empty()) {
            return {};
        }
        if (m_isView[id.index()]) {
            addView(id);
            return {};
        }
        Op op;
        op.name = node.name;
        op.type = node.op;
        op.cost = costOf(id);
        op.flops = flopsOf(id);
        op.hasParameters = hasParameter(m_graph, node);
        op.isProduct = isProduct(id, node);
        takeFacts(id, node, op);
        op.inputs = idsOf(node.inputs, [](std::size_t) { return true; });
        for (const ValueId output : node.outputs) {
            if (output.isValid()) {
                RETRO_TRY(const OpValueId value, addValue(output));
                op.outputs.push_back(value);
            }
        }
        takeSaves(id, node, op);
        m_ops.push_back(std::move(op));
        for (const OpValueId output : m_ops.back().outputs) {
            m_maker.resize(m_values.size(), kNone);
            m_maker[output] = static_cast<OpId>(m_ops.size() - 1);
        }
        return {};
    }

    void addView(NodeId id)
    {
        ++m_views;
        const ValueId viewed = viewedBy(m_graph.node(id));
        const OpValueId value = m_id[rootOf(viewed).index()];
        if (value < m_maker.size() && m_maker[value] != kNone) {
            m_ops[m_maker[value]].cost += costOf(id);
        }
    }

    void addWarnings()
    {
        if (m_withoutSaves > 0) {
            m_warnings.push_back(
                fmt::format("{} operators do not say what they save for the gradient: operands and results are counted",
                            m_withoutSaves));
        }
        if (m_views > 0) {
            m_warnings.push_back(fmt::format("{} views are one value with what they look at", m_views));
        }
        const auto fixed =
            std::ranges::count_if(m_ops, [](const Op& op) { return op.phase == Phase::Forward && !op.mayRepeat(); });
        if (fixed > 0) {
            m_warnings.push_back(
                fmt::format("{} operators may run only once: their results stay while they are needed", fixed));
        }
    }

    const Graph& m_graph;
    const BoundFacts& m_facts;
    std::vector<bool> m_isConstant;
    std::vector<ValueId> m_root; ///< per value: the value whose memory it looks at, itself if none
    std::vector<OpValueId> m_id; ///< per value: its planned value
    std::vector<bool> m_isView;  ///< per node
    std::vector<OpId> m_maker;   ///< per planned value
    std::vector<Op> m_ops;
    std::vector<OpValue> m_values;
    std::vector<std::string> m_warnings;
    CostUnit m_unit = CostUnit::Operators;
    std::uint64_t m_constantBytes = 0;
    std::size_t m_withoutSaves = 0;
    std::size_t m_views = 0;
};

} // namespace

std::string_view nameOf(CostUnit unit)
{
    switch (unit) {
    case CostUnit::Milliseconds:
        return "ms";
    case CostUnit::Flops:
        return "FLOP";
    case CostUnit::Operators:
        return "operators";
    }
    return "";
}

Result<PlanningGraph> planningGraph(const Graph& graph, const BoundFacts& facts)
{
    return Importer(graph, facts).run();
}

} // namespace retro::analysis
