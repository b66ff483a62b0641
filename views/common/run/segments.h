// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "views/common/viewcontext.h"

#include <QLineF>
#include <QList>

#include <cstdint>
#include <optional>
#include <vector>

namespace retro::views
{

/// The output of a run whose sample 0 has a row of classes for each pixel: which class wins where. Of equal scores the
/// first class wins, as for --target segment=K. Immutable; see RunDerived.
class Segments
{
public:
    /// One class that wins somewhere.
    struct One
    {
        std::int64_t index = 0;  ///< of the class
        std::int64_t places = 0; ///< at which it wins
        double score = 0;        ///< Σ of its scores there
    };

    Segments() = default;
    explicit Segments(const trace::Run& run);

    /// The output is none of that kind: two axes of places, and more than one class.
    [[nodiscard]] bool isEmpty() const { return m_classAt.empty(); }
    /// The output: the explained one, else what maskValue() found.
    [[nodiscard]] base::ValueId value() const { return m_value; }
    [[nodiscard]] int width() const { return m_width; }
    [[nodiscard]] int height() const { return m_height; }
    /// The class that wins at a pixel; −1 where no score is a number.
    [[nodiscard]] int classAt(int x, int y) const
    {
        return m_classAt[static_cast<std::size_t>(y) * static_cast<std::size_t>(m_width) + static_cast<std::size_t>(x)];
    }
    /// Number of classes that the output has.
    [[nodiscard]] std::int64_t classes() const { return m_classes; }
    /// Those that win somewhere, the one with the most places first.
    [[nodiscard]] const std::vector<One>& found() const { return m_found; }
    /// The segment that the run explains, or that of the class it explains in a row of the same classes; none where it
    /// explains something else.
    [[nodiscard]] std::optional<std::int64_t> asked() const { return m_asked; }
    /// The edges of a class in pixels of the output; of every class where `wanted` is none.
    [[nodiscard]] QList<QLineF> outline(std::optional<std::int64_t> wanted) const;

private:
    base::ValueId m_value;
    int m_width = 0;
    int m_height = 0;
    std::int64_t m_classes = 0;
    std::vector<int> m_classAt;
    std::vector<One> m_found;
    std::optional<std::int64_t> m_asked;
};

/// The output with a row of classes for each pixel: the explained value, else, where that has no places of its own, the
/// first such output of the graph. Invalid: none. Costs no look at numbers.
[[nodiscard]] base::ValueId maskValue(const trace::Run& run);

/// The label of a class, or "class 3"; without the place that RunModel::className() tells of dense outputs.
[[nodiscard]] QString classLabel(const RunModel& model, std::int64_t index);

} // namespace retro::views
