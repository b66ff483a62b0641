// SPDX-License-Identifier: Apache-2.0
#include "core/diagnosis/checks/checks.h"
#include "core/diagnosis/numbertext.h"
#include "core/diagnosis/residualsum.h"
#include "core/diagnosis/siblings.h"

#include <fmt/format.h>

#include <cmath>

namespace retro::diagnosis
{

namespace
{

/// Residual sums that say what is usual, beside the one that differs.
constexpr std::size_t kLeastUsualSums = 2;
constexpr double kSkipBase = 2.4;
constexpr double kSkipEffect = 0.6;

void reportSkip(const Facts& facts, const ResidualSum& odd, const ResidualSum& usual, std::size_t others, Probe& probe)
{
    const graph::Graph& graph = facts.model()->graph();
    const bool isSkip = odd.skip.factor != usual.skip.factor;
    const Scaled& differs = isSkip ? odd.skip : odd.branch;
    const std::string& name = graph.node(differs.node.isValid() ? differs.node : odd.node).name;
    const double expected = isSkip ? usual.skip.factor : usual.branch.factor;
    Finding& finding = probe.warning(kSkipBase, kSkipEffect, {PlaceKind::Node, name, facts.nodeOfPass(name)});
    finding.what =
        fmt::format("scales {} of its residual sum by {}; the {} other residual sums by {}",
                    isSkip ? "the shortcut" : "the branch", numberText(differs.factor), others, numberText(expected));
    finding.means = std::abs(differs.factor) < std::abs(expected)
                        ? (isSkip ? "Hardly anything of what lies before the block gets past it: relevance ends here."
                                  : "The block hardly adds anything to what it reads.")
                        : "One way into the sum outweighs the other one.";
    finding.remedy = "Compare the factor with the source of the model";
    finding.numbers = {{"factor", differs.factor}, {"usual_factor", expected}};
    finding.action = {"go to node", {{"node", name}}, {}};
}

void findSkips(const Facts& facts, Probe& probe)
{
    const std::vector<ResidualSum> sums = residualSumsIn(*facts.model());
    std::vector<std::string> factors;
    for (const ResidualSum& sum : sums) {
        factors.push_back(sum.factors());
        probe.measured(facts.model()->graph().node(sum.node).name, 0);
    }
    if (const std::optional<std::size_t> odd = oddOneOf(factors, kLeastUsualSums)) {
        reportSkip(facts, sums[*odd], sums[*odd == 0 ? 1 : 0], sums.size() - 1, probe);
    }
}

} // namespace

const Check modelSkip{"model.skip",
                      "factor of a shortcut or branch of a residual sum that differs from that of all others",
                      0,
                      "0",
                      Need::Model,
                      true,
                      findSkips};

} // namespace retro::diagnosis
