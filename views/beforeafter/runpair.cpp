// SPDX-License-Identifier: Apache-2.0
#include "views/beforeafter/runpair.h"

#include "core/event/event.h"
#include "core/formats/scores.h"
#include "core/graph/graphbuilder.h"
#include "core/trace/askedotherwise.h"
#include "core/trace/ledgersummary.h"
#include "views/common/numbertext.h"
#include "views/common/paint/picture.h"
#include "views/common/widgets/stepstrip.h"

#include <QCoreApplication>

#include <algorithm>
#include <cmath>

namespace retro::views
{

namespace
{

constexpr std::size_t kMostClasses = 8;
constexpr double kRounding = 1e-6;    // of the start: what nobody would call unexplained
constexpr double kLeastChange = 5e-4; // of the largest score: less is no movement that anybody would name

QString pairText(const char* text) { return QCoreApplication::translate("retro::views::BeforeAfterView", text); }

bool isChannelsLast(const RunModel& model) { return model.input().layout == QLatin1String("NHWC"); }

base::ValueId firstInput(const RunModel& model)
{
    for (const base::ValueId input : model.graph().inputs()) {
        if (model.relevance(input) != nullptr) {
            return input;
        }
    }
    return {};
}

base::ValueId shownValue(const RunModel& model, const QString& name)
{
    if (!name.isEmpty()) {
        const auto value = model.graph().findValue(name.toStdString());
        if (value && model.relevance(*value) != nullptr) {
            return *value;
        }
    }
    return firstInput(model);
}

/// Relevance over the pixels or the steps of the input; the plane stays empty where it has neither.
void placeRelevance(const RunModel& model, const tensor::Tensor& shown, PairSide& side)
{
    const InputInfo& info = model.input();
    if (shown.rank() == 4) {
        if (auto plane = channelSum(shown, 0, isChannelsLast(model)); plane.ok()) {
            side.plane = std::move(plane).value();
        }
    } else if (info.layout == QLatin1String("NTC") || info.layout == QLatin1String("NT")) {
        side.plane.values = stepSums(shown);
        side.plane.width = static_cast<int>(side.plane.values.size());
        side.plane.height = side.plane.values.empty() ? 0 : 1;
        side.isSteps = !side.plane.values.empty();
        side.words = side.isSteps && info.words.size() == side.plane.width ? info.words : QStringList();
    }
}

PairSide sideOf(const RunModel& model, base::ValueId value)
{
    PairSide side;
    const tensor::Tensor* relevance = model.relevance(value);
    if (relevance == nullptr) {
        return side;
    }
    const tensor::Tensor& shown = *relevance;
    for (std::int64_t i = 0; i < shown.size(); ++i) {
        const double r = shown.at(i);
        side.sum += r;
        side.positive += std::max(0.0, r);
    }
    placeRelevance(model, shown, side);
    if (side.plane.isEmpty()) {
        side.plane = sliceGrid(shown).plane;
        side.isSteps = side.plane.height == 1;
    }
    const InputInfo& info = model.input();
    const base::ValueId input = firstInput(model);
    const tensor::Tensor* seen = input.isValid() && info.isPicture ? model.forwardValue(input) : nullptr;
    if (seen != nullptr && shown.rank() == 4) {
        side.picture = pictureOfTensor(*seen, info.scaleLow, info.scaleHigh, info.mean, info.deviation,
                                       isChannelsLast(model), info.channels == QLatin1String("BGR"));
    }
    return side;
}

double limitOf(const Plane& one, const Plane& other)
{
    std::vector<double> all = one.values;
    all.insert(all.end(), other.values.begin(), other.values.end());
    return symmetricScale(all, 99.9).limit;
}

/// Scores of sample 0; empty where the explained output is no row of classes.
std::vector<double> scoresOf(const RunModel& model)
{
    std::vector<double> scores;
    const auto outputs = model.graph().outputs();
    const tensor::Tensor* row = outputs.empty() ? nullptr : model.forwardValue(outputs.front());
    if (row == nullptr || (row->rank() != 1 && row->rank() != 2) || row->size() < 2) {
        return scores;
    }
    const std::int64_t count = row->shape().back();
    for (std::int64_t i = 0; i < count; ++i) {
        scores.push_back(row->at(i));
    }
    return scores;
}

std::vector<double> probabilitiesOf(const RunModel& model, const std::vector<double>& scores)
{
    const auto kind = formats::scoreKindOf(model.graph(), model.graph().outputs().front(), model.run().facts.scores);
    return formats::probabilitiesOf(scores, kind);
}

/// The classes whose scores changed most, from `a` to `b` with their probabilities `pa` and `pb`; the one that changed
/// most first.
std::vector<PairClass> changedMost(const RunModel& after, const std::vector<double>& a, const std::vector<double>& b,
                                   const std::vector<double>& pa, const std::vector<double>& pb)
{
    std::vector<PairClass> classes;
    for (std::size_t i = 0; i < a.size(); ++i) {
        PairClass one{after.className(static_cast<std::int64_t>(i)), a[i], b[i], {}, {}};
        one.probabilityBefore = i < pa.size() ? std::optional(pa[i]) : std::nullopt;
        one.probabilityAfter = i < pb.size() ? std::optional(pb[i]) : std::nullopt;
        classes.push_back(std::move(one));
    }
    std::ranges::stable_sort(classes, [](const PairClass& x, const PairClass& y) {
        return std::abs(x.after - x.before) > std::abs(y.after - y.before);
    });
    classes.resize(std::min(kMostClasses, classes.size()));
    return classes;
}

/// The first two classes whose scores moved by something beside those of the run before: how far.
QStringList movedWords(const std::vector<PairClass>& classes, const std::vector<double>& scoresBefore)
{
    QStringList moved;
    double largest = 0;
    for (const double score : scoresBefore) {
        largest = std::max(largest, std::abs(score));
    }
    for (const PairClass& one : classes) {
        const double change = one.after - one.before;
        if (moved.size() < 2 && std::abs(change) > kLeastChange * largest) {
            moved << (change < 0 ? pairText("takes %1 from %2") : pairText("gives %1 to %2"))
                         .arg(valueText(std::abs(change), 3), one.name);
        }
    }
    return moved;
}

void addClasses(const RunModel& before, const RunModel& after, RunPair& pair)
{
    const std::vector<double> a = scoresOf(before);
    const std::vector<double> b = scoresOf(after);
    if (a.empty() || a.size() != b.size()) {
        return;
    }
    const std::vector<double> pa = probabilitiesOf(before, a);
    const std::vector<double> pb = probabilitiesOf(after, b);
    pair.classes = changedMost(after, a, b, pa, pb);
    const auto best = [](const std::vector<double>& scores) {
        return std::ranges::max_element(scores) - scores.begin();
    };
    const std::int64_t saidBefore = best(a);
    const std::int64_t saysAfter = best(b);
    const auto sure = [](const std::vector<double>& p, std::int64_t at) {
        return p.empty() ? QString() : QStringLiteral(" (%1)").arg(percentText(p[static_cast<std::size_t>(at)]));
    };
    const QStringList moved = movedWords(pair.classes, a);
    QString text = moved.isEmpty() ? pairText("The scores stay as they were")
                                   : pairText("The change %1").arg(moved.join(pairText(" and ")));
    text += saidBefore == saysAfter
                ? pairText("; the answer stays %1.").arg(after.className(saysAfter) + sure(pb, saysAfter))
                : pairText("; the answer turns from %1 to %2.")
                      .arg(before.className(saidBefore) + sure(pa, saidBefore),
                           after.className(saysAfter) + sure(pb, saysAfter));
    pair.meaning = text;
}

void addLedger(const RunModel& before, const RunModel& after, RunPair& pair)
{
    const trace::LedgerSummary a = trace::summarise(before.run());
    const trace::LedgerSummary b = trace::summarise(after.run());
    pair.ledger.push_back({pairText("Started"), a.start, b.start});
    for (std::size_t cause = 0; cause < a.causes.size(); ++cause) {
        if (a.causes[cause] != 0 || b.causes[cause] != 0) {
            const std::string_view name = event::nameOf(static_cast<event::Cause>(cause));
            pair.ledger.push_back({QString::fromUtf8(name.data(), static_cast<qsizetype>(name.size())),
                                   -a.causes[cause], -b.causes[cause]});
        }
    }
    pair.ledger.push_back({pairText("Reached the input"), a.leaves, b.leaves});
    const double least = kRounding * std::max(std::abs(a.start), std::abs(b.start));
    if (std::abs(a.unexplained) > least || std::abs(b.unexplained) > least) {
        pair.ledger.push_back({pairText("Unexplained"), -a.unexplained, -b.unexplained});
    }
}

/// How many numbers of the inputs differ.
QString inputChange(const RunModel& before, const RunModel& after)
{
    std::int64_t differing = 0;
    std::int64_t all = 0;
    for (const base::ValueId input : after.graph().inputs()) {
        const auto there = before.graph().findValue(after.graph().value(input).name);
        const tensor::Tensor* a = there ? before.forwardValue(*there) : nullptr;
        const tensor::Tensor* b = after.forwardValue(input);
        if (a == nullptr || b == nullptr) {
            continue;
        }
        if (a->shape() != b->shape()) {
            return pairText("Input: another shape");
        }
        all += b->size();
        for (std::int64_t i = 0; i < b->size(); ++i) {
            differing += a->at(i) != b->at(i) ? 1 : 0;
        }
    }
    return differing == 0 ? QString()
                          : pairText("Input: %1 of %2 numbers differ (%3)")
                                .arg(countText(differing), countText(all),
                                     percentText(static_cast<double>(differing) / static_cast<double>(all)));
}

QString targetWords(const RunModel& model)
{
    const trace::RunFacts& facts = model.run().facts;
    const QString of = facts.targetIndex.empty() ? QString() : model.className(facts.targetIndex.front());
    const QString value = facts.targetValue.isValid() ? model.label(facts.targetValue) : QString();
    return (of.isEmpty() ? value : of) + QStringLiteral(", ") + QString::fromStdString(facts.start);
}

void addChanges(const RunModel& before, const RunModel& after, RunPair& pair)
{
    const trace::RunFacts& a = before.run().facts;
    const trace::RunFacts& b = after.run().facts;
    const auto arrow = [](const QString& what, const std::string& from, const std::string& to) {
        const QString none = pairText("none");
        return QStringLiteral("%1: %2 → %3")
            .arg(what, from.empty() ? none : QString::fromStdString(from),
                 to.empty() ? none : QString::fromStdString(to));
    };
    if (a.modelName != b.modelName) {
        pair.changes << arrow(pairText("Model"), a.modelName, b.modelName);
    } else if (trace::areOtherFiles(a, b)) {
        pair.changes << pairText("Model: two files of this name that differ");
    } else if (graph::structuralHash(before.graph()) != graph::structuralHash(after.graph())) {
        pair.changes
            << pairText("Rewrites: %1 → %2 nodes").arg(before.graph().nodeCount()).arg(after.graph().nodeCount());
    }
    if (const QString input = inputChange(before, after); !input.isEmpty()) {
        pair.changes << input;
    }
    if (a.composite != b.composite) {
        pair.changes << arrow(pairText("Rules"), a.composite, b.composite);
    }
    const auto asked = trace::askedOtherwise(before.run(), after.run());
    const auto isAsked = [&asked](const char* what) {
        return std::ranges::any_of(asked, [what](const trace::AskedOtherwise& one) { return one.what == what; });
    };
    if (isAsked("target") || isAsked("start")) {
        pair.changes << arrow(pairText("Question"), targetWords(before).toStdString(),
                              targetWords(after).toStdString());
    }
    if (isAsked("conditions")) {
        pair.changes << arrow(pairText("Conditions"), a.conditions, b.conditions);
    }
    if (!asked.empty()) {
        pair.question = pairText("These are two questions: A explains %1, B explains %2. How their relevance differs "
                                 "is no change of one answer.")
                            .arg(targetWords(before), targetWords(after));
    }
    if (a.precision != b.precision) {
        pair.changes << arrow(pairText("Precision"), a.precision, b.precision);
    }
    if (pair.changes.isEmpty()) {
        pair.changes << pairText("Nothing differs: same model, input, rules and question");
    }
}

} // namespace

RunPair comparePair(const RunModel& before, const RunModel& after, const QString& value)
{
    RunPair pair;
    const base::ValueId there = shownValue(after, value);
    pair.value = there.isValid() ? after.label(there) : QString();
    pair.before = sideOf(before, shownValue(before, pair.value));
    pair.after = sideOf(after, there);
    pair.limit = limitOf(pair.before.plane, pair.after.plane);
    if (pair.before.plane.width == pair.after.plane.width && pair.before.plane.height == pair.after.plane.height) {
        pair.difference = pair.after.plane;
        for (std::size_t i = 0; i < pair.difference.values.size(); ++i) {
            pair.difference.values[i] -= pair.before.plane.values[i];
        }
    }
    addClasses(before, after, pair);
    addLedger(before, after, pair);
    addChanges(before, after, pair);
    const QString positive = pairText("Its positive relevance goes from %1 to %2.")
                                 .arg(valueText(pair.before.positive), valueText(pair.after.positive));
    pair.meaning = pair.meaning.isEmpty() ? positive : pair.meaning + QLatin1Char(' ') + positive;
    return pair;
}

} // namespace retro::views
