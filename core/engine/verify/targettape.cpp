// SPDX-License-Identifier: Apache-2.0
#include "core/engine/verify/targettape.h"

#include "core/base/cancel.h"
#include "core/engine/explain/numericalstop.h"
#include "core/engine/gradient/gradient.h"
#include "core/engine/gradient/modelrules.h"
#include "core/engine/model/binding.h"

#include <algorithm>

namespace retro::engine
{

using base::Result;
using tape::Id;
using tape::ModelTape;

namespace
{

/// A rule that refuses to go on once a stop was requested: loops over a tape end at their next cell.
tape::ModelRule stoppable(tape::ModelRule rule, const std::stop_token& stop)
{
    return [rule = std::move(rule), stop](const tape::ModelSite& site) -> Result<std::vector<tensor::Tensor>> {
        RETRO_CHECK(base::checkStop(stop));
        return rule(site);
    };
}

/// Whether a node makes floats of computed whole numbers.
bool startsFloats(const execute::BoundModel& model, const graph::Node& node)
{
    const auto isComputed = [&](base::ValueId value) { return value.isValid() && !model.isConstant(value); };
    return std::ranges::any_of(node.inputs, isComputed) && std::ranges::none_of(node.inputs, [&](base::ValueId value) {
               return isComputed(value) && tensor::isFloating(model.typeOf(value).dtype);
           });
}

/// Lets gradients flow to the first floats that are made of whole numbers, too.
void trackFromFirstFloats(tape::ModelTape& made)
{
    const execute::BoundModel& model = *made.model;
    const auto isTracked = [&](base::ValueId value) {
        const Id id = value.isValid() ? made.idOf[value.index()] : tape::ModelTape::kNowhere;
        return id != tape::ModelTape::kNowhere && made.tape.cell(id).isTracked;
    };
    for (Id id = made.tape.leafCount(); id < made.tape.size(); ++id) {
        const graph::Node& node = model.graph().node(made.nodeOf[id]);
        const base::ValueId value = made.valueOf[id];
        const bool isFloat = !value.isValid() || tensor::isFloating(model.typeOf(value).dtype);
        const bool carries = model.op(made.nodeOf[id]).structure().kind() != ops::StructureKind::NoRelevance &&
                             std::ranges::any_of(node.inputs, isTracked);
        if (isFloat && (carries || startsFloats(model, node))) {
            made.tape.setTracked(id, true);
        }
    }
}

} // namespace

Result<TargetTape> targetTape(const LoadedModel& model, const std::vector<tensor::Tensor>& inputs,
                              const TargetRequest& target, execute::Precision precision, const std::stop_token& stop,
                              FirstTracked first)
{
    std::vector<std::string> notes;
    RETRO_TRY(const auto bound, bindModel(model, inputs, precision, nullptr, stop, bindOptionsFor(target), &notes));
    const std::vector<tensor::Tensor> own = inPrecision(bound->graph(), inputs, precision);
    RETRO_TRY(ModelTape made, tape::compileModel(bound, own, stoppable(gradientRule(bound), stop), stop));
    std::string note;
    RETRO_TRY(const base::ValueId value, targetValue(target, *bound, &note));
    if (first == FirstTracked::FirstFloats ||
        (first == FirstTracked::FirstFloatsIfNeeded && !bound->isTracked(value))) {
        trackFromFirstFloats(made);
    }
    RETRO_TRY(const Id id, targetCell(made, value));
    RETRO_TRY(ResolvedTarget resolved, resolveTargetOf({bound, own, {}, stop}, target, {StartKind::One, {}}, value,
                                                       made.tape.cell(id).value.only()));
    if (!note.empty()) {
        notes.push_back(std::move(note));
    }
    resolved.notes.insert(resolved.notes.begin(), notes.begin(), notes.end());
    const tensor::Tensor begin = resolved.start;
    return TargetTape{std::move(made), id, begin, std::move(resolved)};
}

} // namespace retro::engine
