// SPDX-License-Identifier: Apache-2.0
#include "core/engine/gradient/modelrules.h"

#include "core/event/observer.h"
#include "core/lrp/rules/gradientparts.h"
#include "core/lrp/rules/reverseflops.h"
#include "core/lrp/rules/ruleapplication.h"

namespace retro::engine
{

using base::Result;
using tensor::Tensor;

namespace
{

std::vector<ops::TensorType> typesOf(const execute::BoundModel& model, base::NodeId node)
{
    std::vector<ops::TensorType> types;
    for (const base::ValueId operand : model.graph().node(node).inputs) {
        types.push_back(operand.isValid() ? model.typeOf(operand) : ops::TensorType());
    }
    return types;
}

/// True when the derivative is asked for per output; the others have one output that counts, the first.
bool takesEachOutput(ops::StructureKind kind)
{
    using enum ops::StructureKind;
    return kind == ShapeMap || kind == Differentiable || kind == SelfNormalisation || kind == Composed ||
           kind == TableLookup;
}

} // namespace

tape::ModelRule gradientRule(std::shared_ptr<const execute::BoundModel> model)
{
    return [model = std::move(model)](const tape::ModelSite& site) -> Result<std::vector<Tensor>> {
        const ops::BoundOperator& op = model->op(site.node);
        const ops::StructureKind kind = op.structure().kind();
        std::vector<Tensor> parts(site.operands.size());
        const bool arrives = takesEachOutput(kind) || site.upstream.front().isValid();
        if (kind == ops::StructureKind::NoRelevance || !arrives) {
            return parts;
        }
        const std::vector<ops::TensorType> types = typesOf(*model, site.node);
        const lrp::RuleContext context{op, site.operands, site.outputs, site.upstream, site.wanted, types};
        const event::NodeWatch watch(site.node);
        for (std::size_t slot = 0; slot < parts.size(); ++slot) {
            if (site.wanted[slot] != 0) {
                parts[slot] = lrp::gradientPart(context, slot);
            }
        }
        watch.done(event::Half::Reverse, false, lrp::reverseFlops(*model, site.node, site.wanted), parts);
        return parts;
    };
}

} // namespace retro::engine
