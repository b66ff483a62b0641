// SPDX-License-Identifier: Apache-2.0
#include "core/engine/forwarding/forwardneeds.h"

namespace retro::engine
{

using base::NodeId;
using base::ValueId;

ForwardNeeds::ForwardNeeds(std::shared_ptr<const execute::BoundModel> model, std::vector<ValueId> targets)
    : m_model(std::move(model)), m_targets(std::move(targets)), m_reads(m_model->graph().valueCount())
{}

bool ForwardNeeds::isForwarded(ValueId value) const
{
    const bool isResult = m_model->graph().value(value).kind == graph::ValueKind::Result;
    return isResult && !m_model->isConstant(value) && !m_reads[value.index()].empty();
}

ReadDetail ForwardNeeds::detailOf(NodeId node, bool isOutput) const
{
    const ops::Structure& structure = m_model->op(node).structure();
    if (!isOutput && structure.kind() == ops::StructureKind::MaxPool) {
        return ReadDetail::Winners;
    }
    const auto* map = dynamic_cast<const ops::ElementWise*>(&structure);
    const bool isBySigns = isOutput && map != nullptr && map->isRelu() && map->derivativeReadsOutput();
    return isBySigns ? ReadDetail::Signs : ReadDetail::Whole;
}

void ForwardNeeds::addReads(NodeId node, const ops::Reads& reads, bool isGradient)
{
    const graph::Node& at = m_model->graph().node(node);
    const auto add = [&](ValueId value, bool isOutput) {
        m_reads[value.index()].push_back({node, isOutput, isGradient ? detailOf(node, isOutput) : ReadDetail::Whole});
    };
    for (std::size_t slot = 0; slot < at.inputs.size(); ++slot) {
        if (at.inputs[slot].isValid() && reads.operand(slot)) {
            add(at.inputs[slot], false);
        }
    }
    for (std::size_t k = 0; k < at.outputs.size(); ++k) {
        if (at.outputs[k].isValid() && reads.output(k)) {
            add(at.outputs[k], true);
        }
    }
}

} // namespace retro::engine
