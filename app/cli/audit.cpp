// SPDX-License-Identifier: Apache-2.0
#include "app/cli/context.h"
#include "core/diagnosis/diagnosis.h"
#include "core/diagnosis/growthalong.h"
#include "core/diagnosis/numbertext.h"
#include "core/engine/diagnose.h"
#include "core/ops/structure.h"
#include "core/trace/gradientrun.h"
#include "core/trace/ledgersummary.h"
#include "core/trace/runfile.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <memory>
#include <optional>

namespace retro::app
{

namespace
{

using base::Result;
using nlohmann::ordered_json;

struct AuditOptions
{
    std::string file;
    std::size_t most = 20;
};

const std::string& ruleOf(const trace::Run& run, base::NodeId node)
{
    static const std::string kNone;
    return node.index() < run.rules.size() ? run.rules[node.index()].rule : kNone;
}

/// The cause that takes most of what started, where that is nothing unusual.
struct LargestCause
{
    event::Cause cause = event::Cause::Bias;
    double amount = 0; ///< lost; negative = gained
    double share = 0;  ///< of what started; 0 when nothing did
    std::size_t nodes = 0;
    base::NodeId most; ///< node that has the largest part of it
    double ofMost = 0;
};

std::optional<LargestCause> largestCauseOf(const trace::LedgerSummary& summary)
{
    LargestCause found;
    for (std::size_t i = 0; i < summary.causes.size(); ++i) {
        if (std::abs(summary.causes[i]) > std::abs(found.amount)) {
            found.cause = static_cast<event::Cause>(i);
            found.amount = summary.causes[i];
        }
    }
    for (const trace::NodeBalance& node : summary.nodes) {
        const double amount = node.causes[static_cast<std::size_t>(found.cause)];
        found.nodes += amount != 0 ? 1 : 0;
        if (std::abs(amount) > std::abs(found.ofMost)) {
            found.most = node.node;
            found.ofMost = amount;
        }
    }
    found.share = summary.start != 0 ? found.amount / summary.start : 0;
    return found.amount != 0 ? std::optional(found) : std::nullopt;
}

/// What the ledger shows at first: the worst finding about flow or rules, else that there is none.
std::string headlineText(const trace::Run& run, const trace::LedgerSummary& summary, const diagnosis::Finding* worst)
{
    if (worst != nullptr) {
        return worst->line();
    }
    const std::optional<LargestCause> largest = largestCauseOf(summary);
    if (!largest) {
        return "Nothing unusual: nothing is lost or gained.";
    }
    const double start = summary.start;
    const auto text = [start](double amount) {
        return start != 0 ? fmt::format("{:.1f} %", 100 * std::abs(amount / start)) : fmt::format("{:.4g}", amount);
    };
    const bool isGain = start != 0 ? largest->share < 0 : largest->amount < 0; // of a negative start, negative is lost
    return fmt::format("Nothing unusual: {} {} {} of what started, over {} node{} (most: {}, {}).",
                       event::nameOf(largest->cause), isGain ? "adds" : "takes", text(largest->amount), largest->nodes,
                       largest->nodes == 1 ? "" : "s", run.graph->labelOf(largest->most), text(largest->ofMost));
}

ordered_json largestCauseJson(const trace::Run& run, const trace::LedgerSummary& summary)
{
    const std::optional<LargestCause> largest = largestCauseOf(summary);
    if (!largest) {
        return nullptr;
    }
    return {{"node", run.graph->labelOf(largest->most)},
            {"operator", run.graph->opOf(largest->most)},
            {"rule", ruleOf(run, largest->most)},
            {"cause", event::nameOf(largest->cause)},
            {"amount", largest->ofMost},
            {"share", summary.start != 0 ? largest->ofMost / summary.start : 0.0}};
}

/// Rules that divide by a sum of terms with signs.
bool dividesBySum(const std::string& rule)
{
    constexpr std::array<std::string_view, 5> kRules{"lrp-0", "epsilon", "gamma", "z-box", "norm"};
    return std::ranges::any_of(kRules, [&rule](std::string_view name) { return rule.starts_with(name); });
}

/// Why what a node hands on is so much larger than what arrived; empty where that is not known.
std::string_view reasonOf(const trace::Run& run, base::NodeId node)
{
    using ops::StructureKind;
    if (node.index() >= run.rules.size() || !dividesBySum(run.rules[node.index()].rule)) {
        return {};
    }
    const std::string_view structure = run.rules[node.index()].structure;
    if (structure == ops::nameOf(StructureKind::SumOfOperands)) {
        return "its operands cancel";
    }
    constexpr std::array kSums{StructureKind::LinearMap, StructureKind::Bilinear, StructureKind::Reduction,
                               StructureKind::AveragePool, StructureKind::Normalisation};
    const bool isSum =
        std::ranges::any_of(kSums, [&structure](StructureKind kind) { return structure == ops::nameOf(kind); });
    return isSum ? "the terms of its sums cancel" : "";
}

/// What is said of a node at which the magnitude grows, which no sum shows: what is handed on with opposite signs still
/// adds up.
base::Fields<trace::NodeBalance> growthFields(const trace::Run& run)
{
    using trace::NodeBalance;
    return {{"node", [&](const NodeBalance& one) { return run.graph->labelOf(one.node); }, "{:<36}",
             "node, largest growth first"},
            {"operator", [&](const NodeBalance& one) { return run.graph->opOf(one.node); }, "{:<20}", "operator"},
            {"rule", [&](const NodeBalance& one) { return ruleOf(run, one.node); }},
            {"magnitude_arrived", &NodeBalance::magnitude, "{:>13.6g}", "Σ|R| arrived"},
            {"magnitude_handed_on", &NodeBalance::magnitudeHandedOn, "{:>13.6g}", "handed on"},
            {"factor", &NodeBalance::growth, "{:>13}", "grows",
             [](const NodeBalance& one) { return fmt::format("{:.4g} ×", one.growth()); }},
            {"reason", [&](const NodeBalance& one) { return reasonOf(run, one.node); }, " {}", "because"}};
}

void sayGrowth(const Context& context, const trace::Run& run, std::span<const trace::NodeBalance> grown,
               std::size_t most)
{
    if (!grown.empty()) {
        context.say("");
        context.table(growthFields(run), grown.first(std::min(most, grown.size())));
    }
}

/// Growth that compounds over many nodes: from so many decades on, nodes that multiply a little are listed as well.
constexpr double kManyDecades = 2;
constexpr double kSomeGrowth = 1.5;

double leastGrowth(const diagnosis::GrowthAlong& along)
{
    return along.decades > kManyDecades ? kSomeGrowth : trace::kLargeGrowth;
}

/// How the magnitude grows from the last fifth of the values towards the target to where it is largest.
void sayDecades(const Context& context, const trace::Run& run, const diagnosis::GrowthAlong& along)
{
    if (along.decades > kManyDecades && along.largestAt.isValid()) {
        context.say(fmt::format("Σ|R| grows by {:.1f} decades on the way: {:.4g} near the target, {:.4g} at {}",
                                along.decades, along.nearTarget, along.largest, run.graph->labelOf(along.largestAt)));
    }
}

ordered_json auditJson(const trace::Run& run, const trace::LedgerSummary& summary,
                       const diagnosis::Diagnosis& diagnosis, const diagnosis::GrowthAlong& along)
{
    ordered_json json{{"conserved", !trace::carriesGradient(run)},
                      {"worst", largestCauseJson(run, summary)},
                      {"diagnosis", diagnosis::findingsJson(diagnosis.findings)}};
    json.update(trace::ledgerJson(run, summary));
    json["growth"] = trace::carriesGradient(run)
                         ? ordered_json::array()
                         : growthFields(run).list(trace::largestGrowth(summary.nodes, leastGrowth(along)));
    json["growth_decades"] = along.decades;
    return json;
}

/// Nothing of a gradient is conserved: no shares, no causes, but how large it is at each node.
void sayGradient(const Context& context, const trace::Run& run, const trace::LedgerSummary& summary, std::size_t most)
{
    context.say(
        "a gradient is not conserved: what follows are sums of its elements and of their magnitudes, no shares");
    context.say(fmt::format("{:<22} {:>16.9g}", "at the target", summary.start));
    context.say(fmt::format("{:<22} {:>16.9g}",
                            run.facts.numbers.contains("times_input") ? "at the inputs, times them" : "at the inputs",
                            summary.leaves));
    context.say("");
    base::Fields<trace::NodeBalance> fields = trace::balanceFields(run);
    fields[0].head = "node";
    fields[2].head = "sum";
    fields[3].form = {};
    fields[4].head = "magnitude";
    fields[6].form = {};
    context.table(fields, std::span(summary.nodes).first(std::min(most, summary.nodes.size())));
}

/// "bias 0.2134, 13 %": a sum near 0 has no shares, so the magnitude measures.
std::string causeText(event::Cause cause, double amount, double magnitude)
{
    const std::string share =
        magnitude > 0 ? fmt::format(", {}", diagnosis::percentText(std::abs(amount) / magnitude)) : std::string();
    return fmt::format("{} {:.4g}{}", event::nameOf(cause), amount, share);
}

void sayAudit(const Context& context, const trace::Run& run, const trace::LedgerSummary& summary, std::size_t most,
              const diagnosis::Finding* worst)
{
    const auto share = [&](double amount) { return summary.start != 0 ? 100 * amount / summary.start : 0.0; };
    const auto line = [&](const std::string& name, double amount) {
        context.say(fmt::format("{:<22} {:>16.9g} {:>10.4f} %", name, amount + 0.0, share(amount) + 0.0));
    };
    context.say(headlineText(run, summary, worst));
    context.say("");
    line("started", summary.start);
    for (std::size_t i = 0; i < summary.causes.size(); ++i) {
        if (summary.causes[i] != 0) {
            line("  " + std::string(event::nameOf(static_cast<event::Cause>(i))), -summary.causes[i]);
        }
    }
    line("  unexplained", -summary.unexplained);
    line("reached the inputs", summary.leaves);
    line("rest", summary.rest);
    context.say("");
    base::Fields<trace::NodeBalance> fields = trace::balanceFields(run);
    fields.push_back({"", nullptr, " {}", "largest cause, of Σ|R|", [](const trace::NodeBalance& node) {
                          const auto cause = node.largestCause();
                          return cause
                                     ? causeText(*cause, node.causes[static_cast<std::size_t>(*cause)], node.magnitude)
                                     : "–";
                      }});
    context.table(fields, std::span(summary.nodes).first(std::min(most, summary.nodes.size())));
}

/// What the checks say of flow and rules.
Result<diagnosis::Diagnosis> ledgerDiagnosis(const diagnosis::Facts& facts)
{
    diagnosis::Options options;
    options.families = {"flow", "rule"};
    return diagnosis::diagnose(facts, options);
}

Result<void> audit(const Context& context, const AuditOptions& options)
{
    RETRO_TRY(const std::shared_ptr<const trace::Run> run, trace::readRun(options.file));
    const trace::LedgerSummary summary = trace::summarise(*run);
    const auto facts = engine::factsOf(run, engine::modelOfRun(*run, options.file), options.file);
    RETRO_TRY(const diagnosis::Diagnosis found, ledgerDiagnosis(*facts));
    const diagnosis::GrowthAlong along = diagnosis::growthAlong(*facts);
    const auto grown = trace::largestGrowth(summary.nodes, leastGrowth(along));
    if (context.json) {
        context.answer(auditJson(*run, summary, found, along));
    } else if (trace::carriesGradient(*run)) {
        sayGradient(context, *run, summary, options.most);
    } else {
        sayAudit(context, *run, summary, options.most, found.findings.empty() ? nullptr : &found.findings.front());
        sayDecades(context, *run, along);
        sayGrowth(context, *run, grown, options.most);
    }
    return {};
}

} // namespace

void addAudit(CLI::App& program, Context& context)
{
    auto options = std::make_shared<AuditOptions>();
    CLI::App* verb = addVerb(program, context, "audit", "Conservation ledger of a recorded run, worst nodes first",
                             [&context, options] { return audit(context, *options); });
    verb->add_option("FILE", options->file, "Recorded run (.retro)")->required();
    verb->add_option("--most", options->most, "Nodes to list (default 20)");
}

} // namespace retro::app
