// SPDX-License-Identifier: Apache-2.0
#include "core/base/failure.h"
#include "core/ops/bind/operatorbase.h"
#include "core/ops/families.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <numeric>

namespace retro::ops
{

namespace
{

using tensor::DType;
using tensor::Shape;

/// A second of comparing; detectors with 25,000 boxes of 80 classes stay far below it.
constexpr std::int64_t kMostPairs = 500'000'000;

struct Suppression
{
    std::int64_t most = 0; ///< boxes per class
    double overlap = 0;    ///< a box that overlaps a chosen one by more is dropped
    double score = -std::numeric_limits<double>::infinity();
    bool isCentred = false; ///< boxes are centre and extent, not two corners
};

struct Box
{
    double top;
    double left;
    double bottom;
    double right;

    [[nodiscard]] double area() const { return (bottom - top) * (right - left); }
};

Box boxOf(const double* b, bool isCentred)
{
    if (isCentred) { // x, y, width, height
        return {b[1] - b[3] / 2, b[0] - b[2] / 2, b[1] + b[3] / 2, b[0] + b[2] / 2};
    }
    return {std::min(b[0], b[2]), std::min(b[1], b[3]), std::max(b[0], b[2]), std::max(b[1], b[3])};
}

/// Intersection over union.
double overlapOf(const Box& a, const Box& b)
{
    const double height = std::min(a.bottom, b.bottom) - std::max(a.top, b.top);
    const double width = std::min(a.right, b.right) - std::max(a.left, b.left);
    if (height <= 0 || width <= 0) {
        return 0;
    }
    return height * width / (a.area() + b.area() - height * width);
}

/// Boxes of one class, best first; of equal scores the first. Every pair that is compared is taken off `pairs`; where
/// none is left, what was chosen so far is returned.
std::vector<std::int64_t> chosen(const double* boxes, const double* scores, std::int64_t count,
                                 const Suppression& settings, std::int64_t& pairs)
{
    std::vector<std::int64_t> order(static_cast<std::size_t>(count));
    std::iota(order.begin(), order.end(), std::int64_t{0});
    std::erase_if(order, [&](std::int64_t i) { return !(scores[i] > settings.score); });
    std::stable_sort(order.begin(), order.end(), [&](std::int64_t a, std::int64_t b) { return scores[a] > scores[b]; });
    std::vector<std::int64_t> kept;
    std::vector<Box> keptBoxes;
    for (const std::int64_t candidate : order) {
        if (static_cast<std::int64_t>(kept.size()) >= settings.most || pairs <= 0) {
            break;
        }
        const Box box = boxOf(boxes + 4 * candidate, settings.isCentred);
        const auto over = std::find_if(keptBoxes.begin(), keptBoxes.end(),
                                       [&](const Box& other) { return overlapOf(box, other) > settings.overlap; });
        pairs -= over - keptBoxes.begin();
        if (over == keptBoxes.end()) {
            kept.push_back(candidate);
            keptBoxes.push_back(box);
        }
    }
    return kept;
}

/// (batch, class, box) of every chosen box. Errors (Engine): more than kMostPairs pairs of boxes are to be compared.
base::Result<Tensor> suppressed(const Tensor& boxes, const Tensor& scores, const Suppression& settings)
{
    const Tensor plainBoxes = boxes.to(DType::Float64).contiguous();
    const Tensor plainScores = scores.to(DType::Float64).contiguous();
    const std::int64_t classes = scores.shape()[1];
    const std::int64_t count = boxes.shape()[1];
    std::vector<std::int64_t> rows;
    std::int64_t pairs = kMostPairs;
    for (std::int64_t line = 0; line < scores.shape()[0] * classes; ++line) {
        const std::int64_t image = line / classes;
        for (const std::int64_t box : chosen(plainBoxes.data<double>() + image * count * 4,
                                             plainScores.data<double>() + line * count, count, settings, pairs)) {
            rows.insert(rows.end(), {image, line % classes, box});
        }
        if (pairs <= 0) {
            return base::engineError(fmt::format("more than {} pairs of boxes are to be compared; choose fewer boxes "
                                                 "per class, or a higher threshold of the score",
                                                 kMostPairs));
        }
    }
    return Tensor::of<std::int64_t>({static_cast<std::int64_t>(rows.size() / 3), 3}, rows);
}

/// The number of rows depends on the data: the operator is bound to the boxes and scores that it was counted with.
class NonMaxSuppression final : public PassiveOperator
{
public:
    NonMaxSuppression(TensorType output, const Suppression& settings) : m_settings(settings)
    {
        m_outputTypes = {std::move(output)};
    }

    [[nodiscard]] std::vector<Tensor> forward(std::span<const Tensor> operands) const override
    {
        base::Result<Tensor> rows = suppressed(operands[0], operands[1], m_settings);
        if (!rows.ok()) {
            throw base::Failure(rows.error());
        }
        return {*std::move(rows)};
    }

private:
    Suppression m_settings;
};

base::Result<double> knownNumber(const BindContext& context, std::size_t slot, double fallback)
{
    if (!context.present(slot)) {
        return fallback;
    }
    RETRO_TRY(const Tensor value, context.known(slot));
    if (value.size() != 1) {
        return context.error(fmt::format("operand {} must be one number", slot));
    }
    return value.at(0);
}

base::Result<Suppression> settingsOf(const BindContext& context)
{
    Suppression settings;
    RETRO_TRY(const double most, knownNumber(context, 2, 0));
    settings.most = static_cast<std::int64_t>(std::min(std::max(0.0, most), 1e9)); // NaN: 0
    RETRO_TRY(settings.overlap, knownNumber(context, 3, 0));
    if (!(settings.overlap >= 0 && settings.overlap <= 1)) {
        return context.error(
            fmt::format("iou_threshold (operand 3) is {}, but must be between 0 and 1", settings.overlap));
    }
    RETRO_TRY(settings.score, knownNumber(context, 4, settings.score));
    settings.isCentred = context.intAttribute("center_point_box", 0) != 0;
    return settings;
}

BoundResult bindNonMaxSuppression(const BindContext& context)
{
    const Shape& boxes = context.operandTypes[0].shape;
    const Shape& scores = context.operandTypes[1].shape;
    const bool isFloat =
        tensor::isFloating(context.operandTypes[0].dtype) && tensor::isFloating(context.operandTypes[1].dtype);
    if (!isFloat || boxes.size() != 3 || boxes[2] != 4 || scores.size() != 3 || scores[0] != boxes[0] ||
        scores[2] != boxes[1]) {
        return context.error("floating boxes batch × n × 4 and scores batch × classes × n are needed");
    }
    RETRO_TRY(const Suppression settings, settingsOf(context));
    RETRO_TRY(const Tensor knownBoxes, context.known(0));
    RETRO_TRY(const Tensor knownScores, context.known(1));
    const base::Result<Tensor> rows = suppressed(knownBoxes, knownScores, settings);
    if (!rows.ok()) {
        return context.error(rows.error().message);
    }
    return bound<NonMaxSuppression>(TensorType{DType::Int64, rows->shape()}, settings);
}

} // namespace

const OperatorFamily kNonMaxSuppressionOperators{
    {"", "NonMaxSuppression", 10, 0, "no relevance", false, bindNonMaxSuppression},
};

} // namespace retro::ops
