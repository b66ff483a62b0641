// SPDX-License-Identifier: Apache-2.0
#include "core/tape/gradientgraph/emitrule.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

namespace retro::tape
{

using base::Result;

namespace
{

base::Error faulty(const graph::Node& node, std::vector<std::string> faults)
{
    return {base::ErrorCode::Engine, fmt::format("{}", fmt::join(faults, "; ")),
            fmt::format("node '{}' ({})", node.name, node.op)};
}

void expectLength(std::vector<std::string>& faults, std::string_view what, std::size_t own, std::size_t needed)
{
    if (own != needed) {
        faults.push_back(fmt::format("its context has {} {}, the node {}", own, what, needed));
    }
}

void expectWanted(std::vector<std::string>& faults, const EmitSite& site)
{
    for (std::size_t slot = 0; slot < std::min(site.wanted.size(), site.node.inputs.size()); ++slot) {
        const ValueId operand = site.node.inputs[slot];
        const bool isFloat = operand.isValid() && tensor::isFloating(site.model.typeOf(operand).dtype);
        if (site.wants(slot) && !isFloat) {
            faults.push_back(fmt::format("a part is wanted of operand {}, which {}", slot,
                                         operand.isValid() ? "is not floating" : "is absent"));
        }
    }
    if (std::ranges::find(site.wanted, 1) == site.wanted.end()) {
        faults.emplace_back("no part is wanted");
    }
}

} // namespace

Result<EmitSite> EmitSite::make(Emitter& into, const execute::BoundModel& bound, base::NodeId id, EmitValues values)
{
    const graph::Node& node = bound.graph().node(id);
    EmitSite site(into, bound, node, std::move(values));
    std::vector<std::string> faults;
    expectLength(faults, "operands", site.operands.size(), node.inputs.size());
    expectLength(faults, "wishes", site.wanted.size(), node.inputs.size());
    expectLength(faults, "types", site.types.size(), node.inputs.size());
    expectLength(faults, "outputs", site.outputs.size(), node.outputs.size());
    expectLength(faults, "gradients", site.upstream.size(), node.outputs.size());
    expectWanted(faults, site);
    if (std::ranges::none_of(site.upstream, &ValueId::isValid)) {
        faults.emplace_back("nothing arrives at its outputs");
    }
    if (!faults.empty()) {
        return faulty(node, std::move(faults));
    }
    return site;
}

Result<EmitResult> resultOf(const EmitSite& site, const EmittedParts& parts)
{
    EmitResult result;
    std::vector<std::string> faults;
    for (std::size_t slot = 0; slot < site.wanted.size(); ++slot) {
        if (!site.wants(slot)) {
            continue;
        }
        if (slot >= parts.size() || !parts[slot].isValid()) {
            faults.push_back(fmt::format("its reverse rule gave no part for operand {}", slot));
        } else {
            result.wrote.emplace_back(slot, parts[slot]);
        }
    }
    for (std::size_t k = 0; k < site.upstream.size(); ++k) {
        (site.upstream[k].isValid() ? result.read : result.zeros).push_back(k);
    }
    if (!faults.empty()) {
        return faulty(site.node, std::move(faults));
    }
    return result;
}

} // namespace retro::tape
