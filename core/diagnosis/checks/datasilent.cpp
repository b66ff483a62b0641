// SPDX-License-Identifier: Apache-2.0
#include "core/diagnosis/checks/checks.h"
#include "core/diagnosis/numbertext.h"
#include "core/diagnosis/population.h"

#include <fmt/format.h>

#include <algorithm>

namespace retro::diagnosis
{

namespace
{

/// Channels of a rectifier that are 0 for every input of a folder, of all: a note from half of them on, a warning where
/// none fires. With fewer channels, or few inputs, it is so by chance.
constexpr double kMostSilent = 0.5;
constexpr std::size_t kLeastChannels = 8;
constexpr double kSilentBase = 2.3;

void findSilent(const Facts& facts, Probe& probe)
{
    const Population& all = *facts.sources().population;
    if (all.watchedSamples < kLeastOfFolder) {
        return probe.notRun("there are too few inputs");
    }
    for (const Watched& watched : all.watched) {
        if (watched.as != WatchedAs::Rectified || watched.channels.size() < kLeastChannels) {
            continue;
        }
        const auto silent =
            static_cast<std::size_t>(std::ranges::count(watched.channels, std::int64_t{0}, &ChannelSums::fired));
        const double share = static_cast<double>(silent) / static_cast<double>(watched.channels.size());
        probe.measured(watched.node, share);
        if (!(share > kMostSilent)) {
            continue;
        }
        const Place place{PlaceKind::Node, watched.node, facts.nodeOfPass(watched.node)};
        const bool isDead = silent == watched.channels.size();
        Finding& finding = isDead ? probe.warning(kSilentBase, share, place) : probe.note(share, place);
        finding.what = fmt::format("{} of {} channels are 0 for all of {} inputs", silent, watched.channels.size(),
                                   all.watchedSamples);
        finding.means = isDead ? "Nothing gets through here, whatever the input: no relevance either."
                               : "These channels take no part, whatever the input.";
        finding.remedy = "Look at the bias of the layer before, and at the statistics of its normalisation";
        finding.numbers = {{"share_silent", share}};
        finding.threshold = kMostSilent;
        finding.action = {"go to node", {{"node", watched.node}}, {}};
        std::vector<double> fired;
        for (const ChannelSums& channel : watched.channels) {
            fired.push_back(channel.count > 0 ? static_cast<double>(channel.fired) / static_cast<double>(channel.count)
                                              : 0);
        }
        finding.chart = barsOf("Share of elements that are not 0, by channel", std::move(fired), {});
    }
}

} // namespace

const Check dataSilent{"data.silent", "share of the channels of a rectifier that are 0 for every input of a folder",
                       kMostSilent,   "0 (one trained network; few were measured)",
                       Need::Folder,  true,
                       findSilent};

} // namespace retro::diagnosis
