// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/trace/run.h"
#include "views/common/paint/plane.h"

#include <QString>

#include <memory>
#include <optional>
#include <vector>

namespace retro::views
{

/// An element of a value through which relevance came: way · relevance = part.
struct HistoryPart
{
    std::vector<std::int64_t> index;
    double relevance = 0;
    double way = 0; ///< part of one unit of relevance there that reaches the element asked about
    double part = 0;
};

/// What one channel (or position) of a value handed on.
struct HistoryShare
{
    std::int64_t index = 0;
    double part = 0;
};

/// A value on the way from the target to the element.
struct HistoryLayer
{
    base::ValueId value;
    base::NodeId node; ///< that made it
    double sum = 0;    ///< Σ of the parts
    bool isWhole = true;
    std::int64_t elements = 0;
    std::vector<HistoryPart> largest;   ///< by size, descending
    std::vector<HistoryShare> channels; ///< by size, descending; empty for vectors
    Plane where;                        ///< parts in the plane of a picture value; else empty
    QString rule;
    QString formula;
    std::optional<std::uint64_t> position; ///< events applied when its relevance is known in full
};

/// The last step, by one of the nodes that read the value.
struct HistoryStep
{
    base::NodeId node;
    std::vector<std::int64_t> from;
    QString rule;
    QString formula;
    std::vector<std::pair<QString, double>> numbers;
    double part = 0; ///< what came from there
    double all = 0;  ///< what came from the node altogether
};

/// How the relevance of one element (or of the elements along an axis) came to be, for views.
struct HistoryFacts
{
    std::shared_ptr<const trace::Run> run; ///< that it is of
    base::ValueId value;
    std::vector<std::int64_t> index; ///< −1 = all along the axis
    double relevance = 0;
    double start = 0;
    std::vector<HistoryLayer> layers; ///< from the target down to the value
    std::vector<HistoryStep> last;
    QString needs;    ///< what the run lacks for the layers above the value; empty = nothing
    double apart = 0; ///< largest difference between the sums of whole layers, of Σ|part|
    double seconds = 0;
};
using HistoryPointer = std::shared_ptr<const HistoryFacts>;

/// "0,3,12,86", with * for all along an axis.
[[nodiscard]] inline QString placeText(const std::vector<std::int64_t>& index)
{
    QString text;
    for (const std::int64_t i : index) {
        text += (text.isEmpty() ? QString() : QStringLiteral(",")) + (i < 0 ? QStringLiteral("*") : QString::number(i));
    }
    return text;
}

} // namespace retro::views
