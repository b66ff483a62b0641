// SPDX-License-Identifier: Apache-2.0
#include "core/execute/overflow.h"

#include "core/ops/algebra.h"

namespace retro::execute
{

namespace
{

/// True when some result that is rounded holds something infinite or no number.
bool isSuspect(const BoundModel& model, NodeId id, const ValueSource& valueOf)
{
    const std::vector<ValueId>& outputs = model.graph().node(id).outputs;
    for (std::size_t k = 0; k < outputs.size(); ++k) {
        if (outputs[k].isValid() && model.op(id).roundedTo(k)) {
            const Tensor value = valueOf(outputs[k]);
            if (value.isValid() && !ops::algebra::allFinite(value)) {
                return true;
            }
        }
    }
    return false;
}

} // namespace

std::optional<OverflowedValue> overflowOf(const BoundModel& model, NodeId node, const ops::Overflow& overflow)
{
    const ValueId value = overflow.count == 0 ? ValueId() : model.graph().node(node).outputs[overflow.output];
    if (!value.isValid()) { // nobody reads it
        return std::nullopt;
    }
    return OverflowedValue{node, value, *model.op(node).roundedTo(overflow.output), overflow.count};
}

std::optional<OverflowedValue> firstOverflow(const BoundModel& model, const ValueSource& valueOf)
{
    for (std::size_t i = 0; i < model.graph().nodeCount(); ++i) {
        const NodeId id(i);
        if (!isSuspect(model, id, valueOf)) {
            continue;
        }
        ops::Overflow overflow;
        const base::Result<std::vector<Tensor>> operands = operandsOf(model, id, valueOf);
        if (operands.ok()) {
            static_cast<void>(model.op(id).run(*operands, &overflow));
        }
        if (auto found = overflowOf(model, id, overflow)) {
            return found;
        }
    }
    return std::nullopt;
}

} // namespace retro::execute
