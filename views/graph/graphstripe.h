// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/trace/run.h"
#include "core/trace/runstate.h"
#include "views/common/paint/theme.h"

#include <QRectF>

#include <array>
#include <cstdint>
#include <vector>

class QPainter;

namespace retro::views
{

/// All nodes of a graph in the order of execution, whatever groups are open: mode of the last visit, and log(1 + |R|)
/// of what arrived. For a drawing that runs sideways and is longer than its pane.
struct NodeStripe
{
    std::vector<event::Mode> modes;
    std::vector<float> heights; ///< 0 = nothing arrived
    base::NodeId now;           ///< that is being visited; invalid before the first visit and behind the last
};
/// A graph with fewer nodes needs none.
inline constexpr std::size_t kFewestForStripe = 61;
/// O(nodes of the graph).
[[nodiscard]] NodeStripe stripeOf(const trace::Run& run, const trace::RunState& state);

/// A column of pixels of the stripe: how many of its nodes were visited last in each mode, and the highest of them.
struct StripeColumn
{
    std::array<std::uint32_t, 4> counts{}; ///< by event::Mode; None = not visited yet
    float height = 0;                      ///< share of the highest of all
};
/// At most `most` columns over all nodes.
[[nodiscard]] std::vector<StripeColumn> stripeColumns(const NodeStripe& stripe, std::size_t most);

/// What is drawn: columns, and the part of the nodes that the pane shows.
struct StripePlace
{
    QRectF panel;    ///< names and columns
    double left = 0; ///< where the columns begin
    /// The columns.
    [[nodiscard]] QRectF track() const { return {left, panel.top(), panel.right() - left, panel.height()}; }
};
/// In a pane of a width, from a y on.
[[nodiscard]] StripePlace placeStripe(double width, double top);

/// The stripe, a frame around the nodes first … last (shares of all), and the lens from there to the pane below.
void paintStripe(QPainter& painter, const NodeStripe& stripe, const StripePlace& place, double first, double last,
                 const Theme& theme);

} // namespace retro::views
