// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "views/common/paint/theme.h"
#include "views/common/run/findingmarks.h"
#include "views/common/run/gradientreach.h"
#include "views/common/run/regionfacts.h"
#include "views/common/run/verification.h"
#include "views/graph/graphstatus.h"

#include <QString>

#include <array>
#include <cstdint>
#include <memory>
#include <vector>

namespace retro::views
{

/// What the colours of the boxes mean.
enum class ColourBy : std::uint8_t { Mode, Rule, Ledger, Operator, Matcher, Check, Ulp, Reach, Finding, Region };
inline constexpr std::array kColourings{ColourBy::Mode,    ColourBy::Rule,  ColourBy::Ledger, ColourBy::Operator,
                                        ColourBy::Matcher, ColourBy::Check, ColourBy::Ulp,    ColourBy::Reach,
                                        ColourBy::Finding, ColourBy::Region};

/// What was found out about nodes aside from the run; each may be null.
struct GraphChecks
{
    VerificationPointer verification;
    GradientReachPointer reach;
    FoundNodes found = nullptr; ///< by a diagnosis
    RegionPointer region{};     ///< of the run on screen: where its relevance ends
};

/// Boxes in the colours of something else than their modes. Immutable, made anew when the drawing changes, and (by
/// ledger) when the position does.
struct Colouring
{
    ColourBy by = ColourBy::Rule;
    std::vector<QString> names;      ///< per class; empty = does not occur
    std::vector<std::size_t> legend; ///< classes to be explained: those that occur; by ledger the whole scale
    std::vector<ClassCounts> boxes;  ///< per box: how many of its nodes are in each class
    /// By ledger: per box the share of the start that was lost there; NaN = no row yet. By check and ulp: the error or
    /// distance of its worst node; NaN = not checked. By region: the share of the region's relevance that passes it.
    std::vector<double> shares;
};

/// "mode", "rule", "ledger", "operator", "matcher" (what chose the rule), "gradient check" (reverse rules against
/// differences), "float error" (in ulp, against double), "gradient path" (what a gradient has to visit), "findings" (of
/// a diagnosis), "region" (what ends in the region that is marked).
[[nodiscard]] QString wordOf(ColourBy by);
/// `share` of one colour, the rest of another.
[[nodiscard]] QColor blended(const QColor& over, const QColor& under, double share);
/// The class of most nodes of a box, the first of several.
[[nodiscard]] std::size_t mainClass(const ClassCounts& counts);
/// Line and bar of a class, and the ground of a box below its text; by mode (no colouring) those of the modes.
[[nodiscard]] QColor classColor(const Colouring* colouring, std::size_t which, const Theme& theme);
[[nodiscard]] QColor classTint(const Colouring* colouring, std::size_t which, const Theme& theme);
/// The sign of a class inside a box, so that colour is never alone: "1" …; empty by ledger, where a figure stands.
[[nodiscard]] QString classSign(ColourBy by, std::size_t which);
/// What stands at the right end of a box: its rule, its operator, what chose its rule, the share lost; empty when there
/// is nothing to say.
[[nodiscard]] QString classText(const Colouring& colouring, const GraphScene& scene, layout::Index box);

/// Null for ColourBy::Mode, which needs none. `state` may be null (by ledger: no rows yet).
/// Rules, operators and matchers: the five most frequent have a class of their own. Ledger: how much of what the run
/// began with was lost at the node, rows up to the state only. The others need `checks`.
[[nodiscard]] std::shared_ptr<const Colouring>
makeColouring(ColourBy by, const GraphScene& scene, const trace::RunState* state, const GraphChecks& checks = {});

} // namespace retro::views
