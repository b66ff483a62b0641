// SPDX-License-Identifier: Apache-2.0
#include "core/engine/compare/compare.h"

#include "app/cli/context.h"
#include "core/base/file.h"
#include "core/diagnosis/diagnosis.h"
#include "core/engine/diagnose.h"
#include "core/engine/explain/runrules.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <limits>
#include <memory>
#include <span>

namespace retro::app
{

namespace
{

using base::Result;
using engine::Comparison;
using engine::ValueDifference;

struct CompareOptions
{
    std::string a;
    std::string b;
    double tolerance = 1e-5;
    std::size_t most = 20;
    std::string csv;
    std::string rulesB;
};

constexpr std::size_t kMostNames = 5;
constexpr std::size_t kMostNodes = 8;

/// "a, b, c and 4 more".
std::string someOf(const std::vector<std::string>& names)
{
    const std::size_t shown = std::min(names.size(), kMostNames);
    std::string text =
        fmt::format("{}", fmt::join(names.begin(), names.begin() + static_cast<std::ptrdiff_t>(shown), ", "));
    return names.size() > shown ? fmt::format("{} and {} more", text, names.size() - shown) : text;
}

void sayNode(const Context& context, const engine::PartingNode& node)
{
    context.say(fmt::format("  node       {} ({})", node.name, node.op));
    const auto side = [&](const char* which, const std::string& rule, const std::string& formula) {
        context.say(fmt::format("    {}        {}{}", which, rule.empty() ? "rule not known" : rule,
                                formula.empty() ? "" : "    " + formula));
    };
    side("A", node.ruleA, node.formulaA);
    side("B", node.ruleB, node.formulaB);
}

// Between what and what the nodes lie, where that is not one node.
std::string placeText(const engine::Parting& parting)
{
    if (parting.nodes.empty()) {
        return "no node is known to have passed relevance on to it";
    }
    if (parting.isNarrowed) {
        return parting.nodes.size() == 1
                   ? std::string()
                   : fmt::format("handed on by one or more of {} nodes, whose own relevance agrees",
                                 parting.nodes.size());
    }
    std::vector<std::string> above = parting.agreeing;
    if (!parting.unknownStart.empty()) {
        above.push_back(
            fmt::format("{} (where relevance starts: not compared, so it may differ, too)", parting.unknownStart));
    }
    return fmt::format("between {} and {}: {} nodes, not narrowed: values between them are not on both sides",
                       someOf(above), parting.value.name, parting.nodes.size());
}

void sayNodes(const Context& context, const engine::Parting& parting)
{
    if (const std::string place = parting.isStart ? std::string() : placeText(parting); !place.empty()) {
        context.say("  " + place);
    }
    for (std::size_t i = 0; i < std::min(kMostNodes, parting.nodes.size()); ++i) {
        sayNode(context, parting.nodes[i]);
    }
    if (parting.nodes.size() > kMostNodes) {
        context.say(fmt::format("  … and {} more nodes; --json gives all", parting.nodes.size() - kMostNodes));
    }
}

void sayParting(const Context& context, const Comparison& comparison)
{
    if (!comparison.parting) {
        context.say(fmt::format("They agree in {} value{}, within {:g} of the largest number of each.",
                                comparison.values.size(), comparison.values.size() == 1 ? "" : "s",
                                comparison.tolerance));
        return;
    }
    const engine::Parting& parting = *comparison.parting;
    const ValueDifference& value = parting.value;
    const std::string numbers =
        value.fault.empty()
            ? fmt::format("A {:.9g}, B {:.9g} at [{}]; largest difference {:.3g}, relative {:.3g}", value.a, value.b,
                          fmt::join(value.index, ", "), value.largest, value.relative())
            : value.fault;
    context.say(fmt::format("They part at the relevance of {}{}: {}", value.name,
                            parting.isStart ? ", where it starts" : "", numbers));
    sayNodes(context, parting);
}

// What of the sides took no part, and what was made to fit.
void sayRest(const Context& context, const Comparison& comparison)
{
    const auto list = [&](const char* what, const std::vector<std::string>& names) {
        if (!names.empty()) {
            context.say(fmt::format("{}: {}", what, someOf(names)));
        }
    };
    list("of A, no value of the model has the name", comparison.unmatchedA);
    list("of B, no value of the model has the name", comparison.unmatchedB);
    list("of A, passed over", comparison.skippedA);
    list("of B, passed over", comparison.skippedB);
    std::vector<std::string> notes;
    for (const ValueDifference& value : comparison.values) {
        if (!value.note.empty()) {
            notes.push_back(fmt::format("{} ({})", value.name, value.note));
        }
    }
    list("without the batch axis", notes);
}

void sayValues(const Context& context, const Comparison& comparison, std::size_t most)
{
    const std::span shown(comparison.values.data(), std::min(most, comparison.values.size()));
    std::size_t width = 36; // of the names
    for (const ValueDifference& value : shown) {
        width = std::max(width, value.name.size());
    }
    context.say("");
    context.say(fmt::format("{:<{}} {:>13} {:>13} {:>11} {:>11} {:>9}", "value, from the target", width, "sum A",
                            "sum B", "largest", "relative", "cosine"));
    for (const ValueDifference& value : shown) {
        context.say(fmt::format("{:<{}} {:>13.6g} {:>13.6g} {:>11.3g} {:>11.3g} {:>9.6f}", value.name, width,
                                value.sumA, value.sumB, value.largest, value.relative(), value.cosine));
    }
    if (comparison.values.size() > most) {
        context.say(fmt::format("… and {} more; --most N, --csv or --json give all", comparison.values.size() - most));
    }
    const auto only = [&](const char* side, const std::vector<std::string>& names) {
        if (!names.empty()) {
            context.say(fmt::format("only {}       {} value{}, such as {}", side, names.size(),
                                    names.size() == 1 ? "" : "s", names.front()));
        }
    };
    only("A", comparison.onlyA);
    only("B", comparison.onlyB);
    sayRest(context, comparison);
}

/// The rules that the other tool was set to go with its tensors.
Result<void> giveRules(const engine::ComparedSide& a, engine::ComparedSide& b, const std::string& composite)
{
    if (composite.empty()) {
        return {};
    }
    if (b.run || !a.run) {
        return base::usageError("these are the rules of arrays of another tool: give the run first and the arrays "
                                "(.npz) second; a run knows its own rules",
                                "--rules-b");
    }
    RETRO_TRY(b.rules, base::within(engine::rulesFor(*a.run, composite), "--rules-b"));
    return {};
}

/// What differs in model, input, rules and target of B, with A as the reference; nothing where one is no run.
Result<diagnosis::Diagnosis> differencesOf(const engine::ComparedSide& a, const engine::ComparedSide& b,
                                           const CompareOptions& options)
{
    if (!a.run || !b.run) {
        return diagnosis::Diagnosis();
    }
    const auto facts = engine::factsOf(b.run, engine::modelOfRun(*b.run, options.b), b.name);
    facts->setReference(engine::factsOf(a.run, engine::modelOfRun(*a.run, options.a), a.name));
    diagnosis::Options checks;
    checks.families = {"diff"};
    return diagnosis::diagnose(*facts, checks);
}

/// Where the forward pass parts, which follows from what differs; null when it does not.
const diagnosis::Finding* forwardParting(const std::vector<diagnosis::Finding>& findings)
{
    for (const diagnosis::Finding& finding : findings) {
        const diagnosis::Finding* below = forwardParting(finding.also);
        if (finding.id == "diff.forward" || below != nullptr) {
            return finding.id == "diff.forward" ? &finding : below;
        }
    }
    return nullptr;
}

/// What differs comes first: it says why. Where the forward pass parts comes last.
void sayDifferences(const Context& context, const diagnosis::Diagnosis& differences)
{
    constexpr std::size_t kMostDifferences = 3;
    const auto say = [&context](const diagnosis::Finding& finding) {
        context.say("B " + finding.line());
        context.say("  " + finding.meaning());
    };
    std::size_t said = 0;
    for (const diagnosis::Finding& finding : differences.findings) {
        if (finding.id != "diff.forward" && said++ < kMostDifferences) {
            say(finding);
        }
    }
    if (said > kMostDifferences) {
        context.say(fmt::format("  … and {} more; diagnose --against and --json give all", said - kMostDifferences));
    }
    if (const diagnosis::Finding* forward = forwardParting(differences.findings)) {
        say(*forward);
    }
}

Result<void> compareFiles(const Context& context, const CompareOptions& options)
{
    const auto isArrays = [](const std::string& file) { return std::filesystem::path(file).extension() == ".npz"; };
    const bool isRunSecond = isArrays(options.a); // arrays are read after the run
    if (isRunSecond && isArrays(options.b)) {
        return base::usageError("one of the two must be a recorded run, which knows the graph", "compare");
    }
    RETRO_TRY(engine::ComparedSide first, engine::readCompared(isRunSecond ? options.b : options.a));
    RETRO_TRY(engine::ComparedSide second, engine::readCompared(isRunSecond ? options.a : options.b, first.run.get()));
    engine::ComparedSide& b = isRunSecond ? first : second;
    const engine::ComparedSide& a = isRunSecond ? second : first;
    RETRO_CHECK(giveRules(a, b, options.rulesB));
    RETRO_TRY(const Comparison comparison, engine::compare(a, b, options.tolerance));
    RETRO_TRY(const diagnosis::Diagnosis differences, differencesOf(a, b, options));
    if (!options.csv.empty()) {
        RETRO_CHECK(base::writeFile(options.csv, engine::valueFields().csv(comparison.values)));
    }
    if (context.json) {
        context.answer(engine::comparisonJson(comparison, &differences.findings));
        return {};
    }
    context.say(fmt::format("A {}   B {}", a.name, b.name));
    sayDifferences(context, differences);
    for (const std::string& fact : comparison.differentFacts) {
        context.say("  " + fact);
    }
    sayParting(context, comparison);
    sayValues(context, comparison, options.most);
    return {};
}

} // namespace

void addCompare(CLI::App& program, Context& context)
{
    auto options = std::make_shared<CompareOptions>();
    CLI::App* verb =
        addVerb(program, context, "compare", "Relevance difference per value and the first node where two runs part",
                [&context, options] { return compareFiles(context, *options); });
    verb->add_option("A", options->a, "Recorded run (.retro), or arrays by value name (.npz)")->required();
    verb->add_option("B", options->b, "What it is compared with, of the same kinds; one of them is a run")->required();
    verb->add_option("--tolerance", options->tolerance,
                     "Largest difference, relative to the largest number of a value, that agrees (default 1e-5)")
        ->check(finiteNumber(0, std::numeric_limits<double>::max()));
    verb->add_option("--rules-b", options->rulesB,
                     "Composite that the tool of an .npz B was set to, as for explain: its rules and formulas stand "
                     "beside those of A");
    verb->add_option("--most", options->most, "Values to list (default 20)")->check(wholeNumber());
    context.addOutput(verb->add_option("--csv", options->csv, "Also write all values as a table"), "the table");
}

} // namespace retro::app
