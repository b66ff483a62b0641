// SPDX-License-Identifier: Apache-2.0
#include "core/diagnosis/attentionmaps.h"
#include "core/diagnosis/checks/checks.h"
#include "core/diagnosis/numbertext.h"
#include "core/diagnosis/siblings.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

namespace retro::diagnosis
{

namespace
{

/// Weight on keys that the other layers of a stack hide: > 0.
constexpr double kMostOnHidden = 0;
constexpr double kMaskBase = 2.6;
constexpr double kMaskEffect = 0.5;
/// Layers that say what is usual; of two layers that contradict each other the one that sees more of what the other
/// hides is named.
constexpr std::size_t kLeastUsualLayers = 2;

/// Share of the weight of `map` on keys that are hidden elsewhere.
double weightOn(const AttentionMap& map, const std::vector<bool>& isHidden)
{
    double on = 0;
    for (std::size_t i = 0; i < map.mean.size(); ++i) {
        on += isHidden[i % isHidden.size()] ? map.mean[i] : 0;
    }
    const double all = std::accumulate(map.mean.begin(), map.mean.end(), 0.0);
    return all > 0 ? on / all : 0;
}

/// "0 … 7", "3", "0, 2, 5 and 9 more".
std::string keysText(const std::vector<bool>& isChosen)
{
    std::vector<std::size_t> keys;
    for (std::size_t i = 0; i < isChosen.size(); ++i) {
        if (isChosen[i]) {
            keys.push_back(i);
        }
    }
    if (keys.size() > 1 && keys.back() - keys.front() + 1 == keys.size()) {
        return fmt::format("{} … {}", keys.front(), keys.back());
    }
    constexpr std::size_t kMostNamed = 4;
    const std::size_t more = keys.size() - std::min(keys.size(), kMostNamed);
    keys.resize(keys.size() - more);
    return fmt::format("{}{}", fmt::join(keys, ", "), more == 0 ? std::string() : fmt::format(" and {} more", more));
}

/// Which keys each layer hides, as text: '#' for hidden.
std::vector<std::string> patternsOf(const std::vector<AttentionMap>& layers)
{
    std::vector<std::string> patterns;
    for (const AttentionMap& map : layers) {
        std::string pattern;
        for (const bool isHidden : map.hiddenKeys()) {
            pattern += isHidden ? '#' : '.';
        }
        patterns.push_back(std::move(pattern));
    }
    return patterns;
}

/// The layer that stands alone; of two that differ the one that looks at more of what the other hides.
std::optional<std::size_t> oddLayer(const std::vector<AttentionMap>& layers)
{
    const std::vector<std::string> patterns = patternsOf(layers);
    if (layers.size() != 2) {
        return oddOneOf(patterns, kLeastUsualLayers);
    }
    if (patterns[0] == patterns[1]) {
        return std::nullopt;
    }
    const double first = weightOn(layers[0], layers[1].hiddenKeys());
    return first > weightOn(layers[1], layers[0].hiddenKeys()) ? 0 : 1;
}

void reportMask(const Facts& facts, const AttentionMap& map, const AttentionMap& usual, std::size_t others,
                Probe& probe)
{
    const std::vector<bool> isHidden = usual.hiddenKeys();
    const std::vector<bool> own = map.hiddenKeys();
    const double share = weightOn(map, isHidden);
    probe.measured(map.name, share);
    if (!(share > kMostOnHidden)) {
        return; // it hides more
    }
    Place place = facts.place(map.node);
    place.name = map.name;
    Finding& finding = probe.warning(kMaskBase, kMaskEffect + share / 2, std::move(place));
    finding.what = fmt::format("gives {} of its weight to positions {}, which {} hide{} by a mask", percentText(share),
                               keysText(isHidden), others == 1 ? usual.name : fmt::format("the {} others", others),
                               others == 1 ? "s" : "");
    const bool isInverted = std::ranges::equal(own, isHidden, [](bool a, bool b) { return a != b; });
    finding.means = isInverted ? "Its mask is inverted: it attends to padding and hides the text."
                               : "Its mask is missing or another one: relevance reaches padding.";
    finding.remedy = "Compare how its mask is made with the other layers";
    finding.numbers = {{"share_on_hidden_keys", share}};
    finding.threshold = kMostOnHidden;
    finding.chart = mapOf("Weight of each position (row) on the others, all heads", map.mean, isHidden.size(), false);
    finding.action = {"go to node", {{"node", facts.graph().labelOf(map.node)}}, {}};
}

void findMasks(const Facts& facts, Probe& probe)
{
    for (const std::vector<AttentionMap>& layers : attentionStacks(facts)) {
        const std::optional<std::size_t> odd = layers.size() > 1 ? oddLayer(layers) : std::nullopt;
        for (std::size_t i = 0; i < layers.size(); ++i) {
            if (i == odd) {
                reportMask(facts, layers[i], layers[i == 0 ? 1 : 0], layers.size() - 1, probe);
            } else {
                probe.measured(layers[i].name, 0);
            }
        }
    }
}

} // namespace

const Check attentionMask{
    "attention.mask", "weight of an attention on positions that the other layers of its stack hide",
    kMostOnHidden,    "0",
    Need::Forward,    true,
    findMasks};

} // namespace retro::diagnosis
