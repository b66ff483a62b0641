// SPDX-License-Identifier: Apache-2.0
#include "core/diagnosis/checks/checks.h"
#include "core/diagnosis/numbertext.h"
#include "core/diagnosis/targetscores.h"

#include <fmt/format.h>

#include <cmath>

namespace retro::diagnosis
{

namespace
{

/// Section 4.9, eval.class-blind: cosine of the attribution to that of the next best class: > 0.99; e = x.
constexpr double kMostAlike = 0.99;

/// The best class beside the explained one; −1: there is none.
std::int64_t nextBest(const TargetScores& row)
{
    std::int64_t next = -1;
    for (std::int64_t i = 0; i < static_cast<std::int64_t>(row.scores.size()); ++i) {
        const bool isBetter =
            next < 0 || row.scores[static_cast<std::size_t>(i)] > row.scores[static_cast<std::size_t>(next)];
        next = i != row.chosen && isBetter ? i : next;
    }
    return next;
}

/// Of the relevance of all inputs; 0 where one pass has none.
double cosineOf(const Pass& a, const Pass& b)
{
    double product = 0;
    double left = 0;
    double right = 0;
    for (const ValueId input : a.graph->inputs()) {
        const std::vector<double> x = numbersIn(a.relevance[input.index()]);
        const std::vector<double> y = numbersIn(b.relevance[input.index()]);
        for (std::size_t i = 0; i < x.size() && x.size() == y.size(); ++i) {
            product += x[i] * y[i];
            left += x[i] * x[i];
            right += y[i] * y[i];
        }
    }
    return left > 0 && right > 0 ? product / std::sqrt(left * right) : 0;
}

void findClassBlind(const Facts& facts, Probe& probe)
{
    const Pass& pass = *facts.pass();
    const TargetScores row = scoresOf(facts, facts.value(pass.target));
    const std::int64_t next = nextBest(row);
    if (row.chosen < 0 || next < 0 || !facts.sources().explainAgain) {
        return probe.notRun("there is no other class to explain");
    }
    const auto other = facts.sources().explainAgain(Variation{{}, {}, next});
    if (!other || other->relevance.size() != pass.relevance.size()) {
        return probe.notRun("the next best class could not be explained");
    }
    const double cosine = cosineOf(pass, *other);
    const std::string& target = facts.graph().value(pass.target).name;
    probe.measured(target, cosine);
    if (!(cosine > kMostAlike)) {
        return;
    }
    Finding& finding = probe.warning(2, cosine, facts.place(pass.target));
    finding.what = fmt::format("classes {} and {} have the same explanation: cosine {:.4f}",
                               classText(facts, row.chosen), classText(facts, next), cosine);
    finding.means = "The rules do not look at the class: the heatmap is about the input alone.";
    finding.remedy = "Try another composite: --composite epsilon_plus";
    finding.numbers = {{"cosine", cosine}, {"other_class", static_cast<double>(next)}};
    finding.threshold = kMostAlike;
    finding.action = {"switch composite", {{"target", target}}, {}};
}

} // namespace

const Check evalClassBlind{"eval.class-blind",
                           "cosine of the attribution of the explained class to that of the next best",
                           kMostAlike,
                           "up to 0.955 (trained)",
                           Need::Evaluation | Need::Relevance | Need::Forward,
                           false,
                           findClassBlind};

} // namespace retro::diagnosis
