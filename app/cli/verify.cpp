// SPDX-License-Identifier: Apache-2.0
#include "core/engine/verify/verify.h"
#include "app/cli/explaintext.h"
#include "app/cli/gradientverbs.h"
#include "core/base/record.h"
#include "core/base/standardstreams.h"
#include "core/engine/language/languagequestion.h"
#include "core/engine/question/resolve.h"
#include "core/engine/results/results.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <utility>

namespace retro::app
{

namespace
{

using base::Result;
using nlohmann::ordered_json;

struct VerifyOptions
{
    ModelOptions model;
    std::string shadow = "double";
    std::uint64_t seed = 1;
    std::size_t worst = 5;
};

Result<engine::VerifyRequest> requestOf(const VerifyOptions& options, const engine::LoadedModel& model)
{
    engine::VerifyRequest request;
    const engine::Question& asked = options.model.question;
    RETRO_TRY(engine::ExplainRequest explained, engine::resolveWithInputs(asked, model));
    request.inputs = std::move(explained.inputs);
    request.target = std::move(explained.target);
    request.composite = asked.composite.empty() ? request.composite : asked.composite;
    request.precision = engine::precisionOf(asked, model);
    request.hasShadow = options.shadow == "double";
    request.seed = options.seed;
    return request;
}

ordered_json toJson(const engine::LoadedModel& model, const engine::VerifyResult& result)
{
    const ordered_json properties = base::listOf(result.properties, [](const engine::PropertyResult& one) {
        return base::objectOf({{"property", one.id},
                               {"statement", one.statement},
                               {"state", engine::nameOf(one.state)},
                               {"detail", one.detail},
                               {"node", base::ifAny(one.node)}});
    });
    const ordered_json nodes = base::listOf(result.nodes, [](const engine::NodeGradient& one) {
        return base::objectOf(
            {{"node", one.node},
             {"operator", one.op},
             {"state", engine::nameOf(one.state())},
             {"kink", one.isKink},
             {"error", one.error && std::isfinite(*one.error) ? ordered_json(*one.error) : ordered_json()},
             {"note", base::ifAny(one.note)}});
    });
    const ordered_json ulps = base::listOf(result.ulps, [&](const engine::UlpDistance& one) -> ordered_json {
        return {{"value", one.value},
                {"node", one.node},
                {"ulp", one.most},
                {"relative", one.relative},
                {"overflows", one.overflows}};
    });
    return {{"target", engine::targetJson(model, result.model->graph(), result.target)},
            {"cells", result.cells},
            {"violated", result.isViolated()},
            {"properties", properties},
            {"gradient_per_node", nodes},
            {"float_from_double", ulps},
            {"seconds", result.seconds}};
}

/// Nodes whose difference is not finite, by name.
void saySingular(const Context& context, const engine::VerifyResult& result, std::size_t most)
{
    std::vector<engine::NodeGradient> nodes = result.nodes;
    std::erase_if(nodes, [](const engine::NodeGradient& one) { return !one.isSingular; });
    nodes.resize(std::min(nodes.size(), most));
    for (const engine::NodeGradient& one : nodes) {
        context.say(fmt::format("  {:<44} {:<20} singular: {}", one.node, one.op, one.note));
    }
}

std::string errorText(const engine::NodeGradient& node)
{
    if (node.state() == engine::GradientState::NotFinite) {
        return std::string(engine::nameOf(node.state()));
    }
    return fmt::format("{:.2e}{}", *node.error, node.isKink ? "  kink" : "");
}

void sayNodes(const Context& context, const engine::VerifyResult& result, std::size_t most)
{
    std::vector<engine::NodeGradient> nodes = result.nodes;
    std::erase_if(nodes, [](const engine::NodeGradient& one) { return !one.error; });
    std::ranges::stable_sort(nodes, [](const auto& a, const auto& b) { return *a.error > *b.error; });
    nodes.resize(std::min(nodes.size(), most));
    context.say("reverse rules farthest from a central difference, in double");
    for (const engine::NodeGradient& one : nodes) {
        context.say(fmt::format("  {:<44} {:<20} {}", one.node, one.op, errorText(one)));
    }
    saySingular(context, result, most);
}

std::string distanceText(const engine::UlpDistance& one)
{
    const std::string rest = fmt::format("{:.2e} of the largest, up to {} ulp", one.relative, one.most);
    return one.overflows == 0
               ? rest
               : fmt::format("overflow: {} not finite in float or double alone; of the rest {}",
                             one.overflows == 1 ? "1 element is" : fmt::format("{} elements are", one.overflows), rest);
}

void sayUlps(const Context& context, const engine::VerifyResult& result, std::size_t most)
{
    std::vector<engine::UlpDistance> ulps = result.ulps;
    std::ranges::stable_sort(ulps, [](const auto& a, const auto& b) {
        return std::pair(a.overflows, a.relative) > std::pair(b.overflows, b.relative);
    });
    ulps.resize(std::min(ulps.size(), most));
    if (!ulps.empty()) {
        context.say("values where float is farthest from double");
    }
    for (const engine::UlpDistance& one : ulps) {
        context.say(fmt::format("  {:<44} {}", one.value, distanceText(one)));
    }
}

/// What the properties say together, in plain words.
std::string verdict(const engine::VerifyResult& result)
{
    const auto count = [&](engine::PropertyState state) {
        return std::ranges::count(result.properties, state, &engine::PropertyResult::state);
    };
    const auto violated = count(engine::PropertyState::Violated);
    const auto skipped = count(engine::PropertyState::NotApplicable);
    return fmt::format("{}: {} checks of forward pass, gradients and relevance, {} held{}{}",
                       violated == 0 ? "The arithmetic of this model and input is right" : "The arithmetic is wrong",
                       result.properties.size(), count(engine::PropertyState::Held),
                       violated == 0 ? "" : fmt::format(", {} violated", violated),
                       skipped == 0 ? "" : fmt::format(", {} that do not apply", skipped));
}

Result<void> verifyModel(Context& context, const VerifyOptions& options)
{
    RETRO_TRY(const engine::LoadedModelPointer model, options.model.load());
    RETRO_TRY(const engine::VerifyRequest request, requestOf(options, *model));
    RETRO_TRY(const engine::VerifyResult result, engine::verify(*model, request, {}, context.progress()));
    for (const std::string& note : result.target.notes) { // also with --quiet: it is not what was asked for
        base::sayErrorLine("retrograde-cli: warning: " + note);
    }
    if (context.json) {
        context.answer(toJson(*model, result));
    } else {
        context.say(verdict(result));
        sayTarget(context, *model, result.model->graph(), result.target);
        for (const engine::PropertyResult& one : result.properties) {
            context.say(fmt::format("{:<16} {:<14} {}", one.id, engine::nameOf(one.state), one.statement));
            context.say(fmt::format("{:<31} {}", "", one.detail));
        }
        sayNodes(context, result, options.worst);
        sayUlps(context, result, options.worst);
    }
    if (result.isViolated()) {
        return base::Error{base::ErrorCode::Bug, "a property is violated; please report this with the model",
                           model->name};
    }
    return {};
}

} // namespace

void addVerify(CLI::App& program, Context& context)
{
    auto options = std::make_shared<VerifyOptions>();
    CLI::App* verb = addVerb(program, context, "verify",
                             "Properties of the tape, gradients against differences, engines against each other",
                             [&context, options] { return verifyModel(context, *options); });
    options->model.addTo(*verb, engine::kVerify, context);
    verb->add_option("--shadow", options->shadow,
                     "double (default): how far every float value is from a run in double; none: do not ask")
        ->check(CLI::IsMember({"double", "none"}));
    verb->add_option("--seed", options->seed, "Start of the random numbers (default 1)")->check(CLI::NonNegativeNumber);
    verb->add_option("--worst", options->worst, "How many nodes and values to print (default 5)")
        ->check(CLI::NonNegativeNumber);
}

} // namespace retro::app
