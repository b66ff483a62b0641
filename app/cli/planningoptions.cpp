// SPDX-License-Identifier: Apache-2.0
#include "app/cli/planningoptions.h"

#include "core/analysis/report.h"
#include "core/engine/gradient/embeddings.h"
#include "core/engine/language/languagequestion.h"
#include "core/engine/plan/passplanning.h"
#include "core/engine/question/combinations.h"
#include "core/engine/question/resolve.h"
#include "core/schedule/budget.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>

namespace retro::app
{

using base::Result;

void PlanningOptions::addTo(CLI::App& verb, const Context& context)
{
    model.addTo(verb, engine::kPlanning, context);
    verb.add_option("--size", sizes, "NAME=N: size of a symbol in the shapes of the inputs")->allow_extra_args(false);
    verb.add_option(
        "--target", target,
        "What the second half starts at: argmax, a class or VALUE (default: every output; with --input that "
        "of grad and explain)");
    verb.add_flag("--relevance", isRelevance, "The second half of the joint graph computes relevance, not gradients");
    verb.add_flag("--parameters", hasParameters, "Gradients of parameters, too");
    verb.add_option("--count", count,
                    "What counts beside results: inputs, weights, gradients, sgd, momentum or adam, mixed, workspace "
                    "(default: nothing)")
        ->delimiter(',')
        ->allow_extra_args(false);
}

Result<engine::LoadedModelPointer> PlanningOptions::open() const
{
    RETRO_TRY(const engine::LoadedModelPointer loaded, model.load());
    return engine::asPlanned(loaded);
}

Result<engine::HalfWish> PlanningOptions::halfFrom(const engine::LoadedModel& loaded,
                                                   std::vector<base::ValueId> outputs) const
{
    static constexpr std::array kOfRelevance{"composite", "rule", "start", "region-of", "condition", "condition-form"};
    for (const engine::Asked& one : engine::asksOf(model.question)) {
        if (!isRelevance && std::ranges::find(kOfRelevance, one.what) != kOfRelevance.end()) {
            return base::usageError("it is asked of relevance; add --relevance, or leave it out", one.option);
        }
        if (!hasInputs() && (one.what == "region-of" || one.what == "condition")) {
            return base::usageError("it is asked of a run; say with --input, --text or --ids on what", one.option);
        }
    }
    engine::HalfWish half;
    half.kind = isRelevance ? analysis::JointKind::Relevance : analysis::JointKind::Gradient;
    half.outputs = std::move(outputs);
    half.from = model.question.from;
    const engine::Question asked = engine::completed(model.question, loaded.card ? &*loaded.card : nullptr);
    half.composite = asked.composite;
    half.start = isRelevance ? asked.start : std::string();
    half.hasParameters = hasParameters;
    if (isRelevance) {
        RETRO_CHECK(engine::parseStart(asked.start));
    }
    return half;
}

Result<engine::SymbolSizes> PlanningOptions::symbols() const
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
    return symbols;
}

Result<engine::SubjectPlanning> PlanningOptions::planningOfRun(const engine::LoadedModel& loaded) const
{
    if (!sizes.empty()) {
        return base::usageError("the inputs say how large they are; leave one of the two out",
                                model.question.inputs.empty() ? "--size and --text" : "--size and --input");
    }
    RETRO_TRY(const engine::HalfWish half, halfFrom(loaded, {}));
    engine::Question asked = model.question;
    if (!target.empty()) {
        asked.targets = {target};
    }
    RETRO_TRY(const auto language, engine::languageQuestion(loaded, asked));
    RETRO_TRY(engine::ExplainRequest request,
              engine::resolve(language ? engine::withoutLanguage(asked, *language) : asked, loaded));
    if (language) {
        RETRO_CHECK(engine::takeLanguage(*language, request));
    } else {
        RETRO_TRY(request.inputs, model.resolve(loaded));
        RETRO_TRY(request.target, isRelevance ? request.target : engine::targetOf(asked, loaded));
    }
    if (!isRelevance) { // as grad, which starts at the target itself and ends where numbers are floating
        request.target.atScores = false;
        RETRO_TRY(const auto opened,
                  engine::openEmbeddings(loaded, request.inputs, request.precision, language.has_value()));
        if (opened) {
            request.inputs = opened->inputs;
            return engine::subjectPlanningOf(*opened->model, request, half);
        }
    }
    return engine::subjectPlanningOf(loaded, request, half);
}

Result<engine::SubjectPlanning> PlanningOptions::planningOf(const engine::LoadedModel& loaded) const
{
    if (hasInputs()) {
        return planningOfRun(loaded);
    }
    RETRO_TRY(const engine::SymbolSizes given, symbols());
    std::vector<base::ValueId> outputs;
    if (!target.empty() && !loaded.graph()->outputs().empty()) {
        RETRO_TRY(const engine::TargetRequest asked, engine::parseTarget(target));
        RETRO_TRY(const base::ValueId value, engine::targetValue(asked, *loaded.graph()));
        outputs = {value};
    }
    RETRO_TRY(const engine::HalfWish half, halfFrom(loaded, outputs));
    RETRO_TRY(engine::SubjectPlanning made, engine::subjectPlanningOf(loaded, given, half));
    if (!outputs.empty() && analysis::hasGradients(made.planning.graph)) {
        return base::usageError("a captured training step has its gradients already; leave the target out",
                                "--target " + target);
    }
    return made;
}

Result<std::vector<engine::CountedBand>> PlanningOptions::bands(const engine::LoadedModel& loaded,
                                                                const analysis::PlanningGraph& planning) const
{
    return engine::countedBands(count, loaded, planning, hasParameters);
}

void addBands(nlohmann::ordered_json& json, std::span<const engine::CountedBand> bands)
{
    nlohmann::ordered_json counted = nlohmann::ordered_json::object();
    for (const engine::CountedBand& band : bands) {
        counted[band.name] = band.bytes;
    }
    json["counted"] = counted;
    json["counted_bytes"] = engine::totalOf(bands);
}

void sayBands(const Context& context, std::span<const engine::CountedBand> bands)
{
    for (const engine::CountedBand& band : bands) {
        context.say(fmt::format("counted beside results: {} {}", band.name,
                                band.name == "workspace" ? "where operators state it" : bothBytesText(band.bytes)));
    }
}

Result<SplitBudget> splitBudget(const std::string& text, const analysis::OpGraph& joint,
                                std::span<const engine::CountedBand> bands)
{
    const std::uint64_t constant = engine::totalOf(bands);
    SplitBudget budget;
    if (text.empty()) {
        budget.forResults = analysis::storeAllPeak(joint);
        budget.whole = budget.forResults + constant;
        return budget;
    }
    if (base::isShareText(text) && constant > 0) {
        RETRO_TRY(budget.whole, base::within(base::parseBytesOrShare(text, analysis::storeAllPeak(joint) + constant),
                                             "--budget " + text));
    } else {
        RETRO_TRY(budget.whole, schedule::parseBudget(text, joint));
    }
    budget.forResults = budget.whole > constant ? budget.whole - constant : 0;
    return budget;
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
