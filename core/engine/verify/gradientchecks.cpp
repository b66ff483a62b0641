// SPDX-License-Identifier: Apache-2.0
#include "core/engine/verify/gradientchecks.h"

#include "core/base/cancel.h"
#include "core/engine/verify/nodeprobe.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace retro::engine
{

using base::Result;
using tape::Bundle;
using tape::Id;
using tape::ModelTape;

namespace
{

/// An id that takes one of several results of another: it computes nothing of its own.
bool isProjection(const ModelTape& made, Id id)
{
    const std::vector<Id>& parents = made.tape.cell(id).node.parents;
    return parents.size() == 1 && made.tape.cell(parents[0]).value.tensors.size() != 1;
}

bool counts(const NodeGradient& node) { return node.error && !node.isKink; }

/// NaN is worse than any number.
bool isWorse(double a, double b) { return std::isnan(a) ? !std::isnan(b) : a > b; }

const NodeGradient* worstOf(const std::vector<NodeGradient>& nodes)
{
    const NodeGradient* worst = nullptr;
    for (const NodeGradient& node : nodes) {
        if (counts(node) && (worst == nullptr || isWorse(*node.error, *worst->error))) {
            worst = &node;
        }
    }
    return worst;
}

/// Finds the smallest case of the worst node, where that is wrong.
Result<void> shrinkWorst(const ModelTape& made, std::uint64_t seed, std::vector<NodeGradient>& nodes)
{
    const NodeGradient* worst = worstOf(nodes);
    if (worst == nullptr || *worst->error <= kPoorGradient) {
        return {};
    }
    probing::Directions directions(seed);
    NodeProbe probe(made, worst->id, directions);
    RETRO_TRY(nodes[static_cast<std::size_t>(worst - nodes.data())].smallest, probe.smallestCase());
    return {};
}

/// "40 nodes checked, 2 at a kink, 1 singular".
std::string countsText(const std::vector<NodeGradient>& nodes)
{
    const auto singular = std::ranges::count_if(nodes, &NodeGradient::isSingular);
    return fmt::format("{} nodes checked, {} at a kink{}", std::ranges::count_if(nodes, counts),
                       std::ranges::count_if(nodes, &NodeGradient::isKink),
                       singular == 0 ? std::string() : fmt::format(", {} singular", singular));
}

std::string worstText(const NodeGradient& worst)
{
    const std::string place = fmt::format("the worst is {} ({})", worst.node, worst.op);
    return std::isfinite(*worst.error) ? fmt::format("{} with a relative error of {:.3g}", place, *worst.error)
                                       : place + ", whose rule gives what is not finite while the difference is";
}

} // namespace

std::string_view nameOf(GradientState state)
{
    switch (state) {
    case GradientState::Checked:
        return "checked";
    case GradientState::NotFinite:
        return "rule not finite";
    case GradientState::Kink:
        return "kink";
    case GradientState::Singular:
        return "singular";
    case GradientState::NotChecked:
        break;
    }
    return "not checked";
}

GradientState NodeGradient::state() const
{
    if (isSingular) {
        return GradientState::Singular;
    }
    if (!error) {
        return GradientState::NotChecked;
    }
    if (isKink) {
        return GradientState::Kink;
    }
    return std::isfinite(*error) ? GradientState::Checked : GradientState::NotFinite;
}

Result<std::vector<NodeGradient>> checkNodes(const ModelTape& made, std::uint64_t seed, const std::stop_token& stop,
                                             const StageProgress& progress)
{
    probing::Directions directions(seed);
    std::vector<NodeGradient> results;
    for (Id id = static_cast<Id>(made.tape.leafCount()); id < made.tape.size(); ++id) {
        RETRO_CHECK(base::checkStop(stop));
        if (progress) {
            progress("gradients in double", id, made.tape.size());
        }
        const tape::Cell<Bundle>& cell = made.tape.cell(id);
        if (!cell.isTracked || isProjection(made, id)) {
            continue;
        }
        NodeGradient result{id, cell.node.name, made.model->graph().node(made.nodeOf[id]).op};
        NodeProbe probe(made, id, directions);
        if (probing::isSurrogate(made, id)) {
            result.note = "it chooses rows of tables or rounds: its gradient is a surrogate, not a slope";
        } else if (probe.moves()) {
            RETRO_CHECK(probe.measure(result));
        } else {
            result.note = "none of its operands carries a gradient";
        }
        results.push_back(std::move(result));
    }
    RETRO_CHECK(shrinkWorst(made, seed, results));
    return results;
}

PropertyResult judgeNodes(const std::vector<NodeGradient>& nodes)
{
    const NodeGradient* worst = worstOf(nodes);
    constexpr const char* kStatement = "each operator's reverse rule is the transpose of its derivative";
    if (worst == nullptr) {
        return {"P8", kStatement, PropertyState::NotApplicable,
                "no node could be checked away from a kink; " + countsText(nodes)};
    }
    const std::string text = countsText(nodes) + "; " + worstText(*worst);
    const std::string wrong = worst->smallest.empty() ? text : text + "; smallest case: " + worst->smallest;
    PropertyResult result = judged("P8", kStatement, {*worst->error <= kPoorGradient ? "" : wrong}, text);
    result.node = worst->node;
    return result;
}

} // namespace retro::engine
