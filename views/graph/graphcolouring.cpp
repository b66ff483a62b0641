// SPDX-License-Identifier: Apache-2.0
#include "views/graph/graphcolouring.h"

#include "views/common/numbertext.h"
#include "views/graph/checkcolouring.h"
#include "views/graph/graphtranslation.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <string_view>

namespace retro::views
{

using layout::Index;

namespace
{

constexpr std::size_t kNamed = 5;   // classes with a name of their own
constexpr std::size_t kOthers = 5;  // what is left
constexpr std::size_t kNoGroup = 7; // nodes without a rule; no row in the ledger yet

// By ledger.
enum Loss : std::size_t { Nothing = 0, Little = 1, Some = 2, Much = 3, Gained = 4, NoRow = kNoGroup };
constexpr double kTint = 0.22;   // of a class in the ground of its boxes: text on it stays readable
constexpr double kLittle = 1e-3; // shares of what the run began with
constexpr double kSome = 1e-2;
constexpr double kMuch = 1e-1;

/// What names the class of a node; empty = none.
std::string_view className(ColourBy by, const GraphBook& book, std::size_t node)
{
    if (by == ColourBy::Operator) {
        return book.graph->opOf(base::NodeId(node));
    }
    if (node >= book.run->rules.size()) {
        return {};
    }
    const trace::NodeRule& rule = book.run->rules[node];
    return by == ColourBy::Matcher ? rule.matcher : rule.rule;
}

/// Words by their number, the most frequent first; equals by the alphabet.
std::vector<std::string_view> rankedWords(ColourBy by, const GraphBook& book)
{
    std::map<std::string_view, Index> counts;
    for (std::size_t node = 0; node < book.graph->runNodeCount(); ++node) {
        if (const std::string_view word = className(by, book, node); !word.empty()) {
            ++counts[word];
        }
    }
    std::vector<std::string_view> words;
    for (const auto& [word, count] : counts) {
        words.push_back(word);
    }
    std::stable_sort(words.begin(), words.end(),
                     [&](std::string_view a, std::string_view b) { return counts.at(a) > counts.at(b); });
    return words;
}

/// Adds one per node to the class of its box.
template <class ClassOf>
void countClasses(const GraphScene& scene, ClassOf classOf, Colouring& out)
{
    out.boxes.assign(scene.visible.nodes.size(), ClassCounts{});
    for (std::size_t node = 0; node < scene.visible.visibleOf.size(); ++node) {
        if (const Index box = scene.visible.visibleOf[node]; box != layout::kNone) {
            ++out.boxes[static_cast<std::size_t>(box)][classOf(node)];
        }
    }
}

void colourByWord(const GraphScene& scene, Colouring& out)
{
    const std::vector<std::string_view> words = rankedWords(out.by, *scene.book);
    std::map<std::string_view, std::size_t> classes;
    out.names.assign(kColourClasses, {});
    for (std::size_t i = 0; i < words.size(); ++i) {
        classes[words[i]] = std::min(i, kOthers);
        if (i < kNamed) {
            out.names[i] = QString::fromUtf8(words[i]);
        }
    }
    if (words.size() > kNamed) {
        out.names[kOthers] = graphText("%1 others").arg(words.size() - kNamed);
    }
    out.names[kNoGroup] = out.by == ColourBy::Operator ? QString() : graphText("no rule");
    countClasses(
        scene,
        [&](std::size_t node) {
            const std::string_view word = className(out.by, *scene.book, node);
            return word.empty() ? kNoGroup : classes.at(word);
        },
        out);
}

Loss lossOf(double share)
{
    if (std::isnan(share)) {
        return NoRow;
    }
    if (share <= -kLittle) {
        return Gained;
    }
    if (share < kLittle) {
        return Nothing;
    }
    return share < kSome ? Little : share < kMuch ? Some : Much;
}

/// Per node: what was lost there by the rows up to a state, as a share of what the run began with.
std::vector<double> lostShares(const GraphBook& book, const trace::RunState* state)
{
    std::vector<double> shares(book.graph->runNodeCount(), std::numeric_limits<double>::quiet_NaN());
    const std::size_t rows = state != nullptr ? std::min<std::size_t>(state->ledgerRows, book.run->ledger.size()) : 0;
    for (std::size_t row = 0; row < rows && book.relevanceStart != 0; ++row) {
        const event::LedgerEntry& entry = book.run->ledger[row];
        if (entry.node < shares.size()) {
            double& share = shares[entry.node];
            share = (std::isnan(share) ? 0 : share) + (entry.arrived - entry.handedOn) / book.relevanceStart;
        }
    }
    return shares;
}

void colourByLedger(const GraphScene& scene, const trace::RunState* state, Colouring& out)
{
    out.names = {graphText("below 0.1 % lost"),
                 graphText("0.1 – 1 % lost"),
                 graphText("1 – 10 % lost"),
                 graphText("over 10 % lost"),
                 graphText("gained"),
                 {},
                 {},
                 state != nullptr && state->ledgerRows >= scene.book->run->ledger.size() ? graphText("nothing")
                                                                                         : graphText("nothing yet")};
    const std::vector<double> shares = lostShares(*scene.book, state);
    out.shares.assign(scene.visible.nodes.size(), std::numeric_limits<double>::quiet_NaN());
    for (std::size_t node = 0; node < shares.size(); ++node) {
        const Index box = scene.visible.visibleOf[node];
        if (box != layout::kNone && !std::isnan(shares[node])) {
            double& sum = out.shares[static_cast<std::size_t>(box)];
            sum = (std::isnan(sum) ? 0 : sum) + shares[node];
        }
    }
    // A group is coloured by its sum: its members' shares add up to it.
    out.boxes.assign(scene.visible.nodes.size(), ClassCounts{});
    for (std::size_t box = 0; box < out.boxes.size(); ++box) {
        out.boxes[box][lossOf(out.shares[box])] = scene.visible.nodes[box].memberCount;
    }
}

/// Every class that has a name and a box.
void findLegend(Colouring& out)
{
    ClassCounts sums{};
    for (const ClassCounts& counts : out.boxes) {
        for (std::size_t which = 0; which < counts.size(); ++which) {
            sums[which] += counts[which];
        }
    }
    for (std::size_t which = 0; which < out.names.size(); ++which) {
        if (!out.names[which].isEmpty() && (sums[which] > 0 || out.by == ColourBy::Ledger)) {
            out.legend.push_back(which);
        }
    }
}

} // namespace

QColor blended(const QColor& over, const QColor& under, double share)
{
    const auto channel = [share](int a, int b) { return static_cast<int>(std::lround(a * share + b * (1 - share))); };
    return {channel(over.red(), under.red()), channel(over.green(), under.green()), channel(over.blue(), under.blue())};
}

QString wordOf(ColourBy by)
{
    constexpr std::array kWords{QT_TRANSLATE_NOOP("retro::views::GraphView", "mode"),
                                QT_TRANSLATE_NOOP("retro::views::GraphView", "rule"),
                                QT_TRANSLATE_NOOP("retro::views::GraphView", "ledger"),
                                QT_TRANSLATE_NOOP("retro::views::GraphView", "operator"),
                                QT_TRANSLATE_NOOP("retro::views::GraphView", "matcher"),
                                QT_TRANSLATE_NOOP("retro::views::GraphView", "gradient check"),
                                QT_TRANSLATE_NOOP("retro::views::GraphView", "float error"),
                                QT_TRANSLATE_NOOP("retro::views::GraphView", "gradient path"),
                                QT_TRANSLATE_NOOP("retro::views::GraphView", "findings"),
                                QT_TRANSLATE_NOOP("retro::views::GraphView", "region")};
    return graphText(kWords[static_cast<std::size_t>(by)]);
}

std::size_t mainClass(const ClassCounts& counts)
{
    return static_cast<std::size_t>(std::max_element(counts.begin(), counts.end()) - counts.begin());
}

QColor classColor(const Colouring* colouring, std::size_t which, const Theme& theme)
{
    if (colouring == nullptr) {
        return theme.mode(static_cast<event::Mode>(which)).line; // ghost when not visited
    }
    if (colouring->by == ColourBy::Ledger) {
        constexpr std::array kShares{0.0, 0.35, 0.65, 1.0};
        if (which == Gained) {
            return theme[Role::FulfilLine];
        }
        return which < kShares.size() ? blended(theme[Role::AlarmLine], theme[Role::Grid], kShares[which])
                                      : theme[Role::Base];
    }
    if (colouring->by == ColourBy::Check || colouring->by == ColourBy::Ulp || colouring->by == ColourBy::Finding ||
        colouring->by == ColourBy::Region) {
        return checkColor(colouring->by, which, theme);
    }
    constexpr std::array kRoles{Role::FulfilLine, Role::SearchLine, Role::Accent, Role::Ink, Role::Keep, Role::Ghost};
    return theme[which < kRoles.size() ? kRoles[which] : Role::Base];
}

QColor classTint(const Colouring* colouring, std::size_t which, const Theme& theme)
{
    return colouring == nullptr ? theme.mode(static_cast<event::Mode>(which)).tint
                                : blended(classColor(colouring, which, theme), theme[Role::Base], kTint);
}

QString classSign(ColourBy by, std::size_t which)
{
    if (by == ColourBy::Finding) {
        return findingSign(which);
    }
    const bool hasFigure =
        by == ColourBy::Ledger || by == ColourBy::Check || by == ColourBy::Ulp || by == ColourBy::Region;
    const bool hasSign = !hasFigure && which < kNamed;
    return hasSign ? QString::number(which + 1) : QString();
}

QString classText(const Colouring& colouring, const GraphScene& scene, Index box)
{
    const layout::VisibleNode& node = scene.visible.nodes[static_cast<std::size_t>(box)];
    if (colouring.by == ColourBy::Ledger) {
        const double share = colouring.shares[static_cast<std::size_t>(box)];
        return std::isnan(share) ? QString() : percentText(share, std::abs(share) < kSome ? 2 : 1);
    }
    if (isOfChecks(colouring.by)) {
        return checkText(colouring, box);
    }
    return node.isGroup()
               ? QString()
               : QString::fromUtf8(className(colouring.by, *scene.book, static_cast<std::size_t>(node.node)));
}

std::shared_ptr<const Colouring> makeColouring(ColourBy by, const GraphScene& scene, const trace::RunState* state,
                                               const GraphChecks& checks)
{
    if (by == ColourBy::Mode) {
        return nullptr;
    }
    auto out = std::make_shared<Colouring>();
    out->by = by;
    if (by == ColourBy::Ledger) {
        colourByLedger(scene, state, *out);
    } else if (isOfChecks(by)) {
        colourByChecks(scene, checks, *out);
    } else {
        colourByWord(scene, *out);
    }
    findLegend(*out);
    return out;
}

} // namespace retro::views
