// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "views/heatmap/heatmapsource.h"

#include <memory>

namespace retro::views
{

/// A run beside the one on screen, at its end, for the heatmap to be wiped against. GUI thread.
class OtherRun
{
public:
    OtherRun(RunHandle handle, InputInfo input, QString name);

    [[nodiscard]] const QString& name() const { return m_name; }
    [[nodiscard]] const std::shared_ptr<const trace::Run>& run() const { return m_run; }
    /// Lays this run's heatmap of the value of the same name into a figure of the run on screen: on the right of the
    /// line at `place` (share of the width), both with one scale. Gives back why that cannot be, in words; empty =
    /// done.
    [[nodiscard]] QString wipe(HeatmapFigure& figure, const RunModel& here, const HeatmapContent& content,
                               const HeatmapSettings& settings, double place) const;

private:
    std::shared_ptr<const trace::Run> m_run;
    Cursor m_cursor;
    RunModel m_model;
    QString m_name;
};

/// A run in few words: "mug, epsilon_plus_flat".
[[nodiscard]] QString shortNameOf(const RunModel& model);

} // namespace retro::views
