// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/trace/run.h"
#include "kernels/lut/schedule.h"

#include <cstdint>
#include <optional>
#include <vector>

namespace retro::views
{

/// A launch that a run recorded.
struct RunLaunch
{
    std::uint64_t position = 0; ///< number of events up to and with it
    lut::Pass pass = lut::Pass::Forward;
    std::size_t place = 0;         ///< in the schedule of the pass
    std::optional<double> seconds; ///< that it took; none in files that do not say
    bool operator==(const RunLaunch&) const = default;
};

/// The launch that ran last at a position: the one that the kernels of a layer stand at; none before the first.
/// `launches` is ordered by position.
[[nodiscard]] std::optional<RunLaunch> latestLaunch(const std::vector<RunLaunch>& launches, std::uint64_t position);

/// The launch that shows a kernel at a position: the last of it by then, else its first; none when it never ran. A pass
/// that a schedule works out again launches its kernels again. `launches` is ordered by position.
[[nodiscard]] std::optional<RunLaunch> shownLaunch(const std::vector<RunLaunch>& launches, lut::Pass pass,
                                                   std::size_t place, std::uint64_t position);

/// A LUT node of a run.
struct LutLayer
{
    base::NodeId node;
    lut::ScheduleRequest request; ///< fused, forward; its batch is all leading axes of the input
    std::vector<RunLaunch> launches;
    lut::Path path = lut::Path::Fused; ///< that ran
    bool knowsGroups = true;           ///< false: sparse, and the run file left the row starts out

    /// The passes that ran, in order; forward alone when nothing was recorded.
    [[nodiscard]] std::vector<lut::Pass> passes() const;
    /// The launch that a position is right behind; none elsewhere.
    [[nodiscard]] std::optional<RunLaunch> launchAt(std::uint64_t position) const;
};

/// The LUT layers of a run, in the order of the graph, and what each launched. Immutable.
class LutRun
{
public:
    LutRun() = default;
    explicit LutRun(const trace::Run& run);

    [[nodiscard]] const std::vector<LutLayer>& layers() const { return m_layers; }
    /// The layer of a node; null when it is none.
    [[nodiscard]] const LutLayer* find(base::NodeId node) const;

private:
    void takeLaunch(const event::Event& event, std::uint64_t position);

    std::vector<LutLayer> m_layers;
};

} // namespace retro::views
