// SPDX-License-Identifier: Apache-2.0
#include "core/execute/runnode.h"

#include "core/event/observer.h"
#include "core/ops/linear/storedweight.h"
#include "core/ops/runoperator.h"

#include <algorithm>

namespace retro::execute
{

namespace
{

/// False for the weights of a linear map, which holds them itself, and for a table that is read row by row: narrow ones
/// need not be widened for it.
bool readsWide(const ops::BoundOperator& op, const graph::Node& node, std::size_t slot)
{
    const ops::Structure& structure = op.structure();
    if (structure.kind() == ops::StructureKind::LinearMap) {
        return static_cast<const ops::LinearMap&>(structure).operandSlot() == slot;
    }
    return structure.kind() != ops::StructureKind::ShapeMap || !ops::takesStored(node, slot);
}

} // namespace

base::Result<std::vector<Tensor>> operandsOf(const BoundModel& model, NodeId id, const ValueSource& valueOf)
{
    const graph::Node& node = model.graph().node(id);
    std::vector<Tensor> operands(node.inputs.size());
    for (std::size_t slot = 0; slot < operands.size(); ++slot) {
        const ValueId value = node.inputs[slot];
        if (!value.isValid()) {
            continue;
        }
        if (!model.isConstant(value)) {
            operands[slot] = valueOf(value);
        } else {
            operands[slot] = readsWide(model.op(id), node, slot) ? model.constant(value) : model.storedConstant(value);
        }
    }
    if (base::Result<void> checked = model.op(id).check(operands); !checked.ok()) {
        return base::inputError(checked.error().message, ops::placeOf(node));
    }
    return operands;
}

base::Result<std::vector<Tensor>> runNode(const BoundModel& model, NodeId id, const ValueSource& valueOf, RunKind kind)
{
    const graph::Node& node = model.graph().node(id);
    return base::caughtAt([&node] { return ops::placeOf(node); },
                          [&]() -> base::Result<std::vector<Tensor>> {
                              RETRO_TRY(const std::vector<Tensor> operands, operandsOf(model, id, valueOf));
                              const event::NodeWatch watch(id);
                              std::vector<Tensor> results = model.op(id).run(operands);
                              if (kind != RunKind::Aside && watch.isWatched()) {
                                  watch.done(event::Half::Forward, kind == RunKind::Again, model.op(id).flops(),
                                             results);
                              }
                              return results;
                          });
}

std::map<ValueId, Tensor> computedAgain(const BoundModel& model, const std::set<NodeId>& nodes, const ValueSource& kept,
                                        const std::function<void(NodeId)>& onRun)
{
    std::map<ValueId, Tensor> made;
    const ValueSource valueOf = [&](ValueId operand) {
        const auto found = made.find(operand);
        return found == made.end() ? kept(operand) : found->second;
    };
    for (const NodeId node : nodes) {
        if (onRun) {
            onRun(node);
        }
        const auto results = runNode(model, node, valueOf, RunKind::Again);
        if (!results.ok()) {
            break;
        }
        const std::vector<ValueId>& outputs = model.graph().node(node).outputs;
        for (std::size_t k = 0; k < std::min(outputs.size(), results->size()); ++k) {
            if (outputs[k].isValid()) {
                made[outputs[k]] = (*results)[k];
            }
        }
    }
    return made;
}

} // namespace retro::execute
