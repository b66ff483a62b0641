// SPDX-License-Identifier: Apache-2.0
#include "app/cli/planningoptions.h"

#include "core/engine/question/resolve.h"

#include <fmt/format.h>

#include <charconv>

namespace retro::app
{

using base::Result;

void PlanningOptions::addTo(CLI::App& verb, const Context& context)
{
    model.addTo(verb, engine::kPlanning, context);
    verb.add_option("--size", sizes, "NAME=N: size of a symbol in the shapes of the inputs")->allow_extra_args(false);
    verb.add_option("--target", target,
                    "What the second half starts at: argmax, a class or VALUE (default: every output)");
    verb.add_flag("--relevance", isRelevance, "The second half of the joint graph computes relevance, not gradients");
    verb.add_flag("--parameters", hasParameters, "Gradients of parameters, too");
}

Result<engine::LoadedModelPointer> PlanningOptions::open() const
{
    RETRO_TRY(const engine::LoadedModelPointer loaded, model.load());
    return engine::asPlanned(loaded);
}

Result<analysis::PlanningGraph> PlanningOptions::load() const
{
    RETRO_TRY(const engine::LoadedModelPointer loaded, open());
    return planningOf(*loaded);
}

Result<engine::HalfWish> PlanningOptions::halfFrom(const engine::LoadedModel& loaded,
                                                   std::vector<base::ValueId> outputs) const
{
    if (!isRelevance && !model.question.composite.empty()) {
        return base::usageError("rules are of relevance; add --relevance, or leave it out", "--composite");
    }
    engine::HalfWish half;
    half.kind = isRelevance ? analysis::JointKind::Relevance : analysis::JointKind::Gradient;
    half.outputs = std::move(outputs);
    half.from = model.question.from;
    half.composite = engine::completed(model.question, loaded.card ? &*loaded.card : nullptr).composite;
    return half;
}

Result<analysis::PlanningGraph> PlanningOptions::planningOf(const engine::LoadedModel& loaded) const
{
    engine::SymbolSizes symbols;
    for (const std::string& text : sizes) {
        const std::size_t at = text.find('=');
        std::int64_t size = 0;
        const char* const end = text.data() + text.size();
        const char* const start = at == std::string::npos ? end : text.data() + at + 1;
        const auto parsed = std::from_chars(start, end, size);
        if (at == 0 || parsed.ec != std::errc() || parsed.ptr != end || size < 1) {
            return base::usageError("write it as NAME=N with N of at least 1", "--size " + text);
        }
        symbols[text.substr(0, at)] = size;
    }
    std::vector<base::ValueId> outputs;
    if (!target.empty() && !loaded.graph()->outputs().empty()) {
        RETRO_TRY(const engine::TargetRequest asked, engine::parseTarget(target));
        RETRO_TRY(const base::ValueId value, engine::targetValue(asked, *loaded.graph()));
        outputs = {value};
    }
    RETRO_TRY(const engine::HalfWish half, halfFrom(loaded, outputs));
    RETRO_TRY(analysis::PlanningGraph planning, engine::planningGraphOf(loaded, symbols, half));
    if (!outputs.empty() && analysis::hasGradients(planning.graph)) {
        return base::usageError("a captured training step has its gradients already; leave the target out",
                                "--target " + target);
    }
    return planning;
}

analysis::JointOptions PlanningOptions::joint(analysis::CostUnit unit) const
{
    analysis::JointOptions options;
    options.kind = isRelevance ? analysis::JointKind::Relevance : analysis::JointKind::Gradient;
    options.hasParameterGradients = hasParameters;
    options.leastCost = unit == analysis::CostUnit::Milliseconds ? 0 : 1;
    return options;
}

} // namespace retro::app
