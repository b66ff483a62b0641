// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/layout/geometry.h"

namespace retro::layout
{

/// Geometry of the small map: scene ↔ map. Uniform scale where the picture has a usable shape; a picture that would
/// become a thread (a chain of thousands of layers) is stretched across its thin side to kLeastShare of the map.
class Minimap
{
public:
    static constexpr double kLeastShare = 0.35;
    static constexpr double kLeastHandle =
        6.0; ///< the viewport frame never gets thinner than this, or it could not be dragged

    /// `scene`: bounds of the drawing; `map`: pixels that the map may use.
    Minimap(const Rect& scene, const Rect& map);

    /// From the scene to pixels of the map, and back.
    [[nodiscard]] Point toMap(Point scenePoint) const;
    [[nodiscard]] Point toScene(Point mapPoint) const;
    [[nodiscard]] Rect toMap(const Rect& sceneArea) const;
    /// The part of the scene that is on screen, as a frame inside the map.
    [[nodiscard]] Rect viewportFrame(const Rect& visibleScene) const;
    /// Where the drawing lies in the map: centred.
    [[nodiscard]] const Rect& picture() const { return m_picture; }

private:
    Rect m_scene;
    Rect m_map;
    Rect m_picture;
    double m_scaleX = 1.0;
    double m_scaleY = 1.0;
};

} // namespace retro::layout
