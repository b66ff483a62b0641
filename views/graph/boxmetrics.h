// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <string_view>

namespace retro::views
{

/// Lengths of boxes in scene units (one unit = one pixel at zoom 1) and widths of characters. Made once on the GUI
/// thread; after that plain numbers, so that boxes can be measured on any thread: a text is as wide as the sum of its
/// characters, which costs a table look-up each.
struct BoxMetrics
{
    double scale = 1;        ///< of the present font size; every other length contains it
    double height = 26;      ///< of every box
    double leastNode = 168;  ///< least width of a node
    double leastGroup = 208; ///< least width of a closed group
    double letterRoom = 26;  ///< from the left border to the name: mode letter
    double textGap = 8;      ///< least distance of name and shape
    double padding = 8;      ///< from the text to the right border
    double badgeRoom = 22;   ///< one badge, with its distance
    double longestName = 220;
    double card = 86; ///< width of a card
    double cardHeight = 118;
    double groupCard = 146; ///< width of a closed group's card
    double pill = 22;       ///< height of a node that hands relevance on unchanged

    /// Reads the fonts of the application. GUI thread.
    [[nodiscard]] static BoxMetrics ofFonts();

    /// Width of a name, at most `longestName` (longer ones are elided).
    [[nodiscard]] double nameWidth(std::string_view name) const;
    /// Width of a node's box.
    [[nodiscard]] double nodeWidth(std::string_view name, std::string_view shape) const;
    /// Width of a pill with that name.
    [[nodiscard]] double pillWidth(std::string_view name) const;
    /// Width of a closed group's box; `detail` is "19 nodes".
    [[nodiscard]] double groupWidth(std::string_view name, std::string_view detail) const;

private:
    using Advances = std::array<float, 128>;
    [[nodiscard]] static double widthOf(std::string_view text, const Advances& advances);

    Advances m_name{};  // element 0 stands for every character beyond ASCII
    Advances m_shape{}; // figures of shapes
    Advances m_small{}; // words at the right end of a group
};

} // namespace retro::views
