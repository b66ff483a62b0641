// SPDX-License-Identifier: Apache-2.0
#include "core/diagnosis/checks/checks.h"
#include "core/diagnosis/numbertext.h"
#include "core/diagnosis/outlier.h"
#include "core/diagnosis/residualsum.h"

#include <fmt/format.h>

#include <cmath>

namespace retro::diagnosis
{

namespace
{

/// Of a residual sum, log of the size of the branch beside that of the shortcut, beside the median of all others, in
/// deviations of theirs (apartOf()): > 8, of six sums and more. Trained stacks have such blocks, so it is a note.
constexpr double kMostBranchApart = 8;
constexpr std::size_t kLeastBranches = 6;
constexpr double kBranchEffect = 0.5;

/// A residual sum whose operands are there.
struct Branch
{
    NodeId node; ///< of the model's file
    double logRatio = 0;
};

/// Root of the mean square; 0 where the value is not there.
double sizeOfValue(const Facts& facts, ValueId ofModel)
{
    const ValueId value = facts.valueOfPass(facts.model()->graph().value(ofModel).name);
    if (!value.isValid()) {
        return 0;
    }
    const Statistics& numbers = facts.statistics(value);
    return std::sqrt(numbers.variance + numbers.mean * numbers.mean);
}

std::vector<Branch> branchesOf(const Facts& facts, const std::vector<ResidualSum>& sums)
{
    std::vector<Branch> branches;
    for (const ResidualSum& sum : sums) {
        const double branch = sizeOfValue(facts, sum.branch.operand);
        const double skip = sizeOfValue(facts, sum.skip.operand);
        if (branch > 0 && skip > 0) {
            branches.push_back({sum.node, std::log(branch / skip)});
        }
    }
    return branches;
}

void findBranches(const Facts& facts, Probe& probe)
{
    const std::vector<ResidualSum> sums = residualSumsIn(*facts.model());
    const std::vector<Branch> branches = branchesOf(facts, sums);
    std::vector<double> ratios;
    for (const Branch& branch : branches) {
        ratios.push_back(branch.logRatio);
    }
    for (std::size_t i = 0; branches.size() >= kLeastBranches && i < branches.size(); ++i) {
        const graph::Node& node = facts.model()->graph().node(branches[i].node);
        const Apart apart = apartOf(ratios, i);
        probe.measured(node.name, apart.deviations);
        if (!(apart.deviations > kMostBranchApart)) {
            continue;
        }
        const double usual = std::exp(apart.median);
        Finding& finding = probe.note(kBranchEffect, {PlaceKind::Node, node.name, facts.nodeOfPass(node.name)});
        finding.what = fmt::format("its branch is {} times as large as its shortcut; at the {} other residual sums {} "
                                   "times (median)",
                                   numberText(std::exp(branches[i].logRatio)), branches.size() - 1, numberText(usual));
        finding.means = branches[i].logRatio > apart.median
                            ? "What lies before the block hardly gets past it: its relevance goes through the branch."
                            : "The block hardly adds anything to what it reads.";
        finding.remedy = "Compare the scale of its layers with the source of the model";
        finding.numbers = {{"deviations_apart", apart.deviations},
                           {"branch_of_shortcut", std::exp(branches[i].logRatio)}};
        finding.threshold = kMostBranchApart;
        finding.action = {"go to node", {{"node", node.name}}, {}};
    }
}

} // namespace

const Check forwardBranch{"forward.branch",
                          "deviations of the others that the size of the branch of a residual sum beside its shortcut "
                          "lies from theirs",
                          kMostBranchApart,
                          "up to 6.4",
                          Need::Model | Need::Forward,
                          true,
                          findBranches};

} // namespace retro::diagnosis
