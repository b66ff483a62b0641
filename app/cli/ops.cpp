// SPDX-License-Identifier: Apache-2.0
#include "app/cli/context.h"
#include "core/formats/known/knownfunctions.h"
#include "core/ops/registry.h"

#include <fmt/format.h>

#include <optional>
#include <utility>

namespace retro::app
{

namespace
{

using nlohmann::ordered_json;

std::string domainName(std::string_view domain) { return domain.empty() ? "ai.onnx" : std::string(domain); }

std::int64_t untilOf(const ops::OperatorDeclaration& declaration)
{
    return declaration.untilOpset > 0 ? declaration.untilOpset : (declaration.domain.empty() ? ops::kNewestOpset : 1);
}

/// An operator, or a function that is written out while a file is read.
struct Listed
{
    std::string domain;
    std::string op;
    std::optional<std::pair<std::int64_t, std::int64_t>> opsets; ///< none: all
    ordered_json gradient;
    std::string structure;
};

base::Fields<Listed> fields()
{
    return {{"domain", &Listed::domain, "{:<16}", "domain"},
            {"operator", &Listed::op, "{:<24}", "operator"},
            {"since_opset",
             [](const Listed& one) { return one.opsets ? ordered_json(one.opsets->first) : base::kLeftOut; }},
            {"until_opset",
             [](const Listed& one) { return one.opsets ? ordered_json(one.opsets->second) : base::kLeftOut; }, "{:<9}",
             "opsets",
             [](const Listed& one) {
                 return one.opsets ? fmt::format("{}–{}", one.opsets->first, one.opsets->second) : "all";
             }},
            {"forward", [](const Listed&) { return true; }, "{:<8}", "forward", [](const Listed&) { return "yes"; }},
            {"gradient", &Listed::gradient, "{:<9}", "gradient",
             [](const Listed& one) {
                 return one.gradient.is_boolean() ? ordered_json(one.gradient.get<bool>() ? "yes" : "no")
                                                  : one.gradient;
             }},
            {"structure", &Listed::structure, "{}", "relevance structure"}};
}

base::Result<void> listOperators(const Context& context)
{
    std::vector<Listed> all;
    for (const ops::OperatorDeclaration& one : ops::declarations()) {
        all.push_back({domainName(one.domain), std::string(one.op), std::pair(one.sinceOpset, untilOf(one)),
                       one.gradient, std::string(one.structure)});
    }
    for (const formats::KnownFunction& one : formats::knownFunctions()) {
        all.push_back({domainName(one.domain), std::string(one.op), std::nullopt, "steps",
                       fmt::format("written out: {}", one.steps)});
    }
    context.list(fields(), all);
    return {};
}

} // namespace

void addOps(CLI::App& program, Context& context)
{
    addVerb(program, context, "ops", "List every operator: domain, opsets, forward, gradient, relevance structure",
            [&context] { return listOperators(context); });
}

} // namespace retro::app
