// SPDX-License-Identifier: Apache-2.0
// Padding: with a value, or with elements of the operand.
#include "core/tape/gradientgraph/emitrule.h"

#include <algorithm>
#include <numeric>

namespace retro::tape
{

namespace
{

using Widths = std::vector<std::int64_t>;
using tensor::Shape;

/// Per axis what was added at the start and at the end; negative where something was cut off.
struct Padding
{
    Widths before;
    Widths after;
};

/// Widths are an operand from operator set 11 on, axes may be named from 18 on.
std::optional<Padding> paddingOf(const EmitSite& site)
{
    const std::optional<Widths> given = site.node.opset < 11 ? site.integers("pads", {}) : site.known(1);
    Widths axes(site.shape(0).size());
    std::iota(axes.begin(), axes.end(), 0);
    const bool namesAxes = site.node.opset >= 18 && site.has(3);
    const std::optional<Widths> named = namesAxes ? site.known(3) : std::optional(axes);
    if (!given || !named || given->size() != 2 * named->size()) {
        return std::nullopt;
    }
    Padding padding{Widths(axes.size(), 0), Widths(axes.size(), 0)};
    for (std::size_t i = 0; i < named->size(); ++i) {
        const std::int64_t axis = (*named)[i] + ((*named)[i] < 0 ? static_cast<std::int64_t>(axes.size()) : 0);
        padding.before[static_cast<std::size_t>(axis)] = (*given)[i];
        padding.after[static_cast<std::size_t>(axis)] = (*given)[named->size() + i];
    }
    return padding;
}

std::string knowsWidths(const EmitSite& site)
{
    return paddingOf(site) ? "" : "its widths or axes are not known before the run; export it with constant ones";
}

/// Zeros, or a value that is constant, around axes whose extents are known.
bool knowsPaddedAxes(const EmitSite& site)
{
    const Padding padding = *paddingOf(site);
    for (std::size_t axis = 0; axis < padding.before.size(); ++axis) {
        if (site.isFree(0, axis) && (padding.before[axis] != 0 || padding.after[axis] != 0)) {
            return false;
        }
    }
    return site.text("mode", "constant") == "constant" && !site.wants(2);
}

/// What was added is cut off, what was cut off comes back as zeros.
ValueId withoutPadding(EmitSite& site, const Padding& padding)
{
    Widths starts;
    Widths ends;
    Widths axes;
    Padding lost;
    for (std::size_t axis = 0; axis < padding.before.size(); ++axis) {
        lost.before.push_back(std::max<std::int64_t>(-padding.before[axis], 0));
        lost.after.push_back(std::max<std::int64_t>(-padding.after[axis], 0));
        if (padding.before[axis] == 0 && padding.after[axis] == 0) {
            continue;
        }
        const std::int64_t made = site.outputShape()[axis];
        axes.push_back(static_cast<std::int64_t>(axis));
        starts.push_back(std::clamp<std::int64_t>(padding.before[axis], 0, made));
        ends.push_back(std::max(starts.back(), made - std::max<std::int64_t>(padding.after[axis], 0)));
    }
    const ValueId inside = axes.empty() ? site.up() : site.emit.slice(site.up(), starts, ends, axes);
    const auto isNothing = [](const Widths& widths) {
        return std::ranges::all_of(widths, [](std::int64_t width) { return width == 0; });
    };
    return isNothing(lost.before) && isNothing(lost.after) ? inside : site.emit.pad(inside, lost.before, lost.after);
}

/// The element that stands at position i, counted from the first of what is continued, in modes edge, wrap and reflect.
std::int64_t sourceOf(std::string_view mode, std::int64_t i, std::int64_t extent)
{
    if (mode == "edge") {
        return std::clamp<std::int64_t>(i, 0, extent - 1);
    }
    const std::int64_t period = mode == "wrap" ? extent : std::max<std::int64_t>(2 * (extent - 1), 1);
    const std::int64_t inside = (i % period + period) % period;
    return inside < extent ? inside : period - inside;
}

/// Axis by axis the sum of what arrives wherever an element stands, as a product with flags. What negative widths cut
/// off is not continued.
ValueId gathered(EmitSite& site, const Padding& padding, const std::string& mode)
{
    ValueId part = site.up();
    Shape shape = site.outputShape();
    for (std::size_t axis = 0; axis < shape.size(); ++axis) {
        if (padding.before[axis] == 0 && padding.after[axis] == 0) {
            continue;
        }
        const std::int64_t extent = site.shape(0)[axis];
        const std::int64_t first = std::max<std::int64_t>(-padding.before[axis], 0);
        const std::int64_t kept = extent - first - std::max<std::int64_t>(-padding.after[axis], 0);
        const std::int64_t before = std::max<std::int64_t>(padding.before[axis], 0);
        std::vector<double> flags(static_cast<std::size_t>(extent * shape[axis]), 0);
        for (std::int64_t i = 0; i < shape[axis]; ++i) {
            const std::int64_t source = first + sourceOf(mode, i - before, kept);
            flags[static_cast<std::size_t>(source * shape[axis] + i)] = 1;
        }
        part = site.emit.alongAxis(part, shape, axis, flags, extent);
        shape[axis] = extent;
    }
    return part;
}

EmittedParts padding(EmitSite& site)
{
    const Padding widths = *paddingOf(site);
    const std::string mode = site.text("mode", "constant");
    EmittedParts parts(site.operands.size());
    parts[0] = mode == "constant" ? withoutPadding(site, widths) : gathered(site, widths, mode);
    if (site.wants(2)) { // the value stands wherever the operand does not; nowhere where the operand is continued
        Widths axes(site.shape(0).size());
        std::iota(axes.begin(), axes.end(), 0);
        const auto total = [&](ValueId value) { return site.emit.reduce("ReduceSum", value, axes); };
        const ValueId inside = total(mode == "constant" ? parts[0] : site.up());
        const ValueId rest = site.emit.node("Sub", {total(site.up()), inside});
        parts[2] = site.emit.reshape(rest, site.shape(2));
    }
    return parts;
}

} // namespace

const EmitRules kPadRules{{"Pad", knowsWidths, padding, kAllSlots, knowsPaddedAxes}};

} // namespace retro::tape
