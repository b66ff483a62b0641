// SPDX-License-Identifier: Apache-2.0
#include "core/engine/verify/targettape.h"

#include "core/base/cancel.h"
#include "core/engine/explain/numericalstop.h"
#include "core/engine/gradient/gradient.h"
#include "core/engine/gradient/modelrules.h"
#include "core/engine/model/binding.h"

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

} // namespace

Result<TargetTape> targetTape(const LoadedModel& model, const std::vector<tensor::Tensor>& inputs,
                              const TargetRequest& target, execute::Precision precision, const std::stop_token& stop)
{
    std::vector<std::string> notes;
    RETRO_TRY(const auto bound, bindModel(model, inputs, precision, nullptr, stop, bindOptionsFor(target), &notes));
    const std::vector<tensor::Tensor> own = inPrecision(bound->graph(), inputs, precision);
    RETRO_TRY(ModelTape made, tape::compileModel(bound, own, stoppable(gradientRule(bound), stop), stop));
    std::string note;
    RETRO_TRY(const base::ValueId value, targetValue(target, *bound, &note));
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
