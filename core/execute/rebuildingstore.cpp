// SPDX-License-Identifier: Apache-2.0
#include "core/execute/rebuildingstore.h"

#include "core/execute/runnode.h"
#include "core/graph/reach.h"
#include "core/ops/linearoperands.h"

#include <algorithm>
#include <array>
#include <string_view>

namespace retro::execute
{

namespace
{

using ops::StructureKind;

constexpr std::size_t kMostSteps = 8; ///< nodes one behind the other that are run again for a value
constexpr std::size_t kBeyond = std::numeric_limits<std::size_t>::max();
/// What may be computed when it is needed, and not in the forward pass alone.
constexpr std::array<std::string_view, 4> kLateOperators{"MatMul", "Gemm", "MatMulNBits", "Attention"};

/// Next to what a product of matrices takes.
bool costsLittle(const ops::BoundOperator& op)
{
    switch (op.structure().kind()) {
    case StructureKind::SumOfOperands:
    case StructureKind::Product:
    case StructureKind::Quotient:
    case StructureKind::ShapeMap:
    case StructureKind::ElementWise:
    case StructureKind::SelfNormalisation:
        return true;
    case StructureKind::Differentiable: // a rotation of positions, say
        return dynamic_cast<const ops::LinearOperands*>(&op) != nullptr && op.flops() == 0;
    default:
        return false;
    }
}

std::int64_t bytesOf(const BoundModel& model, ValueId value)
{
    const ops::TensorType& type = model.typeOf(value);
    return tensor::elementCount(type.shape) * static_cast<std::int64_t>(tensor::sizeOf(type.dtype));
}

} // namespace

RebuildingStore::RebuildingStore(std::shared_ptr<const BoundModel> model, std::span<const ValueId> read,
                                 std::span<const ValueId> asIs, const KeepingBounds& bounds)
    : m_model(std::move(model)), m_tensors(m_model->graph().valueCount()),
      m_depth(m_model->graph().valueCount(), kBeyond), m_isRebuilt(m_model->graph().valueCount(), false),
      m_isAsked(m_model->graph().valueCount(), false), m_isLate(m_model->graph().valueCount(), false),
      m_dependents(m_model->graph().valueCount(), 0)
{
    std::set<ValueId> all(read.begin(), read.end());
    all.insert(asIs.begin(), asIs.end());
    std::int64_t bytes = 0;
    for (const ValueId value : all) {
        bytes += m_model->isConstant(value) ? 0 : bytesOf(*m_model, value);
        m_isAsked[value.index()] = true;
    }
    if (bytes >= bounds.least) {
        choose(read, asIs);
        chooseLate(asIs, bounds);
    }
    for (std::size_t i = 0; i < m_tensors.size(); ++i) { // inputs may be there for what is computed again alone
        if (isKept(ValueId(i))) {
            m_keptValues.emplace_back(i);
        }
    }
}

bool RebuildingStore::isKept(ValueId value) const
{
    const std::size_t i = value.index();
    return !m_isLate[i] && ((m_isAsked[i] && !m_isRebuilt[i]) || m_dependents[i] > 0);
}

std::int64_t RebuildingStore::keptBytes() const
{
    std::int64_t bytes = 0;
    for (std::size_t i = 0; i < m_tensors.size(); ++i) {
        bytes += isKept(ValueId(i)) && !m_model->isConstant(ValueId(i)) ? bytesOf(*m_model, ValueId(i)) : 0;
    }
    return bytes;
}

/// A product or an attention whose operands follow cheaply from what is kept, or from others that are late.
bool RebuildingStore::canBeLate(ValueId value) const
{
    const graph::Graph& graph = m_model->graph();
    const NodeId producer = graph.value(value).producer;
    if (!producer.isValid() || m_model->isConstant(value) || !isKept(value) || m_isRebuilt[value.index()] ||
        std::ranges::find(kLateOperators, graph.node(producer).op) == kLateOperators.end()) {
        return false;
    }
    return std::ranges::all_of(graph.node(producer).inputs, [this](ValueId operand) {
        return !operand.isValid() || m_model->isConstant(operand) || m_depth[operand.index()] != kBeyond;
    });
}

/// Of the node that makes the value.
double RebuildingStore::flopsOf(ValueId value) const
{
    return m_model->op(m_model->graph().value(value).producer).flops();
}

std::vector<ValueId> RebuildingStore::lateCandidates(std::span<const ValueId> asIs) const
{
    struct Candidate
    {
        ValueId value;
        double flops = 0; ///< for a byte
    };
    std::vector<Candidate> candidates;
    for (std::size_t i = 0; i < m_model->graph().nodeCount(); ++i) {
        const std::vector<ValueId>& outputs = m_model->graph().node(NodeId(i)).outputs;
        const bool isOne = std::ranges::count_if(outputs, [](ValueId value) { return value.isValid(); }) == 1;
        const ValueId value = outputs.empty() ? ValueId() : outputs.front();
        if (isOne && value.isValid() && std::ranges::find(asIs, value) == asIs.end() && canBeLate(value)) {
            candidates.push_back(
                {value, flopsOf(value) / static_cast<double>(std::max<std::int64_t>(1, bytesOf(*m_model, value)))});
        }
    }
    std::ranges::stable_sort(candidates, {}, &Candidate::flops);
    std::vector<ValueId> values;
    std::ranges::transform(candidates, std::back_inserter(values), &Candidate::value);
    return values;
}

std::int64_t RebuildingStore::makeLate(ValueId value)
{
    m_isLate[value.index()] = true;
    m_lateFlops += flopsOf(value);
    std::int64_t saved = bytesOf(*m_model, value);
    for (const ValueId source : sourcesOf(value)) {
        const bool wasKept = isKept(source) || m_isLate[source.index()];
        ++m_dependents[source.index()];
        saved -= wasKept ? 0 : bytesOf(*m_model, source);
    }
    m_lateValues.push_back(value);
    return saved;
}

/// Makes products late until what is kept is within the budget: those first that save most bytes for an operation, and
/// of equals the earlier ones, which a relevance pass needs when it has let go most of the others.
void RebuildingStore::chooseLate(std::span<const ValueId> asIs, const KeepingBounds& bounds)
{
    std::int64_t kept = keptBytes();
    if (kept <= bounds.budget) {
        return;
    }
    double all = 0;
    for (std::size_t i = 0; i < m_model->graph().nodeCount(); ++i) {
        all += m_model->op(NodeId(i)).flops();
    }
    for (const ValueId value : lateCandidates(asIs)) {
        if (kept > bounds.budget && (kept > bounds.most || !(m_lateFlops + flopsOf(value) > bounds.share * all))) {
            kept -= makeLate(value);
        }
    }
}

/// Steps from what is kept to a value, of which all operands are known already.
std::size_t RebuildingStore::depthOf(ValueId value) const
{
    const graph::Graph& graph = m_model->graph();
    const NodeId producer = graph.value(value).producer;
    if (m_model->isConstant(value) || !producer.isValid()) {
        return 0; // an input is always there
    }
    if (!costsLittle(m_model->op(producer))) {
        return kBeyond;
    }
    std::size_t depth = 0;
    for (const ValueId operand : graph.node(producer).inputs) {
        const std::size_t own = !operand.isValid() || m_model->isConstant(operand) ? 0 : m_depth[operand.index()];
        depth = std::max(depth, own);
    }
    return depth >= kMostSteps ? kBeyond : depth + 1;
}

void RebuildingStore::settle(ValueId value, bool isRead, bool staysAsIs)
{
    std::size_t& depth = m_depth[value.index()];
    depth = depthOf(value);
    if (staysAsIs || (isRead && depth == kBeyond)) {
        depth = 0;
    } else if (isRead && depth > 0) {
        m_isRebuilt[value.index()] = true;
        ++m_rebuiltCount;
        for (const ValueId source : sourcesOf(value)) {
            ++m_dependents[source.index()];
        }
    }
}

void RebuildingStore::choose(std::span<const ValueId> read, std::span<const ValueId> asIs)
{
    const graph::Graph& graph = m_model->graph();
    std::vector<bool> isRead(graph.valueCount(), false);
    for (const ValueId value : read) {
        isRead[value.index()] = true;
    }
    std::vector<bool> staysAsIs(graph.valueCount(), false);
    for (const ValueId value : asIs) {
        staysAsIs[value.index()] = true;
    }
    for (const ValueId input : graph.inputs()) {
        m_depth[input.index()] = 0;
    }
    for (std::size_t i = 0; i < graph.nodeCount(); ++i) { // operands come before the nodes that read them
        for (const ValueId value : graph.node(NodeId(i)).outputs) {
            if (value.isValid()) {
                settle(value, isRead[value.index()], staysAsIs[value.index()]);
            }
        }
    }
}

/// The kept values that a value is computed from again.
std::vector<ValueId> RebuildingStore::sourcesOf(ValueId value) const
{
    std::set<ValueId> sources;
    for (const NodeId node : nodesOf(value)) {
        std::ranges::copy_if(
            m_model->graph().node(node).inputs, std::inserter(sources, sources.end()), [this](ValueId operand) {
                return operand.isValid() && !m_model->isConstant(operand) && m_depth[operand.index()] == 0;
            });
    }
    return {sources.begin(), sources.end()};
}

/// What leads to a value from what is kept or late, its own producer too.
std::set<NodeId> RebuildingStore::nodesOf(ValueId value) const
{
    return graph::nodesMaking(m_model->graph(), value, [&](ValueId at) {
        return at != value && (m_model->isConstant(at) || m_depth[at.index()] == 0);
    });
}

std::vector<NodeId> RebuildingStore::nodesAgain() const
{
    std::vector<NodeId> nodes;
    for (std::size_t i = 0; i < m_tensors.size(); ++i) {
        if ((m_isRebuilt[i] && m_isAsked[i]) || m_isLate[i]) {
            std::ranges::copy(nodesOf(ValueId(i)), std::back_inserter(nodes));
        }
    }
    return nodes;
}

/// Computes a value from what is kept.
Tensor RebuildingStore::computed(ValueId value) const
{
    for (const ValueId source : sourcesOf(value)) {
        if (m_isLate[source.index()]) {
            make(source);
        }
    }
    return computedAgain(*m_model, nodesOf(value),
                         [this](ValueId operand) { return m_tensors[operand.index()]; })[value];
}

/// Computes a late value, which is kept from then on.
void RebuildingStore::make(ValueId value) const
{
    m_tensors[value.index()] = computed(value);
    m_isLate[value.index()] = false;
    dropSources(value);
}

Tensor RebuildingStore::get(ValueId value) const
{
    if (m_isRebuilt[value.index()] && m_isAsked[value.index()]) {
        return computed(value);
    }
    if (m_isLate[value.index()]) {
        make(value);
    }
    return m_tensors[value.index()];
}

/// One less follows from what a value follows from.
void RebuildingStore::dropSources(ValueId value) const
{
    for (const ValueId source : sourcesOf(value)) {
        --m_dependents[source.index()];
        releaseUnneeded(source);
    }
}

void RebuildingStore::releaseUnneeded(ValueId value) const
{
    if (m_isAsked[value.index()] || m_dependents[value.index()] > 0) {
        return;
    }
    m_tensors[value.index()] = {};
    if (m_isLate[value.index()]) { // nobody needed it
        m_isLate[value.index()] = false;
        dropSources(value);
    }
}

void RebuildingStore::letGo(ValueId value)
{
    if (!m_isAsked[value.index()]) {
        return;
    }
    m_isAsked[value.index()] = false;
    releaseUnneeded(value);
    if (m_isRebuilt[value.index()]) {
        dropSources(value);
    }
}

} // namespace retro::execute
