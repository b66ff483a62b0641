// SPDX-License-Identifier: Apache-2.0
#include "app/cli/context.h"
#include "core/formats/known/knownfunctions.h"
#include "core/ops/registry.h"

#include <fmt/format.h>

namespace retro::app
{

namespace
{

std::string domainName(std::string_view domain) { return domain.empty() ? "ai.onnx" : std::string(domain); }

std::int64_t untilOf(const ops::OperatorDeclaration& declaration)
{
    return declaration.untilOpset > 0 ? declaration.untilOpset : (declaration.domain.empty() ? ops::kNewestOpset : 1);
}

/// What is written out while a file is read, behind the operators.
void listFunctions(const Context& context, nlohmann::ordered_json& all)
{
    for (const formats::KnownFunction& function : formats::knownFunctions()) {
        const std::string structure = fmt::format("written out: {}", function.steps);
        if (context.json) {
            all.push_back({{"domain", domainName(function.domain)},
                           {"operator", function.op},
                           {"forward", true},
                           {"gradient", "steps"},
                           {"structure", structure}});
        } else {
            context.say(fmt::format("{:<16} {:<24} {:<9} {:<8} {:<9} {}", domainName(function.domain), function.op,
                                    "all", "yes", "steps", structure));
        }
    }
}

base::Result<void> listOperators(const Context& context)
{
    nlohmann::ordered_json all = nlohmann::ordered_json::array();
    if (!context.json) {
        context.say(fmt::format("{:<16} {:<24} {:<9} {:<8} {:<9} {}", "domain", "operator", "opsets", "forward",
                                "gradient", "relevance structure"));
    }
    for (const ops::OperatorDeclaration& declaration : ops::declarations()) {
        const std::string opsets = fmt::format("{}–{}", declaration.sinceOpset, untilOf(declaration));
        if (context.json) {
            all.push_back({{"domain", domainName(declaration.domain)},
                           {"operator", declaration.op},
                           {"since_opset", declaration.sinceOpset},
                           {"until_opset", untilOf(declaration)},
                           {"forward", true},
                           {"gradient", declaration.gradient},
                           {"structure", declaration.structure}});
        } else {
            context.say(fmt::format("{:<16} {:<24} {:<9} {:<8} {:<9} {}", domainName(declaration.domain),
                                    declaration.op, opsets, "yes", declaration.gradient ? "yes" : "no",
                                    declaration.structure));
        }
    }
    listFunctions(context, all);
    if (context.json) {
        context.answer(all);
    }
    return {};
}

} // namespace

void addOps(CLI::App& program, Context& context)
{
    addVerb(program, context, "ops", "List every operator: domain, opsets, forward, gradient, relevance structure",
            [&context] { return listOperators(context); });
}

} // namespace retro::app
